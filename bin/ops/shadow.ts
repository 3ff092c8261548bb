import { DAY_MS } from '../../shared/domain/time.ts';
import { isOver, type WithheldPeriod } from '../../shared/domain/withheld.ts';
import { UsageError } from './errors.ts';
import { isoTime } from './print.ts';

export const shadowStates = ['on', 'off'] as const;

export type ShadowState = (typeof shadowStates)[number];

/** Senders cache accounts for a minute, and the operator's clock may be slow. */
const MIN_START_DELAY_MS = 120_000;

/** How far in the future the end is, in ms: senders must read it before it is reached. */
const END_DELAY_MS = 5_000;

/** The longest time that one command can turn shadow mode on: one that is forgotten would be an outage of the tenant. */
const MAX_LENGTH_MS = 30 * DAY_MS;

/** When a command takes effect, ms since the epoch, by default as soon as possible, and how long `on` lasts, ms. */
type ShadowTimes = { atMs?: number | undefined; forMs?: number | undefined };

const assertDelay = (atMs: number, nowMs: number, minDelayMs: number): void => {
  if (atMs - nowMs < minDelayMs) {
    throw new UsageError(
      `--at must be at least ${minDelayMs / 1_000} seconds after now, ${isoTime(nowMs)}: pass a later time.`,
    );
  }
};

const started = (current: WithheldPeriod | undefined, { atMs, forMs }: ShadowTimes, nowMs: number): WithheldPeriod => {
  if (forMs === undefined || forMs > MAX_LENGTH_MS)
    throw new UsageError('`on` needs --for, at most 30d: pass how long the alerts are not sent, such as --for 7d.');
  const from = (from_ms: number): WithheldPeriod => ({ from_ms, until_ms: Math.max(from_ms, nowMs) + forMs });
  if (current && current.from_ms <= nowMs) {
    if (atMs !== undefined)
      throw new UsageError(
        `The tenant has been in shadow mode since ${isoTime(current.from_ms)}: omit --at to keep it on, or end it first with \`off\`.`,
      );
    return from(current.from_ms);
  }
  if (atMs !== undefined) assertDelay(atMs, nowMs, MIN_START_DELAY_MS);
  return from(atMs ?? nowMs);
};

const ended = (
  current: WithheldPeriod | undefined,
  { atMs, forMs }: ShadowTimes,
  nowMs: number,
): WithheldPeriod | undefined => {
  if (forMs !== undefined) throw new UsageError('--for is only for `on`: pass --at to end shadow mode later.');
  if (!current || current.from_ms > nowMs) return undefined;
  if (atMs !== undefined) assertDelay(atMs, nowMs, END_DELAY_MS);
  return { from_ms: current.from_ms, until_ms: atMs ?? nowMs + END_DELAY_MS };
};

/**
 * Returns the period of shadow mode after a command, from the stored one unless it is over. `off` removes a period
 * that has not started. @throws UsageError if it would take effect too soon, or the mode is on already
 */
export const changedShadow = (
  state: ShadowState,
  current: WithheldPeriod | undefined,
  times: ShadowTimes,
  nowMs: number,
): WithheldPeriod | undefined => (state === 'on' ? started : ended)(current, times, nowMs);

/** Returns the period as the API does, with times in ms since the epoch, or null. */
export const shadowRecord = (shadow: WithheldPeriod | undefined) =>
  shadow ? { from: shadow.from_ms, until: shadow.until_ms } : null;

export const shadowText = (shadow: WithheldPeriod | undefined, nowMs: number): string => {
  if (!shadow) return 'off: alerts are sent';
  const until = isoTime(shadow.until_ms);
  if (isOver(shadow, nowMs)) return `off: alerts of events that SQS accepts from ${until} on are sent`;
  const state = shadow.from_ms <= nowMs ? 'on' : 'planned';
  return `${state}: alerts of events that SQS accepts from ${isoTime(shadow.from_ms)} until ${until} are recorded and not sent`;
};
