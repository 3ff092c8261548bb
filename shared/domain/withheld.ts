/** Alerts are recorded and not sent: shadow mode, or a mute. The time at which SQS accepted the event decides. */
export type WithheldPeriod = {
  from_ms: number;
  /** Exclusive. */
  until_ms: number;
};

export const covers = ({ from_ms, until_ms }: WithheldPeriod, timeMs: number): boolean =>
  from_ms <= timeMs && timeMs < until_ms;

export const isOver = ({ until_ms }: WithheldPeriod, nowMs: number): boolean => until_ms <= nowMs;

/** The last ones are kept. */
const MAX_MUTES = 10;

/** @param mutes the last one is last */
export const mutedUntil = (mutes: readonly WithheldPeriod[] | undefined, nowMs: number): number | undefined => {
  const last = mutes?.at(-1);
  return last && !isOver(last, nowMs) ? last.until_ms : undefined;
};

/** A mute that lasts keeps its start. One that is over stays: events of that time may still be queued. */
export const mutesAfter = (
  mutes: readonly WithheldPeriod[],
  untilMs: number | undefined,
  nowMs: number,
): readonly WithheldPeriod[] => {
  const last = mutes.at(-1);
  const until_ms = Math.max(untilMs ?? 0, nowMs);
  if (last && !isOver(last, nowMs)) return [...mutes.slice(0, -1), { ...last, until_ms }];
  return until_ms > nowMs ? [...mutes, { from_ms: nowMs, until_ms }].slice(-MAX_MUTES) : mutes;
};
