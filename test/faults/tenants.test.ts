// In the simulation, every notification is readable.
import { UpdateCommand } from '@aws-sdk/lib-dynamodb';
import { describe, expect, it } from 'vitest';
import { type Client, webhook } from '../support/api.ts';
import { newAlarmEvent } from '../support/events.ts';
import { openSink, type Sink } from '../support/test-sink.ts';
import { until } from '../support/until.ts';
import { useStarted } from '../support/use-started.ts';
import { useFaultyStack } from './support.ts';

const harness = useFaultyStack();
const affected = useStarted(() => harness.newClient());
const unaffected = useStarted(() => harness.newClient());

describe('a tenant is unaffected by another tenant', () => {
  const createWebhook = (client: Client, { url }: Pick<Sink, 'url'>) => client.create({ ...webhook, details: { url } });

  /** Returns events of both tenants, which dispatch receives in one batch. */
  const mixedEvents = (affectedIds: string[], unaffectedId: string) =>
    Array.from({ length: 5 }, () => [
      newAlarmEvent(affected.tenant, affectedIds),
      newAlarmEvent(unaffected.tenant, [unaffectedId]),
    ]).flat();

  it('whose notification is unreadable', async () => {
    const [affectedSink, unaffectedSink] = [await openSink(), await openSink()];
    const [unreadable, readable] = [
      await createWebhook(affected, affectedSink),
      await createWebhook(affected, affectedSink),
    ];
    const unaffectedId = await createWebhook(unaffected, unaffectedSink);
    const key = { pk: `notification#${affected.tenant}`, sk: unreadable };
    const setType = (type: string) =>
      harness.documents.send(
        new UpdateCommand({
          TableName: harness.table('Notifications'),
          Key: key,
          UpdateExpression: 'SET #type = :type',
          ExpressionAttributeNames: { '#type': 'type' },
          ExpressionAttributeValues: { ':type': type },
        }),
      );
    await setType('carrierpigeon');
    await harness.sendEvents(mixedEvents([unreadable, readable], unaffectedId));
    await Promise.all([affectedSink.wait(5), unaffectedSink.wait(5)]);
    await until(async () => harness.lines.find((line) => line.includes('unreadable_notifications=')));
    const listed = await affected.get('/notifications');
    expect(listed.status).toBe(200);
    expect(listed.text).toContain(readable);
    expect(listed.text).not.toContain(unreadable);
    await setType('webhook');
    await harness.advanceUntil(affectedSink.wait(10));
    await harness.drainQueue('Delivery-AlarmEvents');
    await harness.drainQueue('Delivery-webhook');
    expect([affectedSink.received.length, unaffectedSink.received.length]).toEqual([10, 5]);
  });
});
