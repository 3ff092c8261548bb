import { expect, it } from 'vitest';
import { ShiftableClock } from '../../bin/local/clock.ts';

const day = 24 * 3600 * 1000;

it('what becomes due by moving time forward happens at once, and what was cancelled does not', async () => {
  const clock = new ShiftableClock();
  const before = clock.now();
  const happened: string[] = [];
  const due = new Promise<void>((resolve) => {
    clock.after(30 * day, resolve);
  });
  clock.after(90 * day, () => happened.push('too early'));
  clock.after(day, () => happened.push('cancelled'))();
  clock.advance(30 * day);
  await due;
  expect(clock.now() - before).toBeGreaterThanOrEqual(30 * day);
  expect(happened).toEqual([]);
});
