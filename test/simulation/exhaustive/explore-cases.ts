import type { Mutation } from '../engine/service-code.ts';
import { useWorkers } from '../workers.ts';
import { smallCases } from './cases.ts';
import type { Exploration } from './explore.ts';

/** The result of the exploration of a case. */
export type CaseExploration = Exploration & { seconds: number };

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
  await useWorkers(template, async (worker) => {
    for (let next = remaining.shift(); next; next = remaining.shift()) {
      const startMs = performance.now();
      const exploration = await worker.explore(next.name, faults ?? next.faults, mutations);
      const result = { ...exploration, seconds: (performance.now() - startMs) / 1_000 };
      results.push(result);
      onResult(result);
    }
  });
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
