import type { Outage } from '../contracts/notice.ts';
import { DAY_MS, startOf } from './day.ts';
import type { DeliveryRecord } from './delivery-record.ts';

/** The maximum number of outages of a notification that are announced on a UTC day. */
const MAX_ANNOUNCED_PER_DAY = 3;

/** A delivery that failed, or fails for minutes. Times are ms since the epoch. */
export type OutageFailure = {
  /** When it failed, or became late. */
  failedAtMs: number;
  /** When its first attempt failed. */
  firstFailedAtMs: number;
  /** When its last attempt failed: the day of its notice. */
  atMs: number;
  /** The notices that it may cause. */
  kinds: readonly ('failing' | 'undelivered')[];
};

/**
 * Returns the outage of a notification after a failure, the same one if nothing changes. A new outage begins with the first
 * failure, and with one after a delivery; it is announced by `undelivered` if there was none this day, or by `failing`
 * unless three were announced this day. One above this limit is announced if it lasts on another day.
 *
 * @param wasDelivered whether an alert was delivered since the start of the outage and before the failure
 */
export const outageAfterFailure = (
  outage: Outage | undefined,
  { failedAtMs, firstFailedAtMs, atMs, kinds }: OutageFailure,
  wasDelivered: boolean,
): Outage => {
  const day = startOf(DAY_MS, atMs);
  const { announced_day_ms = 0, announced_count = 0, undelivered_day_ms = 0, version = 0 } = outage ?? {};
  const isNew = !outage || wasDelivered || failedAtMs > (outage.ended_at_ms ?? Number.POSITIVE_INFINITY);
  const current: Outage = isNew
    ? {
        started_at_ms: failedAtMs,
        first_failed_at_ms: firstFailedAtMs,
        ended_at_ms: undefined,
        first_notice: undefined,
        is_announced: undefined,
        announced_day_ms,
        announced_count,
        undelivered_day_ms,
        version,
      }
    : outage;
  const hasUndelivered = kinds.includes('undelivered') && day > undelivered_day_ms;
  const announcedOfDay = day > announced_day_ms ? 0 : announced_count;
  const canAnnounce = !current.first_notice && current.ended_at_ms === undefined && day >= announced_day_ms;
  const canFail = kinds.includes('failing') && announcedOfDay < MAX_ANNOUNCED_PER_DAY;
  const firstNotice = hasUndelivered ? 'undelivered' : canFail ? 'failing' : undefined;
  const isAnnounced = canAnnounce && firstNotice !== undefined;
  if (!isNew && !hasUndelivered && !isAnnounced) return outage;
  return {
    ...current,
    ...(hasUndelivered && { undelivered_day_ms: day }),
    ...(isAnnounced && { first_notice: firstNotice, announced_day_ms: day, announced_count: announcedOfDay + 1 }),
  };
};

/** Returns an outage after the arrival of an alert that had failed, the same one if it began later or has ended. */
export const endedOutage = (outage: Outage, deliveredAtMs: number): Outage =>
  outage.ended_at_ms === undefined && deliveredAtMs > outage.started_at_ms
    ? { ...outage, ended_at_ms: deliveredAtMs }
    : outage;

/** What became of the alerts that failed in an outage. */
export type OutageNumbers = {
  failed: number;
  delivered: number;
  stillFailed: number;
  /** Whether an alert failed after the last delivery. */
  isLasting: boolean;
};

const timesOf = (records: readonly DeliveryRecord[], timeOf: (record: DeliveryRecord) => number | undefined): number =>
  Math.max(0, ...records.map((record) => timeOf(record) ?? 0));

/** Returns the numbers of an outage. @param records the history of the notification */
export const outageNumbers = ({ first_failed_at_ms }: Outage, records: readonly DeliveryRecord[]): OutageNumbers => {
  const alerts = records.filter(({ notice }) => notice === undefined || notice === 'summary');
  const failed = alerts.filter(({ last_failed_at_ms = 0 }) => last_failed_at_ms >= first_failed_at_ms);
  const stillFailed = failed.filter(({ status }) => ['pending', 'failed', 'bounced'].includes(status));
  const delivered = alerts.filter(({ status }) => status === 'delivered');
  return {
    failed: failed.length,
    delivered: failed.filter(({ status }) => status === 'delivered').length,
    stillFailed: stillFailed.length,
    isLasting:
      timesOf(stillFailed, (record) => record.last_failed_at_ms) > timesOf(delivered, (record) => record.updated_at_ms),
  };
};
