import type { Outage } from '../contracts/notice.ts';
import type { DeliveryRecord } from './delivery-record.ts';
import { DAY_MS, startOf } from './time.ts';

/** The maximum number of outages of a notification that are announced on a UTC day. */
const MAX_ANNOUNCED_PER_DAY = 3;

/** A delivery that failed, or fails for minutes. Times are ms since the epoch. */
export type OutageFailure = {
  /** When its last attempt failed: the day of its notice. */
  failedAtMs: number;
  /** When its first attempt failed. */
  firstFailedAtMs: number;
  /** The notices that it may cause. */
  kinds: readonly ('failing' | 'undelivered')[];
};

/**
 * Returns the notice that a failure causes if it begins an outage: `undelivered` if there was none this day, or `failing`
 * unless three outages were announced this day.
 */
export const firstNoticeOf = (
  outage: Outage | undefined,
  { failedAtMs, kinds }: OutageFailure,
): Outage['first_notice'] | undefined => {
  const day = startOf(DAY_MS, failedAtMs);
  const { announced_day_ms = 0, announced_count = 0, undelivered_day_ms = 0 } = outage ?? {};
  if (kinds.includes('undelivered') && day > undelivered_day_ms) return 'undelivered';
  const canFail = day > announced_day_ms || (day === announced_day_ms && announced_count < MAX_ANNOUNCED_PER_DAY);
  return kinds.includes('failing') && canFail ? 'failing' : undefined;
};

/**
 * Returns the outage of a notification after a failure, the same one if nothing changes. A new outage begins with the first
 * failure, and with one after a delivery, unless no notice can announce it.
 *
 * @param wasDelivered whether an alert was delivered since the start of the outage and before the failure
 */
export const outageAfterFailure = (
  outage: Outage | undefined,
  failure: OutageFailure,
  wasDelivered: boolean,
): Outage | undefined => {
  const firstNotice = firstNoticeOf(outage, failure);
  if (firstNotice === undefined) return outage;
  const { failedAtMs, firstFailedAtMs } = failure;
  const day = startOf(DAY_MS, failedAtMs);
  const { announced_day_ms = 0, announced_count = 0, version = 0 } = outage ?? {};
  const undelivered_day_ms = firstNotice === 'undelivered' ? day : (outage?.undelivered_day_ms ?? 0);
  const endedAtMs = outage?.ended_at_ms;
  const isNew = !outage || wasDelivered || failedAtMs > (endedAtMs ?? Number.POSITIVE_INFINITY);
  if (!isNew) return firstNotice === 'undelivered' ? { ...outage, undelivered_day_ms } : outage;
  return {
    started_at_ms: failedAtMs,
    // An alert that also failed in the outage before fails in this one since its end.
    first_failed_at_ms: firstFailedAtMs > (endedAtMs ?? 0) ? firstFailedAtMs : failedAtMs,
    ended_at_ms: undefined,
    first_notice: firstNotice,
    announced_day_ms: Math.max(day, announced_day_ms),
    announced_count: day > announced_day_ms ? 1 : announced_count + 1,
    undelivered_day_ms,
    version,
  };
};

/** Returns whether an alert that had failed has arrived, or another one may have arrived in its place. */
export const mayEndOutage = ({ status, last_failed_at_ms }: DeliveryRecord): boolean =>
  last_failed_at_ms !== undefined && ['delivered', 'superseded', 'summarized'].includes(status);

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
  /** When an alert last failed that has not arrived since, in ms since the epoch. */
  lastFailedAtMs: number;
  /** Whether no alert was delivered after that. */
  isLasting: boolean;
};

const timesOf = (records: readonly DeliveryRecord[], timeOf: (record: DeliveryRecord) => number | undefined): number =>
  Math.max(0, ...records.map((record) => timeOf(record) ?? 0));

/**
 * Returns the numbers of an outage.
 *
 * @param ended the alert that may end it, which may have failed before it began
 * @param history the newest part of the history of the notification
 */
export const outageNumbers = (
  { started_at_ms, first_failed_at_ms }: Pick<Outage, 'started_at_ms' | 'first_failed_at_ms'>,
  ended: DeliveryRecord,
  history: readonly DeliveryRecord[],
): OutageNumbers => {
  const others = history.filter(({ sk, notice }) => sk !== ended.sk && (notice === undefined || notice === 'summary'));
  const hasFailed = ({ last_failed_at_ms = 0 }: DeliveryRecord): boolean => last_failed_at_ms >= first_failed_at_ms;
  const failed = [ended, ...others.filter(hasFailed)];
  const stillFailed = failed.filter(({ status }) => ['pending', 'failed', 'bounced'].includes(status));
  const delivered = [ended, ...others].filter(({ status }) => status === 'delivered');
  // In place of the alert, another one may have arrived before the outage began, or been withheld.
  const lastFailedAtMs = Math.max(
    started_at_ms,
    timesOf([...stillFailed, ...(ended.status === 'delivered' ? [] : [ended])], (record) => record.last_failed_at_ms),
  );
  return {
    failed: failed.length,
    delivered: failed.filter(({ status }) => status === 'delivered').length,
    stillFailed: stillFailed.length,
    lastFailedAtMs,
    isLasting: lastFailedAtMs > timesOf(delivered, (record) => record.updated_at_ms),
  };
};
