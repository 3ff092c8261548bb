import { fork } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import type { Mutation } from './engine/service-code.ts';
import type { Seed, SeedRequest, SeedResult } from './simulation.ts';

const reply = z.union([
  z.object({
    result: z.object({
      seed: z.union([z.number(), z.string()]),
      violations: z.array(z.string()),
      steps: z.number(),
      invocations: z.number(),
      arrivals: z.number(),
      trace: z.array(z.string()),
    }),
    peakMb: z.number(),
  }),
  z.object({ error: z.string() }),
]);

/** A process that makes one run at a time. */
export type SimulationWorker = {
  /** @throws Error if the simulation itself fails */
  run: (request: SeedRequest) => Promise<SeedResult>;
  /** The peak memory of the process in MB, at the end of the last run. */
  readonly peakMb: number;
  stop: () => void;
};

/** Starts a process. A larger young generation of the heap halves the time of a run. */
export const startWorker = (template: string, mutations: readonly Mutation[] = []): SimulationWorker => {
  const child = fork(
    fileURLToPath(new URL('./worker.ts', import.meta.url)),
    [JSON.stringify({ template, mutations })],
    {
      execArgv: ['--max-semi-space-size=64'],
    },
  );
  let peakMb = 0;
  let pending: PromiseWithResolvers<unknown> | undefined;
  child.on('message', (message) => pending?.resolve(message));
  child.on('exit', (code, signal) =>
    pending?.reject(new Error(`A process of the simulation ended with ${signal ?? code}.`)),
  );
  return {
    async run(request) {
      pending = Promise.withResolvers();
      child.send(request);
      const received = reply.parse(await pending.promise);
      if ('error' in received) throw new Error(`Seed ${request.seed}: ${received.error}`);
      peakMb = received.peakMb;
      return received.result;
    },
    get peakMb() {
      return peakMb;
    },
    stop: () => child.kill(),
  };
};

/** The result of many runs. */
export type SeedsResult = { failed: SeedResult[]; runs: number; invocations: number; seconds: number; peakMb: number };

/**
 * Makes a run for each seed or situation, in as many processes as the machine has cores.
 *
 * @param onResult called after each run
 */
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
  const workers = Array.from({ length: availableParallelism() }, () => startWorker(template));
  try {
    await Promise.all(workers.map(runAll));
  } finally {
    for (const worker of workers) worker.stop();
  }
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
