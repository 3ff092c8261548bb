import type { LimitOf } from '../adapters/accounts/account-repository.ts';
import type { DeliveryFilter, DeliveryReader } from '../adapters/deliveries/delivery-reader.ts';
import type { DeliveryChanges } from '../adapters/deliveries/delivery-repository.ts';
import type { FailedMessage, FailedMessageList } from '../adapters/deliveries/failed-message-list.ts';
import { type Counters, dailyCounter, takeUpTo } from '../adapters/dynamodb/counters.ts';
import type { TransactItem } from '../adapters/dynamodb/transactions.ts';
import { errorTrace, logger } from '../adapters/logger.ts';
import type { NotificationRepository } from '../adapters/notifications/notification-repository.ts';
import type { Queues } from '../adapters/queues.ts';
import { messageBody } from '../contracts/messages.ts';
import type { RedeliveryRequest } from '../contracts/redelivery.ts';
import type { RedeliveryResult } from '../contracts/responses/deliveries.ts';
import { deliveryKey } from '../domain/delivery-key.ts';
import type { DeliveryRecord } from '../domain/delivery-record.ts';
import { isExpired, isWaiting, wasRetryRequested } from '../domain/delivery-status.ts';
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

/** Per request (docs/api.md#redelivery). */
const MAX_DELIVERIES = 1_000;
/** All bodies of a request, before compression. */
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

/** Returns where a request starts: with its marker, that of the previous response. */
const cursorOf = (marker: string | undefined, nowMs: number): RedeliveryCursor =>
  marker === undefined ? { beganAtMs: nowMs, after: null } : parseRedeliveryMarker(marker);

/** What a request has done so far, and where the next one continues. */
class Progress {
  count = 0;
  after: string | null;
  readonly #beganAtMs: number;
  readonly #timeLeft: () => number;

  /** @param timeLeft returns the milliseconds until the function times out */
  constructor({ beganAtMs, after }: RedeliveryCursor, timeLeft: () => number) {
    this.after = after;
    this.#beganAtMs = beganAtMs;
    this.#timeLeft = timeLeft;
  }

  mustStop(): boolean {
    return this.#timeLeft() < MIN_TIME_LEFT_MS || this.count >= MAX_DELIVERIES;
  }

  /** @param nothing why the request did nothing, if so */
  end(nothing: string): RedeliveryResult {
    return { count: this.count, next_marker: null, ...(this.count === 0 && { reason: nothing }) };
  }

