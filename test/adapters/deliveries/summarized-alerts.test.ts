import { createHash } from 'node:crypto';
import { GetCommand } from '@aws-sdk/lib-dynamodb';
import { expect, it } from 'vitest';
import * as z from 'zod';
import { createSummarizedAlerts } from '../../../shared/adapters/deliveries/summarized-alerts.ts';
import { eventHash, summaryPartition } from '../../../shared/domain/delivery-key.ts';
import { summarizedAlert } from '../../../shared/domain/summary.ts';
import { useDatabase } from '../../support/dynamodb.ts';
import { countRequests, withLostResponse } from '../../support/dynamodb-faults.ts';
import { alarmEvent, EVENT_TIME_MS } from '../../support/events.ts';

const { client, connect } = useDatabase();
const alerts = createSummarizedAlerts(client, 'deliveries');

let summaries = 0;
const newSummary = () => ({ tenant_id: 'acme#x', event_id: `acme#x:nt-5m:${EVENT_TIME_MS}:summary${summaries++}` });

const alertOf = (alarm: number, sequence: number) =>
  summarizedAlert(
    alarmEvent({
      event_id: `acme#x:e:${alarm}:c:${EVENT_TIME_MS + sequence}:CRITICAL`,
      details: { state: sequence % 2 === 0 ? 'CRITICAL' : 'OK', timestamp: EVENT_TIME_MS + sequence },
      alarm: { id: `al${alarm}` },
    }),
    EVENT_TIME_MS + sequence,
  );

it('the first alerts of a window are counted once each, however often they are added', async () => {
  const summary = newSummary();
  const [a, b, c] = ['a', 'b', 'c'].map((digit) => digit.repeat(32));
  const add = (id = '') => alerts.addFirst(summary, id, 2, EVENT_TIME_MS);
  expect([await add(a), await add(a), await add(b), await add(c), await add(a)]).toEqual([
    true,
    true,
    true,
    false,
    true,
  ]);
  expect(await alerts.addFirst(newSummary(), c ?? '', 2, EVENT_TIME_MS)).toBe(true);
});

it('an alert is counted once among the first ones although the response is lost', async () => {
  const summary = newSummary();
  const { addFirst } = createSummarizedAlerts(withLostResponse(connect(), 'UpdateItemCommand'), 'deliveries');
  const ids = ['0123456789abcdef0123456789abcdef', '0123456889abcdef0123456789abcdef'];
  const results: boolean[] = [];
  for (const id of ids) results.push(await addFirst(summary, id, 2, EVENT_TIME_MS));
  expect([...results, await addFirst(summary, 'f'.repeat(32), 2, EVENT_TIME_MS)]).toEqual([true, true, false]);
});

it('the IDs of the first alerts have five bytes each', async () => {
  const summary = newSummary();
  const ids = Array.from({ length: 101 }, (_, index) => createHash('sha256').update(String(index)).digest('hex'));
  for (const id of ids) await alerts.addFirst(summary, id, 100, EVENT_TIME_MS);
  const pk = summaryPartition(summary.tenant_id, eventHash(summary));
  const { Item } = await client.send(new GetCommand({ TableName: 'deliveries', Key: { pk, sk: 'first' } }));
  const stored = z.set(z.string()).parse(Item?.first_ids);
  expect([stored.size, [...stored].reduce((bytes, id) => bytes + id.length, 0)]).toEqual([100, 500]);
});

it('a summary lists each of its alerts once, with the newest state of each alarm', async () => {
  const [summary, other] = [newSummary(), newSummary()];
  const stored = Array.from({ length: 60 }, (_, index) => alertOf(index % 15, index));
  await Promise.all([...stored, ...stored].map((alert) => alerts.put(summary, alert, EVENT_TIME_MS)));
  await alerts.put(other, alertOf(1, 1), EVENT_TIME_MS);
  const { count, alarms } = (await alerts.read(summary)) ?? expect.fail();
  expect([count, alarms.length]).toEqual([60, 15]);
  expect(alarms.every(({ sinceMs, changes }) => sinceMs >= EVENT_TIME_MS + 45 && changes === 4)).toBe(true);
  expect(await alerts.read(newSummary())).toMatchObject({ count: 0, unevaluated: 0, alarms: [] });
});

it('summaries are read one after the other while there is time', async () => {
  const database = connect();
  const requests = countRequests(database);
  const { read } = createSummarizedAlerts(database, 'deliveries');
  const requestsBefore: number[] = [];
  const hasTime = () => requestsBefore.push(requests.QueryCommand ?? 0) < 3;
  const results = await Promise.all([1, 2, 3].map(() => read(newSummary(), hasTime)));
  expect(requestsBefore).toEqual([0, 8, 16]);
  expect(results).toEqual([expect.anything(), expect.anything(), undefined]);
});

it('a summary counts the older alerts of an alarm that it does not evaluate', { timeout: 60_000 }, async () => {
  const summary = newSummary();
  for (let start = 0; start < 2_600; start += 100) {
    await Promise.all(
      Array.from({ length: 100 }, (_, index) => alerts.put(summary, alertOf(1, start + index), EVENT_TIME_MS)),
    );
  }
  const { count, unevaluated, alarms } = (await alerts.read(summary)) ?? expect.fail();
  expect([count, unevaluated]).toEqual([2_600, 100]);
  expect(alarms).toEqual([expect.objectContaining({ state: 'OK', sinceMs: EVENT_TIME_MS + 2_599, changes: 2_500 })]);
});
