import pLimit from 'p-limit';
import { errorTrace, logger } from '../../adapters/logger.ts';
import type { NotificationRepository } from '../../adapters/notifications/notification-repository.ts';
import type { DeliveryHappening } from '../../contracts/delivery-report.ts';
import { isNotificationTypeId } from '../../contracts/notification-types.ts';
import { isStopReason } from '../../contracts/outcomes.ts';
import { parseDeliveryPartition } from '../../domain/delivery-key.ts';
import { correlationOf, type DeliveryRecord } from '../../domain/delivery-record.ts';
import { failedAtMs, failureReasonOf, isFailing, unreachedAtMs } from '../../domain/delivery-status.ts';
import { dailyNoticeId } from '../../domain/notice.ts';
import type { ParsedEnvironment } from '../../environment.ts';
import { withTimeout } from '../with-timeout.ts';
import type { Notification } from './notice-content.ts';
import type { NoticeQueue } from './notice-queue.ts';
import { eventOfRecord, failingNotice, limitNotice, undeliveredNotice } from './notification-notice.ts';

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

/** Reads the labels and types of notifications. */
export type ReadNames = ReturnType<typeof createNameReader>;

/** The environment variables of notices about deliveries, parsed. */
export type NoticeEnvironment = Pick<
  ParsedEnvironment<'report-deliveries'>,
  'API_URL' | 'DEAD_LETTER_EMAIL' | 'FAILING_NOTICES' | 'RETRY_DELAY_SCALE'
>;

/** Returns what happened to a delivery as far as its record says it. */
const happenedTo = ({ status, last_reason, email_report }: DeliveryRecord): DeliveryHappening => {
  if (status === 'summarized') return last_reason === 'tenant_limit_exceeded' ? 'above_limit' : 'cancelled';
  return status === 'delivered' ? (email_report ?? 'cancelled') : 'late';
};

/** After these, there is no notice: each stop of a mailbox has its own. */
const withoutNotice: readonly DeliveryHappening[] = ['bounce', 'temporary_bounce', 'complaint', 'bounced', 'cancelled'];

/**
 * Creates the notices to the technical contacts about deliveries that do not arrive, at most one per kind, notification
 * and UTC day (docs/decisions/notices.md#notices). The record as it is read decides.
 */
export const createDeliveryNotices = (notices: NoticeQueue, readNames: ReadNames, environment: NoticeEnvironment) => {
  const { API_URL: apiUrl, RETRY_DELAY_SCALE: scale, DEAD_LETTER_EMAIL, FAILING_NOTICES } = environment;

  const notify = async (record: DeliveryRecord, isContentRejected: boolean): Promise<void> => {
    const { tenant, notificationId } = parseDeliveryPartition(record.pk);
    const isUndelivered = record.status === 'failed' && !isContentRejected && DEAD_LETTER_EMAIL;
    if (!isUndelivered && !FAILING_NOTICES) return;
    const kind = isUndelivered ? 'undelivered' : 'failing';
    if (notices.isQueued(dailyNoticeId(kind, tenant, notificationId, record.updated_at_ms))) return;
    const notification = (await readNames(tenant, [notificationId])).get(notificationId);
    const delivery = { notificationId, notification, record };
    const event = eventOfRecord(record);
    const notice = isUndelivered
      ? undeliveredNotice(tenant, apiUrl, delivery, event)
      : failingNotice(tenant, apiUrl, delivery, event, isContentRejected);
    await notices.queue(notice, correlationOf(record), { toOperators: false });
  };

  /** Notifies that alerts exceed a daily limit, once per limit and UTC day. */
  const notifyOfLimit = async (record: DeliveryRecord): Promise<void> => {
    const { type } = record;
    if (!isNotificationTypeId(type)) return;
    const notice = limitNotice(eventOfRecord(record), type, record.updated_at_ms);
    await notices.queue(notice, correlationOf(record), { toOperators: false });
  };

  /** Queues the notice of what happened to a delivery, if it has one. Repeating it has no effect. */
  return async (happened: DeliveryHappening, record: DeliveryRecord): Promise<void> => {
    if (happened === 'unreadable') happened = happenedTo(record);
    if (happened === 'above_limit') return notifyOfLimit(record);
    if (happened === 'reject') {
      // The last change of the record may be days old, but the notice belongs to the day of the report.
      return notify({ ...record, updated_at_ms: unreachedAtMs(record) }, true);
    }
    // Technical contacts cannot be notified by email that their email fails. While the service fails, operators have an alarm.
    const isReported = record.status === 'failed' || isFailing(record, scale);
    const isOfStop = withoutNotice.includes(happened) || isStopReason(failureReasonOf(record));
    if (isReported && !isOfStop && record.type !== 'technicalContactsEmail')
      await notify({ ...record, updated_at_ms: failedAtMs(record) }, false);
  };
};
