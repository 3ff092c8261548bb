/** The run time of an invocation, in ms since the epoch. */
export type RunningTime = {
  startMs: number;
  endMs: number;
};

/** Returns the highest number of invocations that ran at the same time. */
export const peakConcurrency = (runs: readonly RunningTime[]): number => {
  const changes = runs
    .flatMap(({ startMs, endMs }) => [
      { atMs: startMs, change: 1 },
      { atMs: endMs, change: -1 },
    ])
    // If one invocation ends when another starts, they do not overlap.
    .toSorted((a, b) => a.atMs - b.atMs || a.change - b.change);
  let running = 0;
  let max = 0;
  for (const { change } of changes) {
    running += change;
    max = Math.max(max, running);
  }
  return max;
};
