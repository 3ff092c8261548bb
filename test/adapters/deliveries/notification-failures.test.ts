import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import {
  type AddedFailures,
  createFailureReader,
  createFailureWriter,
  type NotificationFailures,
} from '../../../shared/adapters/deliveries/notification-failures.ts';
import type { DeliveryStatus } from '../../../shared/contracts/outcomes.ts';
import { newNotificationId } from '../../../shared/domain/notification-id.ts';
import { deliveryRecord, writeRecords } from '../../support/delivery-records.ts';
import { useDatabase } from '../../support/dynamodb.ts';

const { client } = useDatabase();
const write = createFailureWriter(client, 'deliveries');

const NOW_MS = Date.UTC(2026, 0, 1);
const DAY_MS = 86_400_000;
const readerAt = (nowMs: number) => createFailureReader(client, 'deliveries', () => nowMs);

let tenants = 0;
/** Returns a notification of a new tenant. A tenant may contain any characters. */
const newNotification = () => ({ tenant: `ten#ant ${tenants++}`, id: newNotificationId() });

const list = async (tenant: string, { nowMs = NOW_MS, start = '', groupSize = 10 } = {}) =>
  (await Array.fromAsync(readerAt(nowMs).list(tenant, start, groupSize))).flat();

const failedAt = (lastFailedAtMs: number, failedCount = 1): AddedFailures => ({
  failedIds: Array.from({ length: failedCount }, () => `${lastFailedAtMs}${randomUUID()}`),
  firstFailedAtMs: lastFailedAtMs,
  lastFailedAtMs,
  lastReason: 'timeout',
});

describe('the failures of a notification', () => {
  it('add up, with the time of the first and the reason of the last one', async () => {
    const notification = newNotification();
    await write(notification, { ...failedAt(NOW_MS, 3), firstFailedAtMs: NOW_MS - 10 });
    await write(notification, { ...failedAt(NOW_MS + 5), lastReason: 'http_status' });
    await write(notification, { ...failedAt(NOW_MS + 9, 0), lastReason: 'network_error' });
    expect(await list(notification.tenant)).toEqual<NotificationFailures[]>([
      {
        notificationId: notification.id,
        failedCount: 4,
        firstFailedAtMs: NOW_MS - 10,
        lastFailedAtMs: NOW_MS + 9,
        lastReason: 'network_error',
      },
    ]);
  });

  it('that are written late are counted, and leave the last failure as it is', async () => {
    const notification = newNotification();
    await write(notification, failedAt(NOW_MS));
    await write(notification, { ...failedAt(NOW_MS - DAY_MS, 2), lastReason: 'rejected' });
    await write(notification, { ...failedAt(NOW_MS - DAY_MS, 0), lastReason: 'rejected' });
    expect(await list(notification.tenant)).toMatchObject([
      { failedCount: 3, lastFailedAtMs: NOW_MS, lastReason: 'timeout' },
    ]);
  });

  it.each([
    ['the last ones', 1],
    ['older than the last ones', -DAY_MS],
  ])('that are repeated are counted once, also after others and in other batches: %s', async (_, laterMs) => {
    const notification = newNotification();
    await write(notification, failedAt(NOW_MS));
    const repeated = failedAt(NOW_MS + laterMs, 2);
    const part = { ...repeated, failedIds: repeated.failedIds.slice(1) };
    for (const each of [repeated, failedAt(NOW_MS), part, repeated]) await write(notification, each);
    expect(await list(notification.tenant)).toMatchObject([{ failedCount: 4 }]);
  });

  it('are all counted if they are more than the item lists, written concurrently, of which the newest are repeated', async () => {
    const notification = newNotification();
    const batches = Array.from({ length: 9 }, (_, index) => failedAt(NOW_MS + index, 50));
    await Promise.all(batches.map((batch) => write(notification, batch)));
    for (const batch of batches.slice(-2)) await write(notification, batch);
    expect(await list(notification.tenant)).toMatchObject([{ failedCount: 450 }]);
  });

  it('expire 14 days after the last one', async () => {
    const notification = newNotification();
    await write(notification, failedAt(NOW_MS));
    expect(await list(notification.tenant, { nowMs: NOW_MS + 14 * DAY_MS - 1 })).toHaveLength(1);
    expect(await list(notification.tenant, { nowMs: NOW_MS + 14 * DAY_MS })).toEqual([]);
  });

  it('are listed by ID from any text on, in groups, only for their tenant', async () => {
    const { tenant } = newNotification();
    const ids = Array.from({ length: 5 }, newNotificationId);
    for (const notificationId of ids) await write({ tenant, id: notificationId }, failedAt(NOW_MS));
    await write({ tenant: `#${tenant}`, id: newNotificationId() }, failedAt(NOW_MS));
    const listed = async (start: string, groupSize: number) =>
      (await list(tenant, { start, groupSize })).map(({ notificationId }) => notificationId);
    for (const groupSize of [1, 2, 5, 6]) expect(await listed('', groupSize)).toEqual(ids);
    expect(await listed(ids[3] ?? '', 2)).toEqual(ids.slice(3));
    expect(await listed('\ud800'.repeat(2_000), 2)).toEqual([]);
  });
});

describe('the last success after a failure', () => {
  it('is the latest of the newest deliveries', async () => {
    const notification = newNotification();
    const record = (eventMs: number, status: DeliveryStatus, updatedAtMs: number) =>
      deliveryRecord(notification, `acme:en:al:ch:${eventMs}:OK`, { status, updated_at_ms: updatedAtMs });
    const lastDeliveredAtMs = () => readerAt(NOW_MS).lastDeliveredAtMs(notification, NOW_MS);
    await writeRecords(client, 'deliveries', [record(NOW_MS, 'delivered', NOW_MS)]);
    expect(await lastDeliveredAtMs()).toBeUndefined();
    await writeRecords(client, 'deliveries', [
      record(NOW_MS + 1, 'delivered', NOW_MS + 30),
      record(NOW_MS + 2, 'delivered', NOW_MS + 20),
      record(NOW_MS + 3, 'failed', NOW_MS + 40),
    ]);
    expect(await lastDeliveredAtMs()).toBe(NOW_MS + 30);
  });

  it('is found below the alerts that a storm summarized', async () => {
    const notification = newNotification();
    const record = (eventMs: number, status: DeliveryStatus) =>
      deliveryRecord(notification, `acme:en:al:ch:${eventMs}:OK`, { status, updated_at_ms: NOW_MS + 1 });
    const summarized = Array.from({ length: 100 }, (_, index) => record(NOW_MS + 1 + index, 'summarized'));
    await writeRecords(client, 'deliveries', [record(NOW_MS, 'delivered'), ...summarized]);
    expect(await readerAt(NOW_MS).lastDeliveredAtMs(notification, NOW_MS)).toBe(NOW_MS + 1);
  });
});
