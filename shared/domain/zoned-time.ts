import { DEFAULT_TIME_ZONE } from '../contracts/time-zone.ts';

/** A time as people in a time zone read it: `2026-01-01`, `03:24:05`, `UTC+01:00`. */
export type ZonedTime = { day: string; time: string; zone: string };

const MINUTE_MS = 60_000;

/** How Intl names an offset from UTC. Only before 1972, some have seconds. */
const OFFSET = /GMT([+-])(\d\d):(\d\d)$/;

/** Returns the offsets of a time zone from UTC, such as `GMT+01:00`, or none if this version of Node.js does not know it. */
const offsetsOf = (timeZone: string): ((timeMs: number) => string) => {
  // The first formatter of a function takes tens of ms.
  if (timeZone === DEFAULT_TIME_ZONE) return () => '';
  try {
    return new Intl.DateTimeFormat('en-US', { timeZone, timeZoneName: 'longOffset' }).format;
  } catch {
    return () => '';
  }
};

/** Returns a function of ms since the epoch that tells the time in a time zone. An unknown one counts as UTC. */
export const timesIn = (timeZone: string): ((timeMs: number) => ZonedTime) => {
  const offsetAt = offsetsOf(timeZone);
  return (timeMs) => {
    const [, sign, hours = '00', minutes = '00'] = OFFSET.exec(offsetAt(timeMs)) ?? [];
    const offsetMs = (Number(hours) * 60 + Number(minutes)) * MINUTE_MS;
    const [day = '', time = ''] = new Date(timeMs + (sign === '-' ? -offsetMs : offsetMs)).toISOString().split('T');
    return { day, time: time.slice(0, 8), zone: offsetMs === 0 ? 'UTC' : `UTC${sign}${hours}:${minutes}` };
  };
};

/** Returns a time such as `2026-01-01 03:24:05 UTC+01:00`. */
export const secondText = ({ day, time, zone }: ZonedTime): string => `${day} ${time} ${zone}`;

/** Returns a time such as `2026-01-01 03:24 UTC+01:00`. */
export const minuteText = ({ day, time, zone }: ZonedTime): string => `${day} ${time.slice(0, 5)} ${zone}`;
