import type { Outage } from '../contracts/notice.ts';
import type { DeliveryRecord } from './delivery-record.ts';
import { DAY_MS, startOf } from './time.ts';

/** The maximum number of outages of a notification that are announced on a UTC day. */
const MAX_ANNOUNCED_PER_DAY = 3;

/** A delivery that failed, or fails for minutes. Times are ms since the epoch. */
export type OutageFailure = {
  /** The sort key of its record. */
  sk: string;
  /** When its last attempt failed: the day of its notice. */
  failedAtMs: number;
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
 * The outage after a failure, the same one if nothing changes. A new one begins with the first failure, and with one
 * after a delivery since its start (`wasDelivered`), unless no notice can announce it.
 */
export const outageAfterFailure = (
  outage: Outage | undefined,
  failure: OutageFailure,
  wasDelivered: boolean,
): Outage | undefined => {
  const firstNotice = firstNoticeOf(outage, failure);
  if (firstNotice === undefined) return outage;
  const { sk, failedAtMs } = failure;
  const day = startOf(DAY_MS, failedAtMs);
  const { announced_day_ms = 0, announced_count = 0, version = 0 } = outage ?? {};
  const undelivered_day_ms = firstNotice === 'undelivered' ? day : (outage?.undelivered_day_ms ?? 0);
  const isNew = !outage || wasDelivered || failedAtMs > (outage.ended_at_ms ?? Number.POSITIVE_INFINITY);
  if (!isNew) return firstNotice === 'undelivered' ? { ...outage, undelivered_day_ms } : outage;
  return {
    started_at_ms: failedAtMs,
    record_sk: sk,
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
  /** When the first of them failed in the outage. Times are ms since the epoch. */
  firstFailedAtMs: number;
  /** When an alert last failed that has not arrived since. */
  lastFailedAtMs: number;
  /** Whether no alert was delivered after that. */
  isLasting: boolean;
};

/**
 * The numbers of an outage: of the alerts that failed since the last arrival before the failure that was reported first
 * (`startedAtMs`), since failures may be reported in any order, and of the one that may end it (`ended`).
 */
export const outageNumbers = (
  startedAtMs: number,
  ended: DeliveryRecord,
  history: readonly DeliveryRecord[],
): OutageNumbers => {
  const others = history.filter(({ sk, notice }) => sk !== ended.sk && (notice === undefined || notice === 'summary'));
  const arrivedAtMs = [ended, ...others]
    .filter(({ status }) => status === 'delivered')
    .map(({ updated_at_ms }) => updated_at_ms);
  const sinceMs = Math.max(0, ...arrivedAtMs.filter((timeMs) => timeMs < startedAtMs));
  const failed = [ended, ...others.filter(({ last_failed_at_ms = 0 }) => last_failed_at_ms > sinceMs)];
  const stillFailed = failed.filter(({ status }) => ['pending', 'failed', 'bounced'].includes(status));
  // In place of the alert, another one may have arrived before the outage began, or been withheld.
  const notArrived = ended.status === 'delivered' ? stillFailed : [...stillFailed, ended];
  const lastFailedAtMs = Math.max(startedAtMs, ...notArrived.map(({ last_failed_at_ms = 0 }) => last_failed_at_ms));
  const failedAtMs = failed.flatMap(({ first_attempt_at_ms, last_failed_at_ms = 0 }) => [
    first_attempt_at_ms,
    last_failed_at_ms,
  ]);
  return {
    failed: failed.length,
    delivered: failed.filter(({ status }) => status === 'delivered').length,
    stillFailed: stillFailed.length,
    firstFailedAtMs: Math.min(startedAtMs, ...failedAtMs.filter((timeMs) => timeMs > sinceMs)),
    lastFailedAtMs,
    isLasting: lastFailedAtMs > Math.max(0, ...arrivedAtMs),
  };
};
