import { availableParallelism } from 'node:os';
import pLimit from 'p-limit';
import { type SimulationWorker, startWorker } from '../workers.ts';
import type { NamedMutation } from './named-mutation.ts';

/** What became of a mutation: the seed that found it and what that violated, unless it was not found. */
export type MutationResult = {
  name: string;
  found?: { seed: number; violation: string };
  /** How many seeds were tried. */
  seeds: number;
  /** How long that took, with the start of the process. */
  seconds: number;
};

/** The seed that found a mutation last, then 1, 2, 3 and so on. */
function* seedsFor({ seed: last }: NamedMutation): Generator<number> {
  if (last !== undefined) yield last;
  for (let seed = 1; ; seed++) if (seed !== last) yield seed;
}

/** Returns what the run of a seed violates first. A run that cannot end violates that it must. */
const firstViolation = async (worker: SimulationWorker, seed: number): Promise<string | undefined> => {
  try {
    return (await worker.run({ seed })).violations[0];
  } catch (error) {
    return String(error).split('\n')[0];
  }
};

const findMutation = async (template: string, mutation: NamedMutation, maxSeconds: number): Promise<MutationResult> => {
  const startMs = performance.now();
  const seconds = (): number => (performance.now() - startMs) / 1_000;
  const worker = startWorker(template, [mutation, ...(mutation.also ?? [])]);
  let seeds = 0;
  try {
    for (const seed of seedsFor(mutation)) {
      const violation = await firstViolation(worker, seed);
      seeds++;
      if (violation !== undefined)
        return { name: mutation.name, found: { seed, violation }, seeds, seconds: seconds() };
      if (seconds() > maxSeconds) break;
    }
    return { name: mutation.name, seeds, seconds: seconds() };
  } finally {
    worker.stop();
  }
};

/**
 * Looks for mutations, each in a process of its own, because the code of the service is evaluated once per process.
 *
 * @param maxSeconds how long to look for each of them
 * @param onResult called with each result
 * @returns the results, in order
 */
export const findMutations = (
  template: string,
  mutations: readonly NamedMutation[],
  maxSeconds: number,
  onResult: (result: MutationResult) => void,
): Promise<MutationResult[]> => {
  const limit = pLimit(availableParallelism());
  return Promise.all(
    mutations.map((mutation) =>
      limit(async () => {
        const result = await findMutation(template, mutation, maxSeconds);
        onResult(result);
        return result;
      }),
    ),
  );
};
