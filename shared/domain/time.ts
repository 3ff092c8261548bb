/** Returns the current time in ms since the epoch. */
export type Clock = () => number;

/** A minute in ms. */
export const MINUTE_MS = 60_000;
/** An hour in ms. */
export const HOUR_MS = 60 * MINUTE_MS;
/** A day in seconds. */
export const DAY_SECONDS = 86_400;
/** A day in ms. */
export const DAY_MS = DAY_SECONDS * 1000;

/** Returns the start of the period that contains a time, such as its UTC hour or day, in ms since the epoch. */
export const startOf = (lengthMs: number, timeMs: number): number => timeMs - (timeMs % lengthMs);

/** Returns the end of the UTC day that contains a time, in ms since the epoch. */
export const dayEndMs = (timeMs: number): number => startOf(DAY_MS, timeMs) + DAY_MS;

/** Returns the UTC day of a time, such as `2026-01-01`. @param timeMs ms since the epoch */
export const utcDay = (timeMs: number): string => new Date(timeMs).toISOString().slice(0, 10);

/** Returns a time for people, such as `2026-01-01 02:24:05 UTC`. @param timeMs ms since the epoch */
export const utcTime = (timeMs: number): string =>
  `${new Date(timeMs).toISOString().slice(0, 19).replace('T', ' ')} UTC`;

/** Returns the whole seconds until the next UTC day, from 1 to 86,400. @param nowMs ms since the epoch */
export const secondsToNextDay = (nowMs: number): number => DAY_SECONDS - (Math.floor(nowMs / 1000) % DAY_SECONDS);

/** Returns the start of the next UTC day, such as `2026-01-02T00:00:00.000Z`. @param nowMs ms since the epoch */
export const nextDay = (nowMs: number): string => new Date(dayEndMs(nowMs)).toISOString();
