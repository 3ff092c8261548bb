import { availableParallelism } from 'node:os';
import { exploreCases } from '../exhaustive/explore-cases.ts';
import type { Seed } from '../simulation.ts';
import { type SimulationWorker, startWorker } from '../workers.ts';
import type { NamedMutation } from './named-mutation.ts';

/** What became of a mutation: the seed or small case that found it and what that violated, unless it was not found. */
export type MutationResult = {
  name: string;
  found?: { by: string; violation: string };
  /** How many seeds were tried. */
  seeds: number;
  /** How long that took, with the start of the process. */
  seconds: number;
};

/** The seed or situation that found a mutation last, then 1, 2, 3 and so on. */
function* seedsFor({ seed: last }: NamedMutation): Generator<Seed, never> {
  if (last !== undefined) yield last;
  for (let seed = 1; ; seed++) if (seed !== last) yield seed;
}

/** Returns what the run of a seed violates first. A run that cannot end violates that it must. */
const firstViolation = async (worker: SimulationWorker, seed: Seed): Promise<string | undefined> => {
  try {
    return (await worker.run({ seed })).violations[0];
  } catch (error) {
    return String(error).split('\n')[0];
  }
};

/** Explores small cases, all by default. @returns the first violation */
const violationInSmallCases = async (
  template: string,
  mutation: NamedMutation,
  names?: readonly string[],
): Promise<MutationResult['found']> => {
  const mutations = [mutation, ...(mutation.also ?? [])];
  const explorations = await exploreCases({ template, mutations, ...(names && { names }) }).catch((error: unknown) => [
    { name: 'all', violations: [{ texts: [String(error)] }] },
  ]);
  return explorations.flatMap(({ name, violations }) =>
    violations.slice(0, 1).map(({ texts: [violation = ''] }) => ({ by: `case "${name}"`, violation })),
  )[0];
};

/** Tries seeds in as many processes as the machine has cores, because the code of the service is evaluated once per process. */
const findMutation = async (template: string, mutation: NamedMutation, maxSeconds: number): Promise<MutationResult> => {
  const startMs = performance.now();
  const seconds = (): number => (performance.now() - startMs) / 1_000;
  const { name, smallCase } = mutation;
  const known = smallCase && (await violationInSmallCases(template, mutation, [smallCase]));
  if (known) return { name, found: known, seeds: 0, seconds: seconds() };
  const workers = Array.from({ length: availableParallelism() }, () =>
    startWorker(template, [mutation, ...(mutation.also ?? [])]),
  );
  const remaining = seedsFor(mutation);
  let seeds = 0;
  let found: MutationResult['found'];
  const search = async (worker: SimulationWorker): Promise<void> => {
    while (!found && seconds() < maxSeconds) {
      const seed = remaining.next().value;
      const violation = await firstViolation(worker, seed);
      seeds++;
      if (violation !== undefined)
        found ??= { by: typeof seed === 'number' ? `seed ${seed}` : `situation "${seed}"`, violation };
    }
  };
  try {
    await Promise.race(workers.map(search));
  } finally {
    for (const worker of workers) worker.stop();
  }
  found ??= await violationInSmallCases(template, mutation);
  return { name, ...(found && { found }), seeds, seconds: seconds() };
};

/**
 * Looks for mutations, one after the other.
 *
 * @param maxSeconds how long to look for each of them
 * @param onResult called with each result
 * @returns the results, in order
 */
export const findMutations = async (
  template: string,
  mutations: readonly NamedMutation[],
  maxSeconds: number,
  onResult: (result: MutationResult) => void,
): Promise<MutationResult[]> => {
  const results: MutationResult[] = [];
  for (const mutation of mutations) {
    const result = await findMutation(template, mutation, maxSeconds);
    onResult(result);
    results.push(result);
  }
  return results;
};
