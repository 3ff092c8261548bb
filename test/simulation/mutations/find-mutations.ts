import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import pLimit from 'p-limit';
import type { NamedMutation } from './named-mutation.ts';

/** What became of a mutation: the seed that found it and the rule that it violated, unless it was not found. */
export type MutationResult = {
  name: string;
  seed?: number;
  violation?: string;
  /** How many seeds were tried. */
  seeds: number;
  /** How long they took, without the start of the process. */
  seconds: number;
};

const WORKER = join(import.meta.dirname, 'mutation-worker.ts');

const run = promisify(execFile);

/** Options of the search. */
export type SearchOptions = {
  /** The file with the CloudFormation template of the stack. */
  template: string;
  /** How long to look for each mutation, in seconds. */
  seconds: number;
  /** How many processes run at the same time. */
  processes: number;
  /** Called with each result. */
  onResult: (result: MutationResult) => void;
};

/** Looks for mutations, each in a process of its own. Resolves to their results, in order. */
export const findMutations = (
  mutations: readonly NamedMutation[],
  { template, seconds, processes, onResult }: SearchOptions,
): Promise<MutationResult[]> => {
  const limit = pLimit(processes);
  return Promise.all(
    mutations.map(({ name }) =>
      limit(async () => {
        const { stdout } = await run(process.execPath, [WORKER, name, template, String(seconds)]);
        const result: MutationResult = JSON.parse(stdout);
        onResult(result);
        return result;
      }),
    ),
  );
};
