import { fork } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import type { Mutation } from '../engine/service-code.ts';
import { smallCases } from './cases.ts';

const exploration = z.object({
  name: z.string(),
  faults: z.number(),
  states: z.number(),
  paths: z.number(),
  runs: z.number(),
  violations: z.array(z.object({ path: z.array(z.string()), texts: z.array(z.string()) })),
});

/** The result of the exploration of a case. */
export type CaseExploration = z.infer<typeof exploration> & { seconds: number };

const reply = z.union([exploration, z.object({ error: z.string() })]);

/** Options of explorations. */
export type CasesOptions = {
  /** The synthesized template. */
  template: string;
  mutations?: readonly Mutation[];
  /** The names of the cases. Default: all */
  names?: readonly string[];
  /** The maximum number of faults in a path. Default: what the case has for `npm test` */
  faults?: number | undefined;
};

/** Explores small cases, in as many processes as the machine has cores. @param onResult called after each case */
export const exploreCases = async (
  { template, mutations = [], names, faults }: CasesOptions,
  onResult: (result: CaseExploration) => void = () => undefined,
): Promise<CaseExploration[]> => {
  const remaining = smallCases.filter(({ name }) => names?.includes(name) ?? true);
  const results: CaseExploration[] = [];

  const exploreRemaining = async (): Promise<void> => {
    const child = fork(
      fileURLToPath(new URL('./worker.ts', import.meta.url)),
      [JSON.stringify({ template, mutations })],
      {
        execArgv: ['--max-semi-space-size=64'],
      },
    );
    try {
      for (let next = remaining.shift(); next; next = remaining.shift()) {
        const startMs = performance.now();
        const { promise, resolve, reject } = Promise.withResolvers<unknown>();
        const fail = (code: number | null): void =>
          reject(new Error(`A process of the exploration ended with ${code}.`));
        child.once('message', resolve).once('exit', fail);
        child.send({ name: next.name, faults: faults ?? next.faults });
        const received = reply.parse(await promise);
        child.removeListener('exit', fail);
        if ('error' in received) throw new Error(`${next.name}: ${received.error}`);
        const result = { ...received, seconds: (performance.now() - startMs) / 1_000 };
        results.push(result);
        onResult(result);
      }
    } finally {
      child.kill();
    }
  };
  await Promise.all(Array.from({ length: availableParallelism() }, exploreRemaining));
  return results;
};

/** Returns what an exploration visited, and the shortest path that violates a rule. */
export const describeExploration = ({ name, faults, states, paths, runs, seconds, violations }: CaseExploration) => {
  const [shortest] = violations.toSorted((left, right) => left.path.length - right.path.length);
  return [
    `${name}, up to ${faults} ${faults === 1 ? 'fault' : 'faults'}: ${states} states, ${paths} paths, ${runs} runs in ${seconds.toFixed(1)} s, ` +
      `${violations.length} violations`,
    ...(shortest ? [...shortest.texts, ...shortest.path].map((line) => `    ${line}`) : []),
  ];
};
