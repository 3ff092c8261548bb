/** Returns a percentile by nearest rank, for a share from 0 to 1. NaN without values. */
export const percentile = (values: readonly number[], share: number): number =>
  values.toSorted((left, right) => left - right)[Math.max(Math.ceil(values.length * share) - 1, 0)] ?? Number.NaN;
