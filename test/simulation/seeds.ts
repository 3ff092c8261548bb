/** Seeds that failed because of a defect of the service. They always run. */
export const REGRESSION_SEEDS: readonly number[] = [5, 9, 25, 59, 531];

/** Returns the seeds from `from`. */
export const seedsFrom = (from: number, count: number): number[] =>
  Array.from({ length: count }, (_, index) => from + index);
