/**
 * The period of a tenant's shadow mode: alerts of events that SQS accepts in it are recorded and not sent. Times are ms
 * since the epoch.
 */
export type Shadow = {
  from_ms: number;
  /** Exclusive. */
  until_ms: number;
};

/** Returns whether a time, in ms since the epoch, is within the period. */
export const covers = ({ from_ms, until_ms }: Shadow, timeMs: number): boolean =>
  from_ms <= timeMs && timeMs < until_ms;

/** Returns whether the period is over. */
export const isOver = ({ until_ms }: Shadow, nowMs: number): boolean => until_ms <= nowMs;
