import { setTimeout as sleepMs } from 'node:timers/promises';

/** How a command waits. Tests replace it. */
export type Timing = { now: () => number; sleep: (ms: number) => Promise<unknown> };

/** Real time. */
export const realTime: Timing = { now: Date.now, sleep: (ms) => sleepMs(ms) };

/** The default rate of commands that scan: 4 MB/s. A partition of a table serves 3,000 read units per second. */
export const DEFAULT_UNITS_PER_SECOND = 500;

/** Limits the capacity units that a command consumes, so that it does not throttle the service. */
export type Pace = {
  /** Waits until the units consumed so far are within the rate. */
  spend: (units: number) => Promise<void>;
  /** Capacity units consumed so far. */
  readonly units: number;
};

/** Creates a pace with a rate in read and write capacity units per second. */
export const createPace = (unitsPerSecond: number, { now, sleep }: Timing): Pace => {
  let units = 0;
  let paidUntilMs = now();
  return {
    async spend(consumed) {
      units += consumed;
      paidUntilMs = Math.max(paidUntilMs, now()) + (consumed / unitsPerSecond) * 1_000;
      const waitMs = paidUntilMs - now();
      // Waiting for less than this costs more than it saves.
      if (waitMs > 50) await sleep(waitMs);
    },
    get units() {
      return units;
    },
  };
};
