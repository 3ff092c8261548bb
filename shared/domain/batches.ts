/** Cuts a list into lists of at most `size`, as AWS's batch operations take them. */
export const batches = <Item>(items: readonly Item[], size: number): Item[][] =>
  Array.from({ length: Math.ceil(items.length / size) }, (_, index) => items.slice(index * size, (index + 1) * size));
