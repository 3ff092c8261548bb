/** Returns the names of the attributes that an update changes. The order of keys within an attribute counts. */
export const changedAttributes = (
  before: Readonly<Record<string, unknown>>,
  after: Readonly<Record<string, unknown>>,
): string[] => Object.keys(after).filter((name) => JSON.stringify(before[name]) !== JSON.stringify(after[name]));
