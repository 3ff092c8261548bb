import type { LimitOf } from '../adapters/accounts/account-repository.ts';
import type { DeliveryChanges } from '../adapters/deliveries/delivery-changes.ts';
import type { DeliveryReader } from '../adapters/deliveries/delivery-reader.ts';
import type { FailedMessage, FailedMessageList } from '../adapters/deliveries/failed-message-list.ts';
import { type Counters, dailyCounter, takeUpTo } from '../adapters/dynamodb/counters.ts';
import type { TransactItem } from '../adapters/dynamodb/transactions.ts';
import { errorTrace, logger } from '../adapters/logger.ts';
import type { NotificationRepository } from '../adapters/notifications/notification-repository.ts';
import type { OutgoingMessage, Queues } from '../adapters/queues.ts';
import { messageBody } from '../contracts/messages.ts';
import type { RedeliveryRequest } from '../contracts/redelivery.ts';
import type { RedeliveryResult } from '../contracts/responses/deliveries.ts';
import { isExpired } from '../domain/delivery-history.ts';
import { deliveryKey } from '../domain/delivery-key.ts';
import type { DeliveryRecord } from '../domain/delivery-record.ts';
import { isWaiting, wasRetryRequested } from '../domain/delivery-status.ts';
import { notFound, redeliveryLimitReached, unavailable } from '../domain/errors.ts';
import { inBatches } from '../domain/in-batches.ts';
import type { NotificationKey } from '../domain/notification.ts';
import {
  ALL_REQUESTED,
  CHANGED_MEANWHILE,
  isCurrentFailure,
  isSettledFailure,
  NOTHING_FAILED,
  NOTHING_WAITS,
  NOTHING_YET,
  notRedelivered,
  notRetried,
  parseRedeliveryMarker,
  type RedeliveryCursor,
  redeliveryMarker,
} from '../domain/redelivery.ts';
import type { Clock } from '../domain/time.ts';
import type { ParsedEnvironment } from '../environment.ts';

/** The maximum number of deliveries per request (docs/api.md#redelivery). */
const MAX_DELIVERIES = 1_000;
/** The maximum size of all bodies of a request, before compression. */
const MAX_BODY_BYTES = 20 * 1024 * 1024;
/** The minimum time left to start a read, or a group of messages or writes. */
const MIN_TIME_LEFT_MS = 10_000;
/** Concurrent writes to the notification's partition, which its senders write to as well. */
const CONCURRENT_WRITES = 4;

/** Returns the delivery of one event. @throws ServiceError 404 */
const readDelivery = async (
  deliveries: Pick<DeliveryReader, 'readAll'>,
  { tenant, id }: NotificationKey,
  eventId: string,
  nowMs: number,
): Promise<DeliveryRecord> => {
  const [record] = await deliveries.readAll([deliveryKey({ tenant_id: tenant, event_id: eventId }, id)]);
  if (!record || isExpired(record, nowMs)) throw notFound('The delivery');
  return record;
};

/** `limitOf` returns the daily limit of redeliveries of a tenant. */
export type RedeliveryDependencies = {
  notifications: Pick<NotificationRepository, 'targets'>;
  deliveries: Pick<DeliveryReader, 'readAll'>;
  failedMessages: Pick<FailedMessageList, 'list' | 'delete'>;
  queues: Pick<Queues, 'sendAll'>;
  counters: Pick<Counters, 'take'>;
  limitOf: LimitOf;
};

/** The failures that a request covers. */
type Range = RedeliveryCursor & {
  sinceMs: number;
  isIncluded: (message: FailedMessage) => boolean;
  /** Why nothing is sent, if there is nothing to send. */
  nothingToSend: string;
};

/** The destination of the messages, and a function that counts as many of them as the daily limit permits. */
type RedeliveryQueue = {
  tenant: string;
  queueUrl: string;
  dailyLimit: number;
  count: (amount: number) => Promise<number>;
};

/** A message to send, and the stored message that it is a copy of. */
type Redelivery = OutgoingMessage & { stored: FailedMessage };

