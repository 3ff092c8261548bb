import type { Seed } from './simulation.ts';
import { situations } from './world/situations.ts';

/** Seeds that failed because of a defect of the service that no situation shows, and the situations. They always run. */
export const REGRESSION_SEEDS: readonly Seed[] = [...situations.keys()];

/** Returns the seeds from `from`. */
export const seedsFrom = (from: number, count: number): number[] =>
  Array.from({ length: count }, (_, index) => from + index);
