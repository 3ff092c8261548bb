import { REGRESSION_SEEDS, seedsFrom } from '../seeds.ts';
import type { Seed } from '../simulation.ts';
import { useWorkers } from '../workers.ts';
import type { NamedMutation } from './mutations.ts';

/** What became of a mutation: the seed or situation that found it and what that violated, unless it was not found. */
export type MutationResult = {
  name: string;
  found?: { by: string; violation: string };
  /** How many seeds and situations were tried. */
  tries: number;
  seconds: number;
};

/** A mutation that neither a situation nor one of the first seeds finds is not found. */
const MAX_SEEDS = 200;

/** The seed or situation that found a mutation last is tried first. */
const seedsFor = ({ seed: last }: NamedMutation): ReadonlySet<Seed> =>
  new Set([...(last === undefined ? [] : [last]), ...REGRESSION_SEEDS, ...seedsFrom(1, MAX_SEEDS)]);

/**
 * Looks for mutations, in as many processes as the machine has cores.
 *
 * @param onResult called with each result
 * @returns the results
 */
export const findMutations = async (
  template: string,
  mutations: readonly NamedMutation[],
  onResult: (result: MutationResult) => void,
): Promise<MutationResult[]> => {
  const remaining = mutations.values();
  const results: MutationResult[] = [];
  await useWorkers(template, async (worker) => {
    for (const mutation of remaining) {
      const startMs = performance.now();
      let tries = 0;
      let found: MutationResult['found'];
      for (const seed of seedsFor(mutation)) {
        tries++;
        // A run that cannot end violates that it must.
        const [violation] = await worker.run({ seed }, mutation.changes).then(
          ({ violations }) => violations,
          (error: unknown) => String(error).split('\n'),
        );
        if (violation !== undefined) found = { by: typeof seed === 'number' ? `seed ${seed}` : `"${seed}"`, violation };
        if (found) break;
      }
      const seconds = (performance.now() - startMs) / 1_000;
      const result = { name: mutation.name, ...(found && { found }), tries, seconds };
      onResult(result);
      results.push(result);
    }
  });
  return results;
};
