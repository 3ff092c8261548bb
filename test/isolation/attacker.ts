import type { Arena } from './arena.ts';

/** A tenant, or several, that could delay the others. */
export type Attacker = {
  name: string;
  /** What it does, as the end of "beside a tenant …". */
  description: string;
  /** Whether its endpoints hang: in the first minute, first attempts of its neighbor may wait for one timeout. */
  isHanging: boolean;
  /** How its neighbor gets alerts. Default: by webhook */
  neighbor?: 'email';
  /** How often it attacks, in ms. */
  everyMs: number;
  /** Creates its notifications. @returns the attack, which the measurement repeats */
  prepare: (arena: Arena) => Promise<() => Promise<unknown>>;
};
