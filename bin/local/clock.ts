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
