import { expect, it } from 'vitest';
import { nextDay, secondsToNextDay } from '../../shared/domain/time.ts';

it.each([
  [Date.UTC(2026, 0, 1), 86_400, '2026-01-02T00:00:00.000Z'],
  [Date.UTC(2026, 0, 1, 0, 0, 0, 999), 86_400, '2026-01-02T00:00:00.000Z'],
  [Date.UTC(2026, 11, 31, 23, 59, 59, 999), 1, '2027-01-01T00:00:00.000Z'],
])('the next UTC day after %i starts in %i seconds, at %s', (nowMs, seconds, start) => {
  expect([secondsToNextDay(nowMs), nextDay(nowMs)]).toEqual([seconds, start]);
});
