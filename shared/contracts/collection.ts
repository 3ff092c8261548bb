export const DEFAULT_PAGE_LIMIT = 50;
export const MAX_PAGE_LIMIT = 1000;

/** The rule of a marker as it follows its name in an error message. */
export const MARKER_RULE = 'must be the next_marker of a response';

/** `marker` is the ID of the first record, or in a delivery history that of the record before it; null at the start. */
export type Page = { limit: number; marker: string | null };

export type Slice<Record> = { values: Record[]; next: string | null };

/** In UTF-16 code units, as in `alarm-event.ts`. */
export const MAX_EVENT_ID_LENGTH = 512;

/** The largest time with 13 digits, ms since the epoch. */
export const MAX_TIME_MS = 9_999_999_999_999;
/** The smallest time that is no time in seconds, ms since the epoch: September 2001. */
export const MIN_TIME_MS = 1_000_000_000_000;

export const TIME_RULE = `must be 0 or a whole number from ${MIN_TIME_MS} to ${MAX_TIME_MS}: milliseconds since the epoch`;

export const isTimeMs = (time: number): boolean =>
  time === 0 || (Number.isInteger(time) && time >= MIN_TIME_MS && time <= MAX_TIME_MS);
