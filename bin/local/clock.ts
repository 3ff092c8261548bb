/** Undoes what `Clock.after` planned; harmless when that has already happened. */
export type Cancel = () => void;

/** The time a queue lives by: real in the local stack, moved by hand in tests, so that no test sleeps. */
export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number;
  /** Runs `act` once, `ms` milliseconds from now. */
  after(ms: number, act: () => void): Cancel;
}

/** Real time. Its timers never keep the process alive: the open ports do. */
export const systemClock: Clock = {
  now: Date.now,
  after(ms, act) {
    const timer = setTimeout(act, ms).unref();
    return () => clearTimeout(timer);
  },
};

/**
 * Real time that can be moved forward, for tests of what takes hours: what becomes due by it happens at once. Sandboxes live
 * by the same time through `shift`.
 */
export class ShiftableClock implements Clock {
  /** Milliseconds that this time is ahead, as one double that threads share. */
  readonly shift = new SharedArrayBuffer(Float64Array.BYTES_PER_ELEMENT);
  readonly #ahead = new Float64Array(this.shift);
  readonly #waiting = new Set<() => void>();

  now(): number {
    return Date.now() + (this.#ahead[0] ?? 0);
  }

  after(ms: number, act: () => void): Cancel {
    const due = this.now() + ms;
    const arm = () => systemClock.after(Math.min(Math.max(due - this.now(), 0), longestTimer), look);
    const cancel = () => {
      cancelTimer();
      this.#waiting.delete(rearm);
    };
    const rearm = () => {
      cancelTimer();
      cancelTimer = arm();
    };
    const look = () => {
      if (due > this.now()) return rearm();
      this.#waiting.delete(rearm);
      act();
    };
    let cancelTimer = arm();
    this.#waiting.add(rearm);
    return cancel;
  }

  /** Moves time forward. */
  advance(ms: number): void {
    this.#ahead[0] = (this.#ahead[0] ?? 0) + ms;
    for (const rearm of [...this.#waiting]) rearm();
  }
}

/** The longest wait that a timer of Node.js can do, in ms. */
const longestTimer = 2 ** 31 - 1;
