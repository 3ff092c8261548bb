import { UpdateCommand } from '@aws-sdk/lib-dynamodb';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Client, webhook } from '../support/api.ts';
import { newAlarmEvent } from '../support/events.ts';
import { openSink, type Sink } from '../support/test-sink.ts';
import { until } from '../support/until.ts';
import { type FaultyStack, startFaultyStack } from './support.ts';

describe('one tenant does not stop another', () => {
  let world: FaultyStack;
  let greedy: Client;
  let quiet: Client;
  beforeAll(async () => {
    world = await startFaultyStack();
    [greedy, quiet] = [await world.newClient(), await world.newClient()];
  });
  afterAll(() => world.stack.stop());

  const webhookOf = (client: Client, sink: Sink, details = {}) =>
    client.create({ ...webhook, details: { url: sink.url, ...details } });

  /** Events of both tenants that the dispatch reads in one batch. */
  const mixedEvents = (greedyIds: string[], quietId: string) =>
    Array.from({ length: 5 }, () => [
      newAlarmEvent(greedy.tenant, greedyIds),
      newAlarmEvent(quiet.tenant, [quietId]),
    ]).flat();

  it('whose notifications DynamoDB throttles: the other one is not delayed by a single return to a queue', async () => {
    const [own, other] = [await openSink(), await openSink()];
    const [ownId, otherId] = [await webhookOf(greedy, own), await webhookOf(quiet, other)];
    const recover = world.stack.dynamodb.throttle({
      table: world.table('Notifications'),
      partitionKey: (key) => key.endsWith(greedy.tenant),
    });
    await world.sendEvents(mixedEvents([ownId], otherId));
    await other.wait(5);
    expect(own.received).toEqual([]);
    expect(world.lines.filter((line) => /internal_errors?=[1-9]/.test(line))).toEqual([]);
    await until(async () => world.lines.find((line) => /throttled_keys=[1-9]/.test(line)));
    recover();
    await world.hurried(own.wait(5));
    await world.drained('Delivery-AlarmEvents');
    await world.drained('Delivery-webhook');
    expect([own.received.length, other.received.length]).toEqual([5, 5]);
  });

  it('whose notification this version cannot read: only its own deliveries wait', async () => {
    const [own, other] = [await openSink(), await openSink()];
    const [unreadable, readable] = [await webhookOf(greedy, own), await webhookOf(greedy, own)];
    const otherId = await webhookOf(quiet, other);
    const key = { pk: `notification#${greedy.tenant}`, sk: unreadable };
    const setType = (type: string) =>
      world.documents.send(
        new UpdateCommand({
          TableName: world.table('Notifications'),
          Key: key,
          UpdateExpression: 'SET #type = :type',
          ExpressionAttributeNames: { '#type': 'type' },
          ExpressionAttributeValues: { ':type': type },
        }),
      );
    await setType('carrierpigeon');
    await world.sendEvents(mixedEvents([unreadable, readable], otherId));
    await Promise.all([own.wait(5), other.wait(5)]);
    await until(async () => world.lines.find((line) => line.includes('unreadable_notifications=')));
    const listed = await greedy.get('/notifications');
    expect(listed.status).toBe(200);
    expect(listed.text).toContain(readable);
    expect(listed.text).not.toContain(unreadable);
    await setType('webhook');
    await world.hurried(own.wait(10));
    await world.drained('Delivery-AlarmEvents');
    await world.drained('Delivery-webhook');
    expect([own.received.length, other.received.length]).toEqual([10, 5]);
  });
});
