import { describe, expect, it } from 'vitest';
import { MovableClock } from '../clock.ts';

describe('a movable clock', () => {
  it('fires timers in the order of their due times, each at its due time', async () => {
    const clock = new MovableClock();
    const start = clock.now();
    const fired: [name: string, minutes: number][] = [];
    const record = (name: string) => () => void fired.push([name, Math.floor((clock.now() - start) / 60_000)]);
    clock.after(3 * 60_000, record('third'));
    clock.after(60_000, record('first'));
    clock.after(60_000, record('cancelled'))();
    clock.after(11 * 60_000, record('too early'));
    clock.after(2 * 60_000, () => {
      record('second')();
      clock.after(0.5 * 60_000, record('set by the second'));
    });
    await clock.advance(10 * 60_000);
    expect(fired).toEqual([
      ['first', 1],
      ['second', 2],
      ['set by the second', 2],
      ['third', 3],
    ]);
    expect(Math.floor((clock.now() - start) / 60_000)).toBe(10);
  });

  it('runs all pending microtasks, but no I/O, between two timers', async () => {
    const clock = new MovableClock();
    const fired: string[] = [];
    const chain = async () => {
      for (let step = 0; step < 50; step += 1) await undefined;
      fired.push('microtasks');
    };
    clock.after(1000, () => {
      void chain();
      setImmediate(() => fired.push('I/O'));
    });
    clock.after(2000, () => fired.push('second'));
    await clock.advance(5000);
    expect(fired).toEqual(['microtasks', 'second']);
  });
});
