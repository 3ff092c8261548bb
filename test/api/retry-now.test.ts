import { expect, it, vi } from 'vitest';
import { logger } from '../../shared/adapters/logger.ts';
import { createNotificationRepository } from '../../shared/adapters/notifications/notification-repository.ts';
import { createRetryNow } from '../../shared/api/redelivery.ts';
import type { DeliveryRecord } from '../../shared/domain/delivery-record.ts';
import { newNotificationId } from '../../shared/domain/notification-id.ts';
import { audit } from '../support/audit.ts';
import { createDeliveries, deliveryRecord, RECORD_TIME_MS, writeRecords } from '../support/delivery-records.ts';
import { useDatabase } from '../support/dynamodb.ts';
import { webhookNotification } from '../support/notifications.ts';
import { testClock } from '../support/test-clock.ts';

const { client } = useDatabase();
const NOW = RECORD_TIME_MS + 60_000;
const HOUR_MS = 3_600_000;
const notifications = createNotificationRepository(client, 'notifications');
const stored = createDeliveries(client);

let tenants = 0;

const setUp = async (deliveries: Parameters<typeof createRetryNow>[0]['deliveries'] = stored) => {
  const tenant = `tenant${tenants++}`;
  const id = await notifications.create({ tenant, attributes: webhookNotification(), audit });
  const notification = { tenant, id };
  const record = vi.fn(async (): Promise<void> => undefined);
  const { clock, wait: advance } = testClock(NOW);
  let events = 0;
  const retryNow = createRetryNow({ notifications, deliveries }, clock);
  return {
    record,
    advance,
    /** Stores a delivery that waits for four hours by default. */
    wait: async (changes: Partial<DeliveryRecord> = {}) => {
      const waiting = deliveryRecord(notification, `e${events++}:${RECORD_TIME_MS + events}:CRITICAL`, {
        status: 'pending',
        next_attempt_at_ms: NOW + 4 * HOUR_MS,
        ...changes,
      });
      await writeRecords(client, 'deliveries', [waiting]);
      return async () => (await stored.read(waiting))?.next_attempt_at_ms;
    },
    records: async () => (await stored.listPage(notification, { limit: 100 })).records,
    retry: (marker?: string, timeLeft = () => 30_000, key = { tenant, id }) =>
      retryNow(key, { marker }, timeLeft, record),
    retryEvent: (event_id: string) => retryNow({ tenant, id }, { event_id }, () => 30_000, record),
  };
};

it('a retry now makes each waiting delivery due, once per hour, with one audit entry', async () => {
  const { wait, retry, advance, record, records } = await setUp();
  const dueTimes = await Promise.all(Array.from({ length: 9 }, () => wait()));
  expect(await retry()).toEqual({ count: 9, next_marker: null });
  expect(new Set(await Promise.all(dueTimes.map((dueTime) => dueTime())))).toEqual(new Set([NOW]));
  for (const changed of await records()) expect(changed.scheduled_attempt_at_ms).toBe(NOW + 4 * HOUR_MS);
  expect(record).toHaveBeenCalledTimes(1);
  await wait({ retry_requested_at_ms: NOW });
  advance(HOUR_MS - 1);
  const reason = 'A retry of each waiting delivery was requested within the last hour.';
  expect(await retry()).toEqual({ count: 0, next_marker: null, reason });
  advance(1);
  expect(await retry()).toEqual({ count: 1, next_marker: null });
});

it.each<[string, Partial<DeliveryRecord>]>([
  ['is claimed', { lease_until_ms: NOW + 35_000 }],
  ['is due', { next_attempt_at_ms: NOW }],
  ['has failed', { status: 'failed' }],
])('a retry now does not change a delivery that %s, and leaves no audit entry', async (_, changes) => {
  const { wait, retry, record } = await setUp();
  const dueTime = await wait(changes);
  const before = await dueTime();
  expect(await retry()).toEqual({ count: 0, next_marker: null, reason: 'No delivery waits for a retry.' });
  expect(await dueTime()).toBe(before);
  expect(record).not.toHaveBeenCalled();
});

it('a retry now that runs out of time or fails continues with its marker', async () => {
  vi.spyOn(logger, 'error').mockImplementation(() => undefined);
  let failing = '';
  const { wait, retry } = await setUp({
    ...stored,
    requestRetry: async (found, nowMs) => {
      if (found.event_id.startsWith(failing)) throw new Error('no write');
      return stored.requestRetry(found, nowMs);
    },
  });
  for (let index = 0; index < 10; index++) await wait();
  const times = [30_000, 30_000, 9_999];
  failing = 'none';
  const first = await retry(undefined, () => times.shift() ?? 0);
  expect(first).toEqual({ count: 4, next_marker: expect.any(String) });
  failing = 'e1:';
  const second = await retry(first.next_marker ?? '');
  expect(second).toEqual({ count: 5, next_marker: expect.any(String) });
  failing = 'none';
  expect(await retry(second.next_marker ?? '')).toEqual({ count: 1, next_marker: null });
});

it('a retry now of an unknown notification is 404', async () => {
  const { retry } = await setUp();
  const unknown = { tenant: 'acme', id: newNotificationId() };
  await expect(retry(undefined, undefined, unknown)).rejects.toMatchObject({ type: 'notFoundError' });
});

it('a retry now of one event makes only its attempt due, once per hour, with an audit entry', async () => {
  const { wait, retryEvent, advance, record, records } = await setUp();
  const [wanted, other] = [await wait(), await wait()];
  const eventId = (await records()).at(-1)?.event_id ?? '';
  expect(await retryEvent(eventId)).toEqual({ count: 1, next_marker: null });
  expect([await wanted(), await other()]).toEqual([NOW, NOW + 4 * HOUR_MS]);
  expect(record).toHaveBeenCalledTimes(1);
  await expect(retryEvent('unknown')).rejects.toMatchObject({ type: 'notFoundError', details: expect.any(String) });
  advance(31 * 24 * HOUR_MS);
  await expect(retryEvent(eventId)).rejects.toMatchObject({ type: 'notFoundError' });
});

it.each<[string, Partial<DeliveryRecord>, string]>([
  ['retried', { retry_requested_at_ms: NOW }, 'A retry of the delivery was requested within the last hour.'],
  ['due', { next_attempt_at_ms: NOW }, 'The attempt is due or in progress.'],
  ['failed', { status: 'failed' }, 'The delivery does not wait for a retry: its status is failed.'],
])('a retry now of an event that is %s says why it changes nothing', async (_, changes, reason) => {
  const { wait, retryEvent, record, records } = await setUp();
  await wait(changes);
  const [found] = await records();
  expect(await retryEvent(found?.event_id ?? '')).toEqual({ count: 0, next_marker: null, reason });
  expect(record).not.toHaveBeenCalled();
});

it('a retry now of an event whose attempt starts meanwhile changes nothing and says so', async () => {
  const { wait, retryEvent, records } = await setUp({ ...stored, requestRetry: async () => false });
  await wait();
  const [found] = await records();
  expect(await retryEvent(found?.event_id ?? '')).toEqual({
    count: 0,
    next_marker: null,
    reason: 'The attempt has just started, or another request has changed the delivery.',
  });
});
