import { smallCases } from '../exhaustive/cases.ts';
import type { Seed } from '../simulation.ts';
import { type SimulationWorker, useWorkers } from '../workers.ts';
import type { NamedMutation } from './mutations.ts';

/** What became of a mutation: the seed or small case that found it and what that violated, unless it was not found. */
export type MutationResult = {
  name: string;
  found?: { by: string; violation: string };
  /** How many seeds and small cases were tried. */
  tries: number;
  seconds: number;
};

type Attempt = { by: string; violation: (worker: SimulationWorker) => Promise<string | undefined> };

/** The seed or small case that found a mutation last, then other seeds until `maxSeconds` have passed, then all small cases. */
function* attemptsFor({ changes, seed: last, smallCase }: NamedMutation, maxSeconds: number): Generator<Attempt> {
  const seedAttempt = (seed: Seed): Attempt => ({
    by: typeof seed === 'number' ? `seed ${seed}` : `situation "${seed}"`,
    violation: async (worker) => (await worker.run({ seed }, changes)).violations[0],
  });
  const caseAttempt = ({ name, faults }: { name: string; faults: number }): Attempt => ({
    by: `case "${name}"`,
    violation: async (worker) => (await worker.explore(name, faults, changes)).violations[0]?.texts[0],
  });
  const endMs = performance.now() + maxSeconds * 1_000;
  if (last !== undefined) yield seedAttempt(last);
  yield* smallCases.filter(({ name }) => name === smallCase).map(caseAttempt);
  for (let seed = 1; performance.now() < endMs; seed++) if (seed !== last) yield seedAttempt(seed);
  yield* smallCases.filter(({ name }) => name !== smallCase).map(caseAttempt);
}

/**
 * Looks for mutations, in as many processes as the machine has cores.
 *
 * @param maxSeconds how long to try seeds for each of them
 * @param onResult called with each result
 * @returns the results
 */
export const findMutations = async (
  template: string,
  mutations: readonly NamedMutation[],
  maxSeconds: number,
  onResult: (result: MutationResult) => void,
): Promise<MutationResult[]> => {
  const remaining = mutations.values();
  const results: MutationResult[] = [];
  await useWorkers(template, async (worker) => {
    for (const mutation of remaining) {
      const startMs = performance.now();
      let tries = 0;
      let found: MutationResult['found'];
      for (const { by, violation: tryOn } of attemptsFor(mutation, maxSeconds)) {
        tries++;
        // A run that cannot end violates that it must.
        const violation = await tryOn(worker).catch((error: unknown) => String(error).split('\n')[0]);
        if (violation !== undefined) found = { by, violation };
        if (found) break;
      }
      const result = {
        name: mutation.name,
        ...(found && { found }),
        tries,
        seconds: (performance.now() - startMs) / 1_000,
      };
      onResult(result);
      results.push(result);
    }
  });
  return results;
};