type SentGroup = { sent: FailedMessage[]; firstUnsent: FailedMessage | undefined; isLimitReached: boolean };

/** Returns the first messages that fit into the request. The first message of a request always fits. */
const withinRequest = (messages: readonly FailedMessage[], count: number, bytes: number): FailedMessage[] => {
  const fitting: FailedMessage[] = [];
  let total = bytes;
  for (const message of messages) {
    total += message.bodyBytes;
    const isFirst = count + fitting.length === 0;
    if (count + fitting.length === MAX_DELIVERIES || (total > MAX_BODY_BYTES && !isFirst)) break;
    fitting.push(message);
  }
  return fitting;
};

/**
 * Creates the redelivery of failed deliveries, oldest failure first. However often its message is sent, a delivery
 * starts one new round, because its record accepts only the next round (docs/decisions/api.md#redelivery).
 *
 * @throws ServiceError 404 if the notification or the delivery does not exist; 429 if the daily limit is reached; 503
 * if no message could be sent
 */
export const createRedelivery = (
  { notifications, deliveries, failedMessages, queues, counters, limitOf }: RedeliveryDependencies,
  { SENDER_QUEUES }: Pick<ParsedEnvironment<'redeliver'>, 'SENDER_QUEUES'>,
  clock: Clock = Date.now,
) => {
  const rangeOfEvent = async (key: NotificationKey, eventId: string): Promise<Range> => {
    const record = await readDelivery(deliveries, key, eventId, clock());
    return {
      sinceMs: record.updated_at_ms,
      beganAtMs: record.updated_at_ms + 1,
      after: null,
      isIncluded: ({ recordKey }) => recordKey.sk === record.sk,
      nothingToSend: notRedelivered(record),
    };
  };

  const rangeOfTime = (sinceMs: number, marker: string | undefined): Range => {
    const nowMs = clock();
    const cursor = marker === undefined ? { beganAtMs: nowMs, after: null } : parseRedeliveryMarker(marker);
    return {
      sinceMs,
      beganAtMs: Math.min(cursor.beganAtMs, nowMs),
      after: cursor.after,
      isIncluded: () => true,
      nothingToSend: NOTHING_FAILED,
    };
  };

  const rangeOf = async (key: NotificationKey, { event_id, since = 0, marker }: RedeliveryRequest): Promise<Range> =>
    event_id === undefined ? rangeOfTime(since, marker) : rangeOfEvent(key, event_id);

  /** Splits messages into those to send and those that can never be sent. The rest may be sent by a later request. */
  const classify = async (messages: readonly FailedMessage[]) => {
    const keys = new Map(messages.map(({ recordKey }) => [recordKey.sk, recordKey]));
    const records = new Map((await deliveries.readAll([...keys.values()])).map((record) => [record.sk, record]));
    const nowMs = clock();
    const isDue = (message: FailedMessage): boolean =>
      !isExpired(message, nowMs) && isCurrentFailure(records.get(message.recordKey.sk), message);
    return {
      due: messages.filter(isDue),
      stale: messages.filter((message) => !isDue(message) && isSettledFailure(message, nowMs)),
    };
  };

  /** Deletes messages that were sent or are stale. If that fails, the records still prevent a second round. */
  const deleteMessages = async (tenant: string, messages: readonly FailedMessage[]): Promise<void> => {
    const ids = { tenant_id: tenant, messages: messages.length };
    await failedMessages
      .delete(messages)
      .catch((error: unknown) => logger.warn('failed messages not deleted', { ...ids, ...errorTrace(error) }));
  };

  /** Creates the count of one request. Its first amount is counted in one transaction with the audit entry. */
  const createCount = (tenant: string, dailyLimit: number, entry: () => TransactItem) => {
    let isRecorded = false;
    return (amount: number): Promise<number> =>
      takeUpTo(amount, async (step) => {
        const isTaken = await counters.take(dailyCounter('redeliveries', tenant, clock()), {
          amount: step,
          limit: dailyLimit,
          entry: isRecorded ? undefined : entry(),
        });
        isRecorded ||= isTaken;
        return isTaken;
      });
  };

  /**
   * Counts and sends messages, as many as the daily limit permits. Those that SQS does not confirm count, too, because it
   * may have them.
   */
  const send = async (
    { tenant, queueUrl, count }: RedeliveryQueue,
    due: readonly FailedMessage[],
  ): Promise<SentGroup> => {
    const counted = await count(due.length);
    const outgoing = due.slice(0, counted).map(
      (stored): Redelivery => ({
        stored,
        body: () => messageBody(stored.body()),
        bytes: stored.bodyBytes,
        messageGroupId: tenant,
      }),
    );
    const unsent = new Set((await queues.sendAll(queueUrl, outgoing)).map(({ stored }) => stored));
    const sent = outgoing.flatMap(({ stored }) => (unsent.has(stored) ? [] : [stored]));
    const firstUnsent = due.find((message, index) => index >= counted || unsent.has(message));
    return { sent, firstUnsent, isLimitReached: counted < due.length && unsent.size === 0 };
  };

  const run = async (queue: RedeliveryQueue, key: NotificationKey, range: Range, timeLeft: () => number) => {
    const { tenant, id } = key;
    const { dailyLimit } = queue;
    let [count, bytes, after] = [0, 0, range.after];
    const result = (next: string | null): RedeliveryResult => ({
      count,
      next_marker: next,
      ...(count === 0 && { reason: next === null ? range.nothingToSend : NOTHING_YET }),
    });
    const stopAt = (position: string | null): RedeliveryResult =>
      result(redeliveryMarker({ beganAtMs: range.beganAtMs, after: position }));

    try {
      const listed = { sinceMs: range.sinceMs, after, untilMs: range.beganAtMs };
      for await (const group of failedMessages.list({ tenant, id }, listed)) {
        if (timeLeft() < MIN_TIME_LEFT_MS || count === MAX_DELIVERIES) return stopAt(after);
        const messages = group.filter(range.isIncluded);
        const { due, stale } = await classify(messages);
        const fitting = withinRequest(due, count, bytes);
        const { sent, firstUnsent, isLimitReached } = await send(queue, fitting);
        await deleteMessages(tenant, [...sent, ...stale]);
        count += sent.length;
        bytes += sent.reduce((sum, { bodyBytes }) => sum + bodyBytes, 0);
        const nextDue = firstUnsent ?? due[fitting.length];
        if (nextDue) {
          if (count === 0) throw isLimitReached ? redeliveryLimitReached(dailyLimit, clock()) : unavailable();
          return stopAt(messages[messages.indexOf(nextDue) - 1]?.position ?? after);
        }
        after = messages.at(-1)?.position ?? after;
      }
      return result(null);
    } catch (error) {
      // The response must state what was sent.
      if (count === 0) throw error;
      logger.error('redelivery interrupted', { tenant_id: tenant, notification_id: id, ...errorTrace(error) });
      return stopAt(after);
    }
  };

  /**
   * @param timeLeft returns the milliseconds until the function times out
   * @param entry returns the audit entry of the request, which is written with the count of its first deliveries
   */
  return async (
    key: NotificationKey,
    request: RedeliveryRequest,
    timeLeft: () => number,
    entry: () => TransactItem,
  ): Promise<RedeliveryResult> => {
    const [target, dailyLimit] = await Promise.all([notifications.targets([key]).find(key), limitOf(key.tenant)]);
    if (!target) throw notFound('The notification');
    const queue = {
      tenant: key.tenant,
      queueUrl: SENDER_QUEUES[target.type],
      dailyLimit,
      count: createCount(key.tenant, dailyLimit, entry),
    };
    return run(queue, key, await rangeOf(key, request), timeLeft);
  };
};

type RetryDependencies = {
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
  const retryEvent = async (key: NotificationKey, eventId: string, record: () => Promise<void>) => {
    const nowMs = clock();
    const found = await readDelivery(deliveries, key, eventId, nowMs);
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
        const page = await deliveries.listPage(key, {
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
