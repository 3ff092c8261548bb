/**
 * Returns the names of the attributes that differ. The order of keys within an attribute counts.
 *
 * @param names the attributes to compare. Default: all
 */
export const changedAttributes = (
  before: Readonly<Record<string, unknown>>,
  after: Readonly<Record<string, unknown>>,
  names = Object.keys({ ...before, ...after }),
): string[] => names.filter((name) => JSON.stringify(before[name]) !== JSON.stringify(after[name]));
