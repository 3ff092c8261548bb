import { type PauseReason, pauseReasons } from '../contracts/email-pause.ts';
import { DAY_MS } from './day.ts';

/** A pause of a tenant's emails. */
export type EmailPause = {
  /** Ms since the epoch. */
  since_ms: number;
  reason: PauseReason;
  /** How many bounces or complaints there were. */
  count: number;
  /** Of how many emails of 24 hours. */
  emails: number;
};

/**
 * The least number of reports, and the share of the emails that they must exceed. SES reviews accounts from 5% bounces
 * and 0.1% complaints: https://docs.aws.amazon.com/ses/latest/dg/reputationdashboardmessages.html
 */
const thresholds = {
  bounces: { min: 5, share: 0.05 },
  complaints: { min: 3, share: 0.001 },
} as const satisfies Record<PauseReason, { min: number; share: number }>;

/** What SES reported of a tenant's emails of 24 hours, and how many these were. */
export type EmailCounts = Readonly<Record<PauseReason | 'emails', number>>;

/** Returns why emails with these counts must be paused, or undefined. */
export const pauseReasonOf = (counts: EmailCounts): PauseReason | undefined =>
  pauseReasons.find((reason) => {
    const { min, share } = thresholds[reason];
    return counts[reason] >= min && counts[reason] > share * counts.emails;
  });

/** An hour in ms. */
const HOUR_MS = 3_600_000;

/** Returns the hour of the UTC day of a time, such as `07`. @param timeMs ms since the epoch */
export const utcHour = (timeMs: number): string => new Date(timeMs).toISOString().slice(11, 13);

/** Returns the starts of the 24 hours up to that of a time, in ms since the epoch. */
export const lastHours = (nowMs: number): number[] => {
  const startMs = nowMs - (nowMs % HOUR_MS);
  return Array.from({ length: DAY_MS / HOUR_MS }, (_, index) => startMs - index * HOUR_MS);
};
