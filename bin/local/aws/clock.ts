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

interface Timer {
  dueMs: number;
  act: () => void;
  cancelReal: Cancel;
}

/** Real time that can be moved forward, for tests of what takes hours. Sandboxes live by the same time through `shift`. */
export class ShiftableClock implements Clock {
  /** Milliseconds that this time is ahead, as one double that threads share. */
  readonly shift = new SharedArrayBuffer(Float64Array.BYTES_PER_ELEMENT);
  readonly #ahead = new Float64Array(this.shift);
  readonly #timers = new Set<Timer>();
  /** How far ahead this time is when it has been moved, in milliseconds. */
  #target = 0;
  #isMoving = false;
  #moved: Promise<void> = Promise.resolve();

  now(): number {
    return Date.now() + (this.#ahead[0] ?? 0);
  }

  after(ms: number, act: () => void): Cancel {
    const timer: Timer = { dueMs: this.now() + ms, act, cancelReal: () => {} };
    this.#timers.add(timer);
    this.#arm(timer);
    return () => this.#remove(timer);
  }

  /**
   * Moves time forward. What becomes due happens in the order of its due times, while the clock shows each of them, and
   * all pending microtasks run before the next. So a batch that is being gathered goes to its function when its window
   * ends, before the visibility timeouts of its messages do. No I/O happens until time has been moved.
   */
  advance(ms: number): Promise<void> {
    this.#target += ms;
    if (!this.#isMoving) this.#moved = this.#move();
    return this.#moved;
  }

  async #move(): Promise<void> {
    this.#isMoving = true;
    for (let next = this.#nextDue(); next; next = this.#nextDue()) {
      this.#ahead[0] = Math.max(this.#ahead[0] ?? 0, next.dueMs - Date.now());
      this.#fire(next);
      await microtasksDone();
    }
    this.#ahead[0] = this.#target;
    this.#isMoving = false;
    for (const timer of this.#timers) this.#arm(timer);
  }

  /** The timer that is due first, if the time to move to has come for one. */
  #nextDue(): Timer | undefined {
    let first: Timer | undefined;
    for (const timer of this.#timers) {
      if (!first || timer.dueMs < first.dueMs) first = timer;
    }
    return first && first.dueMs <= Date.now() + this.#target ? first : undefined;
  }

  #arm(timer: Timer): void {
    timer.cancelReal();
    const waitMs = Math.min(Math.max(timer.dueMs - this.now(), 0), longestTimer);
    timer.cancelReal = systemClock.after(waitMs, () => {
      if (timer.dueMs <= this.now()) this.#fire(timer);
      else this.#arm(timer);
    });
  }

  #fire(timer: Timer): void {
    this.#remove(timer);
    timer.act();
  }

  #remove(timer: Timer): void {
    timer.cancelReal();
    this.#timers.delete(timer);
  }
}

/** The longest wait that a timer of Node.js can do, in ms. */
const longestTimer = 2 ** 31 - 1;

/** Resolves when no microtask is left, before any I/O: Node.js runs a tick only then. */
function microtasksDone(): Promise<void> {
  return new Promise((resolve) => process.nextTick(resolve));
}
