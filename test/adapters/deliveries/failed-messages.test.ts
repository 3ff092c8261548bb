import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import {
  createFailedMessageList,
  type FailedMessage,
} from '../../../shared/adapters/deliveries/failed-message-list.ts';
import {
  createFailedMessages,
  FAILED_MESSAGE_RETENTION_SECONDS,
} from '../../../shared/adapters/deliveries/failed-messages.ts';
import { deliveryKey } from '../../../shared/domain/delivery-key.ts';
import { MAX_ENVELOPE_BYTES } from '../../../shared/domain/delivery-message.ts';
import { newNotificationId } from '../../../shared/domain/notification-id.ts';
import { MAX_EVENT_BYTES } from '../../../shared/domain/planned-event.ts';
import { useDatabase } from '../../support/dynamodb.ts';
import { countRequests } from '../../support/dynamodb-faults.ts';

const { client, connect } = useDatabase();
const failedMessages = {
  ...createFailedMessages(client, 'deliveries'),
  ...createFailedMessageList(client, 'deliveries'),
};

const NOW = Date.UTC(2026, 0, 1);
const ALL = { sinceMs: 0, after: null, untilMs: NOW + 1_000_000 };

let events = 0;

/** Returns the partition of a new notification and a function that creates its failed messages. */
const newNotification = (tenant = 'acme') => {
  const notification = { tenant, id: newNotificationId() };
  return {
    notification,
    failure: (failedAtMs: number, body = `{"body":${failedAtMs}}`) => ({
      recordKey: deliveryKey({ tenant_id: tenant, event_id: `e${events++}:${NOW}:OK` }, notification.id),
      failedAtMs,
      body,
      round: 2,
    }),
  };
};
type Notification = ReturnType<typeof newNotification>['notification'];

const listAll = async (
  notification: Notification,
  range: { sinceMs: number; after: string | null; untilMs: number } = ALL,
): Promise<FailedMessage[]> => {
  const messages: FailedMessage[] = [];
  for await (const group of failedMessages.list(notification, range)) messages.push(...group);
  return messages;
};

describe('a stored message', () => {
  it('is listed with its body, round, time of failure and record', async () => {
    const { notification, failure } = newNotification('tenant#with#hashes');
    const stored = failure(NOW, '{"event":"Ünïcode 😀"}');
    await failedMessages.put(stored);
    const [message] = await listAll(notification);
    expect(message).toMatchObject({
      failedAtMs: NOW,
      round: 2,
      recordKey: stored.recordKey,
      bodyBytes: Buffer.byteLength(stored.body),
      ttl: NOW / 1000 + FAILED_MESSAGE_RETENTION_SECONDS,
    });
    expect(message?.body()).toBe(stored.body);
  });

  it('of the largest size is stored in one item, and is read unchanged', async () => {
    const { notification, failure } = newNotification();
    const body = randomBytes((MAX_EVENT_BYTES + MAX_ENVELOPE_BYTES) / 2).toString('hex');
    await failedMessages.put(failure(NOW, body));
    expect((await listAll(notification)).map((message) => message.body())).toEqual([body]);
  });

  it('is deleted', async () => {
    const { notification, failure } = newNotification();
    for (let index = 0; index < 30; index++) await failedMessages.put(failure(NOW + index));
    const messages = await listAll(notification);
    await failedMessages.delete(messages.slice(1));
    expect(await listAll(notification)).toMatchObject([{ position: messages[0]?.position }]);
  });
});

describe('a list of failed messages', () => {
  it('has the oldest failure first, whatever the order of the events', async () => {
    const { notification, failure } = newNotification();
    const times = [5, 1, 4, 2, 3].map((offset) => NOW + offset);
    for (const timeMs of times) await failedMessages.put(failure(timeMs));
    expect((await listAll(notification)).map(({ failedAtMs }) => failedAtMs)).toEqual(times.toSorted());
  });

  it('starts at a time of failure or after a position, and ends before a time', async () => {
    const { notification, failure } = newNotification();
    for (const offset of [1, 2, 2, 3, 4]) await failedMessages.put(failure(NOW + offset));
    const found = async (range: Parameters<typeof listAll>[1]) =>
      (await listAll(notification, range)).map(({ failedAtMs }) => failedAtMs - NOW);
    expect(await found({ ...ALL, sinceMs: NOW + 2 })).toEqual([2, 2, 3, 4]);
    expect(await found({ ...ALL, untilMs: NOW + 3 })).toEqual([1, 2, 2]);
    expect(await found({ sinceMs: NOW + 2, after: null, untilMs: NOW + 2 })).toEqual([]);
    expect(await found({ sinceMs: NOW + 9, after: null, untilMs: NOW + 2 })).toEqual([]);
    const [, second] = await listAll(notification);
    expect(await found({ ...ALL, after: second?.position ?? null })).toEqual([2, 3, 4]);
    expect(await found({ ...ALL, sinceMs: NOW + 4, after: second?.position ?? null })).toEqual([4]);
  });

  it("never contains another tenant's or another notification's messages", async () => {
    const [own, other] = [newNotification('acme'), newNotification('other')];
    await failedMessages.put(own.failure(NOW));
    await failedMessages.put(other.failure(NOW));
    expect(await listAll(own.notification)).toHaveLength(1);
    expect(await listAll({ ...own.notification, tenant: 'other' })).toEqual([]);
  });

  it('reads at most 100 items per request, and nothing that the caller does not use', async () => {
    const { notification, failure } = newNotification();
    for (let index = 0; index < 150; index++) await failedMessages.put(failure(NOW + index));
    const database = connect();
    const counts = countRequests(database);
    const sizes: number[] = [];
    for await (const group of createFailedMessageList(database, 'deliveries').list(notification, ALL)) {
      expect(counts).toEqual({ QueryCommand: sizes.length + 1 });
      sizes.push(group.length);
    }
    expect(sizes).toEqual([100, 50]);
  });
});