  stop(): RedeliveryResult {
    const next_marker = redeliveryMarker({ beganAtMs: this.#beganAtMs, after: this.after });
    return { count: this.count, next_marker, ...(this.count === 0 && { reason: NOTHING_YET }) };
  }

  /** Stops after an error, because the response must state what was done. */
  afterError(message: string, { tenant, id }: NotificationKey, error: unknown): RedeliveryResult {
    if (this.count === 0) throw error;
    logger.error(message, { tenant_id: tenant, notification_id: id, ...errorTrace(error) });
    return this.stop();
  }
}

/** `limitOf` returns the daily limit of redeliveries of a tenant. */
export type RedeliveryDependencies = {
  notifications: Pick<NotificationRepository, 'targets'>;
  deliveries: Pick<DeliveryReader, 'readAll'>;
  failedMessages: Pick<FailedMessageList, 'list' | 'delete'>;
  queues: Pick<Queues, 'sendAll'>;
  counters: Pick<Counters, 'take'>;
  limitOf: LimitOf;
};

/** The failures that a request covers, and why nothing is sent if there are none to send. */
type Range = RedeliveryCursor & {
  sinceMs: number;
  isIncluded: (message: FailedMessage) => boolean;
  nothingToSend: string;
};

/** `count` counts as many messages as the daily limit permits, and returns how many. */
type RedeliveryQueue = { tenant: string; queueUrl: string; count: (amount: number) => Promise<number> };

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
 * @throws ServiceError 404 if the notification or the delivery does not exist; 429 if the daily limit is reached; 503
 * if no message could be sent
 */
export const createRedelivery = (
  { notifications, deliveries, failedMessages, queues, counters, limitOf }: RedeliveryDependencies,
  { SENDER_QUEUES }: Pick<ParsedEnvironment<'redeliver'>, 'SENDER_QUEUES'>,
  clock: Clock = Date.now,
) => {
  const rangeOf = async (key: NotificationKey, request: RedeliveryRequest): Promise<Range> => {
    const { event_id: eventId, since: sinceMs = 0, marker } = request;
    const nowMs = clock();
    if (eventId === undefined) {
      const { beganAtMs, after } = cursorOf(marker, nowMs);
      const isIncluded = () => true;
      return { sinceMs, beganAtMs: Math.min(beganAtMs, nowMs), after, isIncluded, nothingToSend: NOTHING_FAILED };
    }
    const record = await readDelivery(deliveries, key, eventId, nowMs);
    return {
      sinceMs: record.updated_at_ms,
      beganAtMs: record.updated_at_ms + 1,
      after: null,
      isIncluded: ({ recordKey }) => recordKey.sk === record.sk,
      nothingToSend: notRedelivered(record),
    };
  };

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

  /** If messages cannot be deleted, their records still prevent a second round. */
  const deleteMessages = async (tenant: string, messages: readonly FailedMessage[]): Promise<void> => {
    const ids = { tenant_id: tenant, messages: messages.length };
    await failedMessages
      .delete(messages)
      .catch((error: unknown) => logger.warn('failed messages not deleted', { ...ids, ...errorTrace(error) }));
  };

  /**
   * Creates the count of one request. Its first amount is counted in one transaction with the audit entry: nothing is
   * redelivered without an entry, and if it cannot be written, the limit is not used up.
   */
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

  /** Messages that SQS does not confirm count toward the limit, too, because it may have them. */
  const send = async ({ tenant, queueUrl, count }: RedeliveryQueue, due: readonly FailedMessage[]) => {
    const counted = await count(due.length);
    const outgoing = due.slice(0, counted).map((stored) => ({
      stored,
      body: () => messageBody(stored.body()),
      bytes: stored.bodyBytes,
      messageGroupId: tenant,
    }));
    const unsent = new Set((await queues.sendAll(queueUrl, outgoing)).map(({ stored }) => stored));
    const sent = outgoing.flatMap(({ stored }) => (unsent.has(stored) ? [] : [stored]));
    const firstUnsent = due.find((message, index) => index >= counted || unsent.has(message));
    return { sent, firstUnsent, isLimitReached: counted < due.length && unsent.size === 0 };
  };

  /** @param entry returns the audit entry of the request */
  return async (
    key: NotificationKey,
    request: RedeliveryRequest,
    timeLeft: () => number,
    entry: () => TransactItem,
  ): Promise<RedeliveryResult> => {
    const { tenant } = key;
    const [target, dailyLimit] = await Promise.all([notifications.targets([key]).find(key), limitOf(tenant)]);
    if (!target) throw notFound('The notification');
    const queue = { tenant, queueUrl: SENDER_QUEUES[target.type], count: createCount(tenant, dailyLimit, entry) };
    const { sinceMs, beganAtMs, after, isIncluded, nothingToSend } = await rangeOf(key, request);
    const progress = new Progress({ beganAtMs, after }, timeLeft);
    let bytes = 0;

    try {
      for await (const group of failedMessages.list(key, { sinceMs, after, untilMs: beganAtMs })) {
        if (progress.mustStop()) return progress.stop();
        const messages = group.filter(isIncluded);
        const { due, stale } = await classify(messages);
        const fitting = withinRequest(due, progress.count, bytes);
        const { sent, firstUnsent, isLimitReached } = await send(queue, fitting);
        await deleteMessages(tenant, [...sent, ...stale]);
        progress.count += sent.length;
        bytes += sent.reduce((sum, { bodyBytes }) => sum + bodyBytes, 0);
        const next = firstUnsent ?? due[fitting.length];
        const last = next ? messages[messages.indexOf(next) - 1] : messages.at(-1);
        if (next && progress.count === 0) {
          throw isLimitReached ? redeliveryLimitReached(dailyLimit, clock()) : unavailable();
        }
        progress.after = last?.position ?? progress.after;
        if (next) return progress.stop();
      }
      return progress.end(nothingToSend);
    } catch (error) {
      return progress.afterError('redelivery interrupted', key, error);
    }
  };
};

type RetryDependencies = {
  notifications: Pick<NotificationRepository, 'targets'>;
  deliveries: Pick<DeliveryReader, 'listPage' | 'readAll'> & Pick<DeliveryChanges, 'requestRetry'>;
};

/**
 * Creates the function that makes the next attempts of waiting deliveries due now, newest event first. It changes only
 * their records: the messages that wait in SQS find them due (docs/decisions/deliveries.md#retry-now).
 * @throws ServiceError 404 if the notification, or the delivery of the one event, does not exist
 */
export const createRetryNow = ({ notifications, deliveries }: RetryDependencies, clock: Clock = Date.now) => {
  /** Makes the next attempt of one event due. A concurrent change of its record wins. */
  const retryEvent = async (key: NotificationKey, eventId: string, record: () => Promise<void>) => {
    const nowMs = clock();
    const found = await readDelivery(deliveries, key, eventId, nowMs);
    const isRequestable = isWaiting(found, nowMs) && !wasRetryRequested(found, nowMs);
    if (isRequestable) await record();
    if (isRequestable && (await deliveries.requestRetry(found, nowMs))) return { count: 1, next_marker: null };
    return { count: 0, next_marker: null, reason: isRequestable ? CHANGED_MEANWHILE : notRetried(found, nowMs) };
  };

  /** @param record writes the audit entry of the request. It is called once, before the first write */
  return async (
    key: NotificationKey,
    { event_id: eventId, marker }: Pick<RedeliveryRequest, 'event_id' | 'marker'>,
    timeLeft: () => number,
    record: () => Promise<void>,
  ): Promise<RedeliveryResult> => {
    if (!(await notifications.targets([key]).find(key))) throw notFound('The notification');
    if (eventId !== undefined) return retryEvent(key, eventId, record);
    const progress = new Progress(cursorOf(marker, clock()), timeLeft);
    let [isRecorded, isAnyRequested] = [false, false];

    try {
      let before = progress.after ?? undefined;
      do {
        if (progress.mustStop()) return progress.stop();
        const filter: DeliveryFilter = { statuses: ['pending'] };
        const page = await deliveries.listPage(key, { limit: MAX_DELIVERIES, before, filter });
        const waiting = page.records.filter((found) => isWaiting(found, clock()));
        const requestable = waiting.filter((found) => !wasRetryRequested(found, clock()));
        isAnyRequested ||= requestable.length < waiting.length;
        for (const group of inBatches(requestable, CONCURRENT_WRITES)) {
          if (progress.mustStop()) return progress.stop();
          if (!isRecorded) await record();
          isRecorded = true;
          const writes = await Promise.allSettled(group.map((found) => deliveries.requestRetry(found, clock())));
          progress.count += writes.filter((write) => write.status === 'fulfilled' && write.value).length;
          const failed = writes.find((write) => write.status === 'rejected');
          if (failed) throw failed.reason;
          progress.after = group.at(-1)?.sk ?? progress.after;
        }
        before = page.before;
        progress.after = before ?? progress.after;
      } while (before !== undefined);
      return progress.end(isAnyRequested ? ALL_REQUESTED : NOTHING_WAITS);
    } catch (error) {
      return progress.afterError('retry interrupted', key, error);
    }
  };
};
