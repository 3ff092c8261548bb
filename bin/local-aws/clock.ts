/** Cancels a timer; has no effect after the timer has fired. */
export type Cancel = () => void;

/** The clock of queues and functions: real time in the local stack; tests move it forward instead of waiting. */
export type Clock = {
  /** Milliseconds since the epoch. */
  now(): number;
  /** Runs `act` once after `ms` milliseconds. */
  after(ms: number, act: () => void): Cancel;
};

/** The maximum delay of a Node.js timer. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/** Real time. Its timers do not keep the process running. */
export const systemClock: Clock = {
  now: Date.now,
  after(ms, act) {
    const timer = setTimeout(act, ms).unref();
    return () => clearTimeout(timer);
  },
};

type Timer = {
  dueMs: number;
  act: () => void;
  cancelReal: Cancel;
};

/** Real time that tests can move forward. Execution environments read the same time through `offsetMs`. */
export class MovableClock implements Clock {
  /** The lead over real time in ms: one double, shared with the threads of the execution environments. */
  readonly offsetMs = new SharedArrayBuffer(Float64Array.BYTES_PER_ELEMENT);
  readonly #offset = new Float64Array(this.offsetMs);
  readonly #timers = new Set<Timer>();
  /** The lead over real time in ms after the current move. */
  #targetMs = 0;
  #isMoving = false;
  #moved: Promise<void> = Promise.resolve();

  now(): number {
    return Date.now() + (this.#offset[0] ?? 0);
  }

  after(ms: number, act: () => void): Cancel {
    const timer: Timer = { dueMs: this.now() + ms, act, cancelReal: () => {} };
    this.#timers.add(timer);
    this.#arm(timer);
    return () => this.#remove(timer);
  }

  /**
   * Moves time forward. Timers fire in the order of their due times, each with the clock at its due time, and all
   * pending microtasks run before the next timer fires: a batch reaches its function when its batching window ends,
   * before the visibility timeouts of its messages expire. No I/O runs until the move is complete.
   */
  advance(ms: number): Promise<void> {
    this.#targetMs += ms;
    if (!this.#isMoving) this.#moved = this.#move();
    return this.#moved;
  }

  async #move(): Promise<void> {
    this.#isMoving = true;
    for (let next = this.#nextDue(); next; next = this.#nextDue()) {
      this.#offset[0] = Math.max(this.#offset[0] ?? 0, next.dueMs - Date.now());
      this.#fire(next);
      await microtasksDone();
    }
    this.#offset[0] = this.#targetMs;
    this.#isMoving = false;
    for (const timer of this.#timers) this.#arm(timer);
  }

  /** Returns the first timer that is due at or before the target time. */
  #nextDue(): Timer | undefined {
    let first: Timer | undefined;
    for (const timer of this.#timers) {
      if (!first || timer.dueMs < first.dueMs) first = timer;
    }
    return first && first.dueMs <= Date.now() + this.#targetMs ? first : undefined;
  }

  #arm(timer: Timer): void {
    timer.cancelReal();
    const waitMs = Math.min(Math.max(timer.dueMs - this.now(), 0), MAX_TIMER_MS);
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

/** Resolves when no microtasks are pending, before any I/O. */
const microtasksDone = (): Promise<void> => new Promise((resolve) => process.nextTick(resolve));
