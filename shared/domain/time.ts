/** Ms since the epoch. */
export type Clock = () => number;

export const MINUTE_MS = 60_000;
export const HOUR_MS = 60 * MINUTE_MS;
export const DAY_SECONDS = 86_400;
export const DAY_MS = DAY_SECONDS * 1000;

/** The start of the period that contains a time, such as its UTC hour or day. */
export const startOf = (lengthMs: number, timeMs: number): number => timeMs - (timeMs % lengthMs);

export const dayEndMs = (timeMs: number): number => startOf(DAY_MS, timeMs) + DAY_MS;

/** Such as `2026-01-01`. */
export const utcDay = (timeMs: number): string => new Date(timeMs).toISOString().slice(0, 10);

/** Such as `2026-01-01 02:24:05 UTC`. */
export const utcTime = (timeMs: number): string =>
  `${new Date(timeMs).toISOString().slice(0, 19).replace('T', ' ')} UTC`;

/** From 1 to 86,400. */
export const secondsToNextDay = (nowMs: number): number => DAY_SECONDS - (Math.floor(nowMs / 1000) % DAY_SECONDS);

/** Such as `2026-01-02T00:00:00.000Z`. */
export const nextDay = (nowMs: number): string => new Date(dayEndMs(nowMs)).toISOString();
