import { readFileSync } from 'node:fs';
import type { Mutation } from '../engine/service-code.ts';
import { REGRESSION_SEEDS, seedsFrom } from '../seeds.ts';
import type { Seed } from '../simulation.ts';
import type { SimulationWorker } from '../workers.ts';

/** A defect that the simulation must find. */
export type NamedMutation = {
  /** Says what the service then does. */
  name: string;
  /** Several if one alone would be harmless, because two parts of the service prevent the defect. */
  changes: readonly Mutation[];
  /** The seed or situation that found it last. */
  seed?: Seed;
};

const HEADER = /^(\S+)(?: (?:seed (\d+)|situation (.+)))?$/;

/** Reads `--- <file> [seed <number> | situation <name>]` and the lines that are removed and added. */
const readChange = (hunk: string) => {
  const [header = '', ...lines] = hunk.split('\n');
  const marked = (mark: string): string => lines.flatMap((line) => (line[0] === mark ? line.slice(1) : [])).join('\n');
  const [, file, ...others] = HEADER.exec(header) ?? [];
  if (file === undefined || !lines.every((line) => /^[-+]/.test(line))) throw new Error(`This is no change:\n${hunk}`);
  return { change: { file, find: marked('-'), replace: marked('+') }, others };
};

const readMutation = (block: string): NamedMutation => {
  const [name = '', ...hunks] = block.trimEnd().split('\n--- ');
  const changes = hunks.map(readChange);
  const [seed, situation] = changes[0]?.others ?? [];
  return {
    name,
    changes: changes.map(({ change }) => change),
    ...(seed !== undefined && { seed: Number(seed) }),
    ...(situation !== undefined && { seed: situation }),
  };
};

/** The defects that the simulation must find, from `mutations.diff`. */
export const mutations: readonly NamedMutation[] = readFileSync(new URL('mutations.diff', import.meta.url), 'utf8')
  .split('\n\n')
  .map(readMutation);

/** The seed or situation that found a mutation, what that violated, and how many were tried. */
export type MutationResult = { found?: { by: Seed; violation: string }; tries: number };

/** A mutation that neither a situation nor one of the first seeds finds is not found. */
const MAX_SEEDS = 200;

/** Looks for a mutation. The seed or situation that found it last is tried first. */
export const findMutation = async (
  { changes, seed: last }: NamedMutation,
  worker: SimulationWorker,
): Promise<MutationResult> => {
  const seeds = new Set([...(last === undefined ? [] : [last]), ...REGRESSION_SEEDS, ...seedsFrom(1, MAX_SEEDS)]);
  let tries = 0;
  for (const seed of seeds) {
    tries++;
    // A run that cannot end violates that it must.
    const [violation] = await worker.run({ seed }, changes).then(
      ({ violations }) => violations,
      (error: unknown) => String(error).split('\n'),
    );
    if (violation !== undefined) return { found: { by: seed, violation }, tries };
  }
  return { tries };
};
