import type { Mutation } from '../engine/service-code.ts';
import type { Seed } from '../simulation.ts';

/** A defect that the simulation must find. Its name says what the service then does. */
export type NamedMutation = Mutation & {
  name: string;
  /** Further changes, if one alone would be harmless because two parts of the service prevent the defect. */
  also?: readonly Mutation[];
  /** The seed or situation that found it last, which is tried first. */
  seed?: Seed;
  /** The small case that finds it, if seeds do not: it is explored first. */
  smallCase?: string;
};
