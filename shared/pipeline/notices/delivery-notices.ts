import pLimit, { type LimitFunction } from 'p-limit';
import { lru } from 'tiny-lru';
import type { DeliveryReader } from '../../adapters/deliveries/delivery-reader.ts';
import type { Outages } from '../../adapters/deliveries/notification-outages.ts';
import { errorTrace, logger } from '../../adapters/logger.ts';
import type { NotificationRepository } from '../../adapters/notifications/notification-repository.ts';
import { withTimeout } from '../../adapters/waiting.ts';
import type { DeliveryHappening } from '../../contracts/delivery-report.ts';
import type { Outage } from '../../contracts/notice.ts';
import { isStopReason } from '../../contracts/outcomes.ts';
import { parseDeliveryPartition } from '../../domain/delivery-key.ts';
import { correlationOf, type DeliveryRecord } from '../../domain/delivery-record.ts';
import { failureReasonOf, isFailing, unreachedAtMs } from '../../domain/delivery-status.ts';
import type { Notice } from '../../domain/notice.ts';
import type { NotificationKey } from '../../domain/notification.ts';
import {
  endedOutage,
  firstNoticeOf,
  mayEndOutage,
  type OutageFailure,
  outageAfterFailure,
  outageNumbers,
} from '../../domain/outage.ts';
import type { Clock } from '../../domain/time.ts';
import { DAY_MS, startOf } from '../../domain/time.ts';
import type { ParsedEnvironment } from '../../environment.ts';
import type { NoticeQueue } from './notice-queue.ts';
import { eventOfRecord, type Notification, noticeTable, type ReportedDelivery } from './notice-table.ts';

/** The maximum time to read labels. Notifications may be large, and slow reads must not prevent the notice. */
const MAX_READ_MS = 1_000;

/**
 * Creates the function that reads the labels and types of notifications, by ID, as far as they can be read within a
 * second: a notice is sent even without them.
 */
export const createNameReader = (notifications: Pick<NotificationRepository, 'listByIds'>) => {
  /** One read at a time: a notification may have several MB. */
  const limitReads = pLimit(1);
  return async (tenant: string, ids: readonly string[]): Promise<ReadonlyMap<string, Notification>> => {
    const found = new Map<string, Notification>();
    let isLate = false;
    const read = async (): Promise<void> => {
      if (isLate) return;
      for await (const { id, label, type } of notifications.listByIds(tenant, ids, null)) {
        if (isLate) return;
        found.set(id, { label, type });
      }
    };
    try {
      await withTimeout(limitReads(read), MAX_READ_MS);
    } catch (error) {
      logger.warn('labels for a notice not read', { tenant_id: tenant, ...errorTrace(error) });
    }
    isLate = true;
    return found;
  };
};
export type ReadNames = ReturnType<typeof createNameReader>;

/** What notices about deliveries use. */
export type DeliveryNoticeDependencies = {
  notices: NoticeQueue;
  outages: Outages;
  deliveries: Pick<DeliveryReader, 'listNewest' | 'listPage'>;
  readNames: ReadNames;
  clock: Clock;
};

/** The environment variables of notices about deliveries, parsed. */
export type NoticeEnvironment = Pick<
  ParsedEnvironment<'report-deliveries'>,
  'API_URL' | 'DEAD_LETTER_EMAIL' | 'FAILING_NOTICES' | 'RETRY_DELAY_SCALE'
>;

/** The number of newest deliveries to a notification from which the numbers of an outage come. */
const MAX_READ_DELIVERIES = 1_000;

/** The number of newest deliveries among which one between two failures is looked for. */
const NEWEST_DELIVERIES = 20;

/** The notifications in the caches of an execution environment. */
const CACHE_SIZE = 1_000;

/** Returns what happened to a delivery as far as its record says it. */
const happenedTo = ({ status, last_reason, email_report }: DeliveryRecord): DeliveryHappening => {
  if (status === 'summarized') return last_reason === 'tenant_limit_exceeded' ? 'above_limit' : 'cancelled';
  return status === 'delivered' ? (email_report ?? 'recovered') : 'late';
};

