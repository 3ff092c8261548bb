import type { DeliveryChanges } from '../adapters/deliveries/delivery-changes.ts';
import type { DeliveryReader } from '../adapters/deliveries/delivery-reader.ts';
import { errorTrace, logger } from '../adapters/logger.ts';
import type { NotificationRepository } from '../adapters/notifications/notification-repository.ts';
import type { RedeliveryRequest } from '../contracts/redelivery.ts';
import type { RedeliveryResult } from '../contracts/responses/deliveries.ts';
import type { Clock } from '../domain/clock.ts';
import { isExpired } from '../domain/delivery-history.ts';
import { deliveryKey } from '../domain/delivery-key.ts';
import { isWaiting, wasRetryRequested } from '../domain/delivery-status.ts';
import { notFound } from '../domain/errors.ts';
import { inBatches } from '../domain/in-batches.ts';
import type { NotificationKey } from '../domain/notification.ts';
import {
  ALL_REQUESTED,
  CHANGED_MEANWHILE,
  NOTHING_WAITS,
  NOTHING_YET,
  notRetried,
  parseRedeliveryMarker,
  redeliveryMarker,
} from '../domain/redelivery.ts';

/** The maximum number of deliveries per request (docs/api.md#retry-now). */
const MAX_DELIVERIES = 1_000;
/** Concurrent writes to the notification's partition, which its senders write to as well. */
const CONCURRENT_WRITES = 4;
/** The minimum time left to start a read or a group of writes. */
const MIN_TIME_LEFT_MS = 10_000;

/** What a retry reads from and writes to. */
export type RetryDependencies = {
  notifications: Pick<NotificationRepository, 'targets'>;
  deliveries: Pick<DeliveryReader, 'listPage' | 'readAll'> & Pick<DeliveryChanges, 'requestRetry'>;
};

/**
 * Creates the function that makes the next attempts of waiting deliveries due now, newest event first. It changes only
 * their records: the messages that wait in SQS find them due (docs/decisions/deliveries.md#retry-now).
 *
 * @throws ServiceError 404 if the notification, or the delivery of the one event, does not exist
 */
export const createRetryNow = ({ notifications, deliveries }: RetryDependencies, clock: Clock = Date.now) => {
  /** Makes the next attempt of one event due. A concurrent change of its record wins. */
  const retryEvent = async ({ tenant, id }: NotificationKey, eventId: string, record: () => Promise<void>) => {
    const [found] = await deliveries.readAll([deliveryKey({ tenant_id: tenant, event_id: eventId }, id)]);
    const nowMs = clock();
    if (!found || isExpired(found, nowMs)) throw notFound('The delivery');
    const isRequestable = isWaiting(found, nowMs) && !wasRetryRequested(found, nowMs);
    if (isRequestable) await record();
    const isRequested = isRequestable && (await deliveries.requestRetry(found, nowMs));
    const result = { count: isRequested ? 1 : 0, next_marker: null };
    if (isRequested) return result;
    return { ...result, reason: isRequestable ? CHANGED_MEANWHILE : notRetried(found, nowMs) };
  };

  /**
   * @param request with the ID of one event, or the marker of the previous response, if any
   * @param timeLeft returns the milliseconds until the function times out
   * @param record writes the audit entry of the request. It is called once, before the first write
   */
  return async (
    key: NotificationKey,
    { event_id: eventId, marker }: Pick<RedeliveryRequest, 'event_id' | 'marker'>,
    timeLeft: () => number,
    record: () => Promise<void>,
  ): Promise<RedeliveryResult> => {
    if (!(await notifications.targets([key]).find(key))) throw notFound('The notification');
    if (eventId !== undefined) return retryEvent(key, eventId, record);
    const notification = { tenant: key.tenant, notificationId: key.id };
    const start = marker === undefined ? { beganAtMs: clock(), after: null } : parseRedeliveryMarker(marker);
    let [count, isRecorded, isAnyRequested] = [0, false, false];
    let after = start.after;
    const result = (next: string | null): RedeliveryResult => {
      const nothing = isAnyRequested ? ALL_REQUESTED : NOTHING_WAITS;
      return { count, next_marker: next, ...(count === 0 && { reason: next === null ? nothing : NOTHING_YET }) };
    };
    const stop = (): RedeliveryResult => result(redeliveryMarker({ ...start, after }));
    const mustStop = (): boolean => timeLeft() < MIN_TIME_LEFT_MS || count >= MAX_DELIVERIES;

    try {
      let before = after ?? undefined;
      do {
        if (mustStop()) return stop();
        const page = await deliveries.listPage(notification, {
          limit: MAX_DELIVERIES,
          before,
          filter: { statuses: ['pending'] },
        });
        const waiting = page.records.filter((found) => isWaiting(found, clock()));
        const requestable = waiting.filter((found) => !wasRetryRequested(found, clock()));
        isAnyRequested ||= requestable.length < waiting.length;
        for (const group of inBatches(requestable, CONCURRENT_WRITES)) {
          if (mustStop()) return stop();
          if (!isRecorded) await record();
          isRecorded = true;
          const writes = await Promise.allSettled(group.map((found) => deliveries.requestRetry(found, clock())));
          count += writes.filter((write) => write.status === 'fulfilled' && write.value).length;
          const failed = writes.find((write) => write.status === 'rejected');
          if (failed) throw failed.reason;
          after = group.at(-1)?.sk ?? after;
        }
        before = page.before;
        after = before ?? after;
      } while (before !== undefined);
      return result(null);
    } catch (error) {
      // The response must state what was changed.
      if (count === 0) throw error;
      const ids = { tenant_id: key.tenant, notification_id: key.id };
      logger.error('retry interrupted', { ...ids, ...errorTrace(error) });
      return stop();
    }
  };
};
