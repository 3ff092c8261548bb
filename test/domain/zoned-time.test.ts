import { describe, expect, it } from 'vitest';
import { minuteText, secondText, timesIn } from '../../shared/domain/zoned-time.ts';

const WINTER_MS = Date.UTC(2026, 0, 31, 23, 24, 5);

describe('a time for people', () => {
  it.each([
    ['UTC', '2026-01-31 23:24:05 UTC'],
    ['Europe/Berlin', '2026-02-01 00:24:05 UTC+01:00'],
    ['America/New_York', '2026-01-31 18:24:05 UTC-05:00'],
    ['Asia/Kathmandu', '2026-02-01 05:09:05 UTC+05:45'],
    ['Europe/London', '2026-01-31 23:24:05 UTC'],
    ['Etc/GMT+5', '2026-01-31 18:24:05 UTC-05:00'],
  ])('has the date, the time and the offset of %s', (timeZone, text) => {
    expect(secondText(timesIn(timeZone)(WINTER_MS))).toBe(text);
  });

  it('distinguishes the hours before and after the clock is set back', () => {
    const timeOf = timesIn('Europe/Berlin');
    const times = [0, 1].map((hour) => minuteText(timeOf(Date.UTC(2026, 9, 25, hour, 30))));
    expect(times).toEqual(['2026-10-25 02:30 UTC+02:00', '2026-10-25 02:30 UTC+01:00']);
  });

  it('is in UTC if this version of Node.js no longer knows the time zone', () => {
    expect(secondText(timesIn('Europe/Atlantis')(WINTER_MS))).toBe('2026-01-31 23:24:05 UTC');
  });
});