/** After these, there is no notice: each stop of a mailbox has its own. */
const withoutNotice: readonly DeliveryHappening[] = ['bounce', 'temporary_bounce', 'complaint', 'bounced', 'cancelled'];

/**
 * Creates the notices to the technical contacts about deliveries that do not arrive, or arrive again, by the outages of
 * notifications (docs/decisions/notices.md#outages). The record as it is read decides.
 */
export const createDeliveryNotices = (
  { notices, outages, deliveries, readNames, clock }: DeliveryNoticeDependencies,
  { API_URL: apiUrl, RETRY_DELAY_SCALE: scale, DEAD_LETTER_EMAIL, FAILING_NOTICES }: NoticeEnvironment,
) => {
  /**
   * By partition key, for failures also the day on which the alert was dead-lettered, the time before which they change
   * nothing in an outage. So a storm costs one check a moment, and none once a day has all its notices.
   */
  const [failingUntilMs, lastingUntilMs] = [lru<number>(CACHE_SIZE), lru<number>(CACHE_SIZE)];

  /** One check of an outage at a time, by partition key: the next one finds what the one before has written. */
  const limits = lru<LimitFunction>(CACHE_SIZE);
  const limitOf = (pk: string): LimitFunction => {
    const limit = limits.get(pk) ?? pLimit(1);
    limits.set(pk, limit);
    return limit;
  };

  const queue = async (record: DeliveryRecord, createNotice: (delivery: ReportedDelivery) => Notice): Promise<void> => {
    const { tenant, id: notificationId } = parseDeliveryPartition(record.pk);
    const delivery = { tenant, notificationId, notification: undefined, record };
    if (notices.isQueued(createNotice(delivery).event.event_id)) return;
    const notification = (await readNames(tenant, [notificationId])).get(notificationId);
    await notices.queue(createNotice({ ...delivery, notification }), correlationOf(record), { toOperators: false });
  };

  /** Queues the first notice of an outage, for a day: a function may have crashed after it stored the outage. Repeatable. */
  const announce = async (
    record: DeliveryRecord,
    { started_at_ms: startedAtMs, first_notice }: Outage,
    atMs: number,
  ): Promise<void> => {
    if (atMs - startedAtMs > DAY_MS) return;
    await queue(record, (delivery) => noticeTable[first_notice](delivery, apiUrl, startedAtMs));
  };

  /** Returns when alerts were last delivered, after a time, in ms since the epoch. */
  const deliveredAfter = async (target: NotificationKey, afterMs: number): Promise<number[]> => {
    const [limit, filter] = [NEWEST_DELIVERIES, { statuses: ['delivered'] as const }];
    const { records } = await deliveries.listPage(target, { limit, maxRead: limit, filter });
    return records.map(({ updated_at_ms }) => updated_at_ms).filter((timeMs) => timeMs > afterMs);
  };

  const notifyOfFailure = async (record: DeliveryRecord): Promise<void> => {
    const isUndelivered = record.status === 'failed' && DEAD_LETTER_EMAIL;
    const failure: OutageFailure = {
      sk: record.sk,
      failedAtMs: record.last_failed_at_ms ?? record.updated_at_ms,
      kinds: [...(isUndelivered ? ['undelivered' as const] : []), ...(FAILING_NOTICES ? ['failing' as const] : [])],
    };
    const { failedAtMs, kinds } = failure;
    const key = `${isUndelivered && startOf(DAY_MS, failedAtMs)} ${record.pk}`;
    if (kinds.length === 0 || failedAtMs < (failingUntilMs.get(key) ?? 0)) return;
    const target = parseDeliveryPartition(record.pk);
    const checkedAtMs = clock();
    let untilMs = 0;
    const outage = await outages.change(target, checkedAtMs, async (current) => {
      // Without a notice that could announce another outage, nothing changes until the next day.
      untilMs = firstNoticeOf(current, failure) ? 0 : startOf(DAY_MS, failedAtMs) + DAY_MS;
      if (untilMs > 0) return current;
      const isOpen = current && current.ended_at_ms === undefined && failedAtMs > current.started_at_ms;
      const deliveredAtMs = isOpen ? await deliveredAfter(target, current.started_at_ms) : [];
      if (isOpen && deliveredAtMs.length === 0) untilMs = checkedAtMs;
      const wasDelivered = deliveredAtMs.some((timeMs) => timeMs < failedAtMs);
      return outageAfterFailure(current, failure, wasDelivered);
    });
    if (isUndelivered) await queue(record, (delivery) => noticeTable.undelivered(delivery, apiUrl, failedAtMs));
    const isOfOther = outage?.first_notice === 'undelivered' && record.status === 'pending';
    if (outage && outage.ended_at_ms === undefined && !isOfOther) await announce(record, outage, failedAtMs);
    if (untilMs > 0) failingUntilMs.set(key, untilMs);
  };

  /** Notifies that alerts arrive again, if that ends an outage. */
  const notifyOfRecovery = async (record: DeliveryRecord): Promise<void> => {
    const { pk, updated_at_ms: endedAtMs } = record;
    if (endedAtMs < (lastingUntilMs.get(pk) ?? 0)) return;
    const target = parseDeliveryPartition(pk);
    const found = await outages.read(target);
    if (!found || endedOutage(found, endedAtMs).ended_at_ms !== endedAtMs) return;
    const { started_at_ms } = found;
    const history = await deliveries.listNewest(target, MAX_READ_DELIVERIES);
    const numbers = outageNumbers(started_at_ms, record, history);
    if (numbers.isLasting && found.ended_at_ms === undefined) {
      lastingUntilMs.set(pk, numbers.lastFailedAtMs);
      return;
    }
    const ended = await outages.change(target, clock(), (current) =>
      current?.started_at_ms === started_at_ms ? endedOutage(current, endedAtMs) : current,
    );
    if (ended?.started_at_ms !== started_at_ms || ended.ended_at_ms !== endedAtMs) return;
    const first = history.find(({ sk }) => sk === ended.record_sk) ?? record;
    await announce({ ...first, first_attempt_at_ms: numbers.firstFailedAtMs }, ended, endedAtMs);
    await queue(record, (delivery) => noticeTable.recovered(delivery, apiUrl, started_at_ms, numbers));
  };

  /** Notifies that alerts exceed a daily limit, once per limit and UTC day. */
  const notifyOfLimit = (record: DeliveryRecord): Promise<void> =>
    notices.queue(
      noticeTable.limit(eventOfRecord(record), record.type === 'sms', record.updated_at_ms),
      correlationOf(record),
      { toOperators: false },
    );

  /** Queues the notice of what happened to a delivery, if it has one. Repeating it has no effect. */
  return async (reported: DeliveryHappening, record: DeliveryRecord): Promise<void> => {
    const happened = reported === 'unreadable' ? happenedTo(record) : reported;
    if (happened === 'above_limit') await notifyOfLimit(record);
    if (happened === 'reject') {
      // The last change of the record may be days old, but the notice belongs to the day of the report.
      if (FAILING_NOTICES)
        await queue(record, (delivery) => noticeTable.rejected(delivery, apiUrl, unreachedAtMs(record)));
      return;
    }
    // Technical contacts cannot be notified by email that their email fails. While the service fails, operators have an alarm.
    if (record.type === 'technicalContactsEmail') return;
    if (mayEndOutage(record)) return limitOf(record.pk)(() => notifyOfRecovery(record));
    const isReported = record.status === 'failed' || isFailing(record, scale);
    const isOfStop = withoutNotice.includes(happened) || isStopReason(failureReasonOf(record));
    if (isReported && !isOfStop) await notifyOfFailure(record);
  };
};
