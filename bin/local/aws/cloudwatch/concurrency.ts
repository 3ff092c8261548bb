/** When an invocation ran, in milliseconds since the epoch. */
export type RunningTime = {
  startMs: number;
  endMs: number;
};

/** How many invocations ran at one moment, at most. */
export const maxConcurrency = (runs: readonly RunningTime[]): number => {
  const changes = runs
    .flatMap(({ startMs, endMs }) => [
      { atMs: startMs, by: 1 },
      { atMs: endMs, by: -1 },
    ])
    // One that ends makes room for one that starts at the same moment.
    .toSorted((one, other) => one.atMs - other.atMs || one.by - other.by);
  let running = 0;
  let most = 0;
  for (const { by } of changes) {
    running += by;
    most = Math.max(most, running);
  }
  return most;
};
