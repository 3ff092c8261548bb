/** Returns a number from 0 to 1, excluding 1. */
export type Random = () => number;

/** Creates a Mulberry32 generator. */
export const seededRandom = (seed: number): Random => {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
};

/** Returns a 32-bit FNV-1a hash of a text. */
const hashOf = (text: string): number => {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index++) hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  return hash >>> 0;
};

/**
 * Returns the random numbers of one actor of a seed. Each actor has its own, so that one that is added or removed changes
 * nothing for the others.
 */
export const randomOf = (seed: number, actor: string): Random => seededRandom(hashOf(`${seed} ${actor}`));

export const pick = <Item>(items: readonly Item[], random: Random): Item => {
  const item = items[Math.floor(random() * items.length)];
  if (item === undefined) throw new Error('The list is empty.');
  return item;
};

/** Returns an integer from `min` to `max`, both included. */
export const integer = (min: number, max: number, random: Random): number =>
  min + Math.floor(random() * (max - min + 1));
