import { isOver, type Shadow } from '../../shared/domain/shadow.ts';
import { UsageError } from './errors.ts';
import { isoTime } from './print.ts';

/** The commands that change shadow mode. */
export const shadowStates = ['on', 'off'] as const;

/** A command that changes shadow mode. */
export type ShadowState = (typeof shadowStates)[number];

/**
 * How far in the future a given start must be, in ms: senders cache accounts for a minute, and the operator's clock may
 * be slow.
 */
const MIN_START_DELAY_MS = 120_000;

/** How far in the future the end is, in ms: senders must read it before it is reached. */
const END_DELAY_MS = 5_000;

const assertDelay = (atMs: number, nowMs: number, minDelayMs: number): void => {
  if (atMs - nowMs < minDelayMs) {
    throw new UsageError(`--at must be at least ${minDelayMs / 1_000} seconds from now, ${isoTime(nowMs)}.`);
  }
};

const started = (current: Shadow | undefined, atMs: number | undefined, nowMs: number): Shadow => {
  if (current && current.from_ms <= nowMs) {
    if (atMs !== undefined) throw new UsageError(`The tenant is in shadow mode since ${isoTime(current.from_ms)}.`);
    return { from_ms: current.from_ms };
  }
  if (atMs !== undefined) assertDelay(atMs, nowMs, MIN_START_DELAY_MS);
  return { from_ms: atMs ?? nowMs };
};

const ended = (current: Shadow | undefined, atMs: number | undefined, nowMs: number): Shadow | undefined => {
  if (!current || current.from_ms > nowMs) return undefined;
  if (atMs !== undefined) assertDelay(atMs, nowMs, END_DELAY_MS);
  return { from_ms: current.from_ms, until_ms: atMs ?? nowMs + END_DELAY_MS };
};

/**
 * Returns the period of shadow mode after a command. `off` removes a period that has not started. A running period keeps
 * its start.
 *
 * @param current the stored period, unless it is over
 * @param atMs when the command takes effect, ms since the epoch; by default as soon as possible
 * @throws UsageError if that is too soon, or the mode is on already
 */
export const changedShadow = (
  state: ShadowState,
  current: Shadow | undefined,
  atMs: number | undefined,
  nowMs: number,
): Shadow | undefined => (state === 'on' ? started : ended)(current, atMs, nowMs);

/** Returns the period as JSON, with times in ISO 8601, or null. */
export const shadowJson = (shadow: Shadow | undefined) =>
  shadow
    ? {
        from: isoTime(shadow.from_ms),
        until: shadow.until_ms === undefined ? null : isoTime(shadow.until_ms),
      }
    : null;

/** Returns what the service does with alerts. */
export const shadowText = (shadow: Shadow | undefined, nowMs: number): string => {
  const { from, until } = shadowJson(shadow) ?? {};
  if (!shadow) return 'off: alerts are sent';
  if (isOver(shadow, nowMs)) return `off: alerts of events that SQS accepts from ${until} on are sent`;
  const state = shadow.from_ms <= nowMs ? 'on' : 'planned';
  const end = until === null ? 'on' : `until ${until}`;
  return `${state}: alerts of events that SQS accepts from ${from} ${end} are recorded and not sent`;
};
