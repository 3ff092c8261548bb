import type { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import { lru } from 'tiny-lru';
import { type AddedFailures, createFailureWriter } from '../adapters/deliveries/notification-failures.ts';
import { errorTrace, logger } from '../adapters/logger.ts';
import { count } from '../adapters/metrics.ts';
import type { Clock } from '../domain/clock.ts';
import { parseDeliveryPartition } from '../domain/delivery-key.ts';
import { type DeliveryRecord, failureReasonOf } from '../domain/delivery-record.ts';
import { withTimeout } from './notices/wait-for-notices.ts';

/** The maximum time that a write may delay the acknowledgment of a batch. */
const MAX_WRITE_MS = 1_000;

/** After a failed write, nothing is written for the tenant for this time: all writes share the SDK's retries. */
const PAUSE_MS = 10_000;

/** The maximum number of paused tenants in the cache of an execution environment. */
const CACHE_SIZE = 1_000;

/** A delivery that has not arrived. */
export type FailingDelivery = {
  record: DeliveryRecord;
  /** True if an earlier attempt of the round has failed, so that the delivery is already counted. */
  isCounted: boolean;
};

/** Returns the failures of deliveries to one notification, or undefined if none of them failed. */
const sumOf = (deliveries: readonly FailingDelivery[]): AddedFailures | undefined => {
  const failures = deliveries
    .flatMap(({ record, isCounted }) => {
      const lastReason = failureReasonOf(record);
      return lastReason ? [{ timeMs: record.updated_at_ms, lastReason, isCounted }] : [];
    })
    .sort((one, other) => one.timeMs - other.timeMs);
  const [first, last] = [failures[0], failures.at(-1)];
  return (
    first &&
    last && {
      failedCount: failures.filter(({ isCounted }) => !isCounted).length,
      firstFailedAtMs: first.timeMs,
      lastFailedAtMs: last.timeMs,
      lastReason: last.lastReason,
    }
  );
};

/**
 * Creates the function that adds deliveries to the failures of their notifications, with one write for each notification
 * (docs/decisions/deliveries.md#failing-notifications). It takes a second at most and never rejects: a write that fails
 * is logged and counted, and pauses those of the tenant.
 */
export const createFailureRecorder = (client: DynamoDBDocumentClient, table: string, clock: Clock) => {
  const write = createFailureWriter(client, table);
  const pausedUntilMs = lru<number>(CACHE_SIZE);
  return async (deliveries: readonly FailingDelivery[]): Promise<void> => {
    const byNotification = Map.groupBy(deliveries, ({ record }) => record.pk);
    const writes = [...byNotification].map(async ([pk, group]) => {
      const [notification, failures] = [parseDeliveryPartition(pk), sumOf(group)];
      const { tenant: tenant_id, notificationId: notification_id } = notification;
      if (!failures) return;
      if (clock() < (pausedUntilMs.get(tenant_id) ?? 0)) return count({ failures_not_recorded: 1 });
      try {
        await withTimeout(write(notification, failures), MAX_WRITE_MS);
        pausedUntilMs.delete(tenant_id);
      } catch (error) {
        pausedUntilMs.set(tenant_id, clock() + PAUSE_MS);
        logger.warn('failures of a notification not recorded', { tenant_id, notification_id, ...errorTrace(error) });
        count({ failures_not_recorded: 1 });
      }
    });
    await Promise.all(writes);
  };
};

/** Adds deliveries to the failures of their notifications. */
export type RecordFailures = ReturnType<typeof createFailureRecorder>;
