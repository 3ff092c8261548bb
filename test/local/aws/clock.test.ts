import { describe, expect, it } from 'vitest';
import { MovableClock } from '../../../bin/local/aws/clock.ts';

const day = 24 * 3600 * 1000;

describe('moving time forward', () => {
  it('makes what becomes due happen at once, but not what was cancelled or is due later', async () => {
    const clock = new MovableClock();
    const before = clock.now();
    const happened: string[] = [];
    const due = new Promise<void>((resolve) => {
      clock.after(30 * day, resolve);
    });
    clock.after(90 * day, () => happened.push('too early'));
    clock.after(day, () => happened.push('cancelled'))();
    const moved = clock.advance(30 * day);
    await due;
    await moved;
    expect(clock.now() - before).toBeGreaterThanOrEqual(30 * day);
    expect(happened).toEqual([]);
  });

  it('makes it happen in the order of the due times, while the clock shows each of them', async () => {
    const clock = new MovableClock();
    const start = clock.now();
    const happened: [name: string, minutes: number][] = [];
    const note = (name: string) => () => void happened.push([name, Math.floor((clock.now() - start) / 60_000)]);
    clock.after(3 * 60_000, note('third'));
    clock.after(60_000, note('first'));
    clock.after(2 * 60_000, () => {
      note('second')();
      clock.after(0.5 * 60_000, note('planned by the second'));
    });
    await clock.advance(10 * 60_000);
    expect(happened).toEqual([
      ['first', 1],
      ['second', 2],
      ['planned by the second', 2],
      ['third', 3],
    ]);
    expect(Math.floor((clock.now() - start) / 60_000)).toBe(10);
  });

  it('runs all pending microtasks between two due times, and no I/O', async () => {
    const clock = new MovableClock();
    const happened: string[] = [];
    const chain = async () => {
      for (let step = 0; step < 50; step += 1) await undefined;
      happened.push('microtasks');
    };
    clock.after(1000, () => {
      void chain();
      setImmediate(() => happened.push('I/O'));
    });
    clock.after(2000, () => happened.push('second'));
    await clock.advance(5000);
    expect(happened).toEqual(['microtasks', 'second']);
  });

  it('adds up where it is asked for while time is being moved', async () => {
    const clock = new MovableClock();
    const before = clock.now();
    clock.after(1000, () => void clock.advance(5000));
    await clock.advance(2000);
    expect(clock.now() - before).toBeGreaterThanOrEqual(7000);
    await clock.advance(1000);
    expect(clock.now() - before).toBeGreaterThanOrEqual(8000);
  });
});
