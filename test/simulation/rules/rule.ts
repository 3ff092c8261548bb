import type { Observations } from '../world/observations.ts';

/** What must hold after a run. It returns a sentence for each violation, computed from what arrived and was planned. */
export type Rule = { name: string; violations: (observations: Observations) => readonly string[] };
