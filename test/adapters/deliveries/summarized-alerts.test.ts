import { createHash } from 'node:crypto';
import { GetCommand } from '@aws-sdk/lib-dynamodb';
import { expect, it } from 'vitest';
import * as z from 'zod';
import { createSummarizedAlerts } from '../../../shared/adapters/deliveries/summarized-alerts.ts';
import { eventHash, summaryPartition } from '../../../shared/domain/delivery-key.ts';
import { summarizedAlarm } from '../../../shared/domain/summary.ts';
import { useDatabase } from '../../support/dynamodb.ts';
import { countRequests } from '../../support/dynamodb-faults.ts';
import { alarmHeader, EVENT_TIME_MS } from '../../support/events.ts';

const { client, connect } = useDatabase();
const alerts = createSummarizedAlerts(client, 'deliveries');

let summaries = 0;
const newSummary = () => ({ tenant_id: 'acme#x', event_id: `acme#x:nt-5m:${EVENT_TIME_MS}:summary${summaries++}` });

it('the IDs of the first alerts have five bytes each', async () => {
  const summary = newSummary();
  const ids = Array.from({ length: 101 }, (_, index) => createHash('sha256').update(String(index)).digest('hex'));
  for (const id of ids) await alerts.addFirst(summary, { deliveryId: id, limit: 100 }, EVENT_TIME_MS);
  const pk = summaryPartition(summary.tenant_id, eventHash(summary));
  const { Item } = await client.send(new GetCommand({ TableName: 'deliveries', Key: { pk, sk: 'first' } }));
  const stored = z.set(z.string()).parse(Item?.ids);
  expect([stored.size, [...stored].reduce((bytes, id) => bytes + id.length, 0)]).toEqual([100, 500]);
});

it('summaries are read one after the other while there is time', async () => {
  const database = connect();
  const requests = countRequests(database);
  const { read } = createSummarizedAlerts(database, 'deliveries');
  const requestsBefore: number[] = [];
  const hasTime = () => requestsBefore.push(requests.QueryCommand ?? 0) < 3;
  const results = await Promise.all([1, 2, 3].map(() => read(newSummary(), hasTime)));
  expect(requestsBefore).toEqual([0, 1, 2]);
  expect(results).toEqual([expect.anything(), expect.anything(), undefined]);
});

it('the alarm of an item with long names and a long text costs one write', async () => {
  const event = alarmHeader({
    entity: { id: 'é'.repeat(999) },
    alarm: { id: 'é'.repeat(999) },
    details: { state: 'CRITICAL', status: 'é'.repeat(999) },
  });
  const summary = newSummary();
  await alerts.put(summary, summarizedAlarm(event, EVENT_TIME_MS), EVENT_TIME_MS);
  const pk = summaryPartition(summary.tenant_id, eventHash(summary));
  const sk = `alarm#${summarizedAlarm(event, 0).incident}`;
  const { Item } = await client.send(new GetCommand({ TableName: 'deliveries', Key: { pk, sk } }));
  expect(Item).toBeDefined();
  expect(Buffer.byteLength(JSON.stringify(Item))).toBeLessThan(1_024);
});
