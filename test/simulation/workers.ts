import { type ChildProcess, fork } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import type { Mutation } from './engine/service-code.ts';
import type { Seed, SeedRequest, SeedResult } from './simulation.ts';

const seedResult = z.object({
  seed: z.union([z.number(), z.string()]),
  violations: z.array(z.string()),
  steps: z.number(),
  invocations: z.number(),
  arrivals: z.number(),
  trace: z.array(z.string()),
});
const reply = z.union([z.object({ result: seedResult, peakMb: z.number() }), z.object({ error: z.string() })]);

/** A process that makes one run at a time, with changes of the source if there are some. */
export type SimulationWorker = {
  /** @throws Error if the simulation itself fails */
  run: (request: SeedRequest, mutations?: readonly Mutation[]) => Promise<SeedResult>;
  /** The peak memory of the process in MB, at the end of the last run. */
  readonly peakMb: number;
  stop: () => void;
};

/**
 * Returns a process, which is started by its first task, and again if it ended. A larger young generation of the heap
 * halves the time of a run.
 */
export const startWorker = (template: string): SimulationWorker => {
  let child: ChildProcess | undefined;
  let peakMb = 0;
  let pending: PromiseWithResolvers<unknown> | undefined;
  const start = (): ChildProcess =>
    fork(fileURLToPath(new URL('./worker.ts', import.meta.url)), [template], {
      execArgv: ['--max-semi-space-size=64'],
    })
      .on('message', (message) => pending?.resolve(message))
      .on('exit', (code, signal) => {
        child = undefined;
        pending?.reject(new Error(`A process of the simulation ended with ${signal ?? code}.`));
      });
  return {
    async run(request, mutations = []) {
      pending = Promise.withResolvers();
      child ??= start();
      child.send({ request, mutations });
      const received = reply.parse(await pending.promise);
      if ('error' in received) throw new Error(`${JSON.stringify(request)}: ${received.error}`);
      peakMb = received.peakMb;
      return received.result;
    },
    get peakMb() {
      return peakMb;
    },
    stop: () => child?.kill(),
  };
};

/** Starts as many processes as the machine has cores, and stops them when `use` has ended with all of them. */
export const useWorkers = async (template: string, use: (worker: SimulationWorker) => Promise<void>): Promise<void> => {
  const workers = Array.from({ length: availableParallelism() }, () => startWorker(template));
  try {
    await Promise.all(workers.map(use));
  } finally {
    for (const worker of workers) worker.stop();
  }
};

export type SeedsResult = { failed: SeedResult[]; runs: number; invocations: number; seconds: number; peakMb: number };

/** Makes a run for each seed or situation, in as many processes as the machine has cores. */
export const runSeeds = async (
  template: string,
  seeds: Iterable<Seed>,
  onResult: (result: SeedResult) => void = () => undefined,
): Promise<SeedsResult> => {
  const startMs = performance.now();
  const remaining = seeds[Symbol.iterator]();
  const total: SeedsResult = { failed: [], runs: 0, invocations: 0, seconds: 0, peakMb: 0 };
  const runAll = async (worker: SimulationWorker): Promise<void> => {
    for (let next = remaining.next(); !next.done; next = remaining.next()) {
      const result = await worker.run({ seed: next.value });
      total.runs++;
      total.invocations += result.invocations;
      if (result.violations.length > 0) total.failed.push(result);
      onResult(result);
    }
    total.peakMb = Math.max(total.peakMb, worker.peakMb);
  };
  await useWorkers(template, runAll);
  return { ...total, seconds: (performance.now() - startMs) / 1_000 };
};

/**
 * Returns the smallest number of steps with which a seed fails, found by halving: with fewer steps it passes, or fails
 * only by chance.
 */
export const shortestFailingPrefix = async (
  worker: SimulationWorker,
  { seed, steps }: SeedResult,
): Promise<SeedResult> => {
  let [passing, failing] = [0, steps];
  let shortest = await worker.run({ seed, isTraced: true });
  while (failing - passing > 1) {
    const middle = (passing + failing) >> 1;
    const result = await worker.run({ seed, steps: middle, isTraced: true });
    if (result.violations.length > 0) {
      failing = middle;
      shortest = { ...result, steps: middle };
    } else passing = middle;
  }
  return shortest;
};
