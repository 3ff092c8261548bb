import { Console } from 'node:console';
import { Command } from 'commander';
import { findMutation, mutations } from './mutations/mutations.ts';
import { REGRESSION_SEEDS, seedsFrom } from './seeds.ts';
import type { Seed } from './simulation.ts';
import { writeTemplate } from './template.ts';
import { runSeeds, shortestFailingPrefix, startWorker, useWorkers } from './workers.ts';

const { log } = new Console(process.stdout);

/** Runs one seed or situation. @returns whether it passes */
const runOne = async (template: string, seed: Seed, isTraced: boolean): Promise<boolean> => {
  const worker = startWorker(template);
  try {
    const result = await worker.run({ seed, isTraced });
    for (const line of result.trace) log(line);
    for (const violation of result.violations) log(violation);
    log(`Seed ${seed}: ${result.steps} steps, ${result.arrivals} arrivals, ${result.violations.length} violations.`);
    return result.violations.length === 0;
  } finally {
    worker.stop();
  }
};

/** Runs many seeds, and prints the shortest prefix of the steps of the first one that fails. */
const runMany = async (template: string, seeds: readonly Seed[]): Promise<boolean> => {
  const { failed, runs, invocations, seconds, peakMb } = await runSeeds(template, seeds, ({ seed, violations }) => {
    for (const violation of violations) log(`Seed ${seed}: ${violation}`);
  });
  const rate = (count: number): string => (count / seconds).toFixed(1);
  log(
    `${runs} seeds in ${seconds.toFixed(0)} s: ${rate(runs)} seeds and ${rate(invocations)} invocations per second, ` +
      `at most ${peakMb} MB in a process. ${failed.length} failed.`,
  );
  const [first] = failed.toSorted((left, right) =>
    String(left.seed).localeCompare(String(right.seed), 'en', { numeric: true }),
  );
  if (!first) return true;
  const worker = startWorker(template);
  const { steps, trace, violations } = await shortestFailingPrefix(worker, first);
  worker.stop();
  for (const line of trace) log(line);
  log(`Seed ${first.seed} fails with the first ${steps} of its ${first.steps} steps:`);
  for (const violation of violations) log(`  ${violation}`);
  return false;
};

/** Looks for the mutations whose names contain a text. @returns whether all of them are found */
const runMutations = async (template: string, text: string): Promise<boolean> => {
  const wanted = mutations.filter(({ name }) => name.includes(text));
  const remaining = wanted.values();
  let foundCount = 0;
  await useWorkers(template, async (worker) => {
    for (const mutation of remaining) {
      const { found, tries } = await findMutation(mutation, worker);
      if (found) foundCount++;
      const result = found
        ? `Found by seed ${JSON.stringify(found.by)}: ${mutation.name}\n    ${found.violation}`
        : `NOT FOUND: ${mutation.name}`;
      log(`${result} (${tries} tried)`);
    }
  });
  log(`${foundCount} of ${wanted.length} mutations are found.`);
  return foundCount === wanted.length;
};

const wholeNumber = (text: string): number => {
  const value = Number(text);
  if (!Number.isSafeInteger(value) || value < 0) throw new Error(`${text} is not a whole number.`);
  return value;
};

const seedOrName = (text: string): Seed => (/^\d+$/.test(text) ? wholeNumber(text) : text);

const {
  seeds,
  from,
  seed,
  trace,
  mutations: mutationText,
} = new Command('npm run simulate --')
  .description(
    'Simulates the service: each seed is a run with other tenants, events and faults, which it repeats exactly.',
  )
  .option('--seeds <count>', 'how many seeds run', wholeNumber, 100)
  .option('--from <seed>', 'the first seed', wholeNumber, 1)
  .option('--seed <seed>', 'run only this seed, or the situation with this name', seedOrName)
  .option('--trace', 'print what happens in the run of --seed')
  .option('--mutations [text]', 'look for the defects in the list whose names contain a text')
  .parse()
  .opts<{
    seeds: number;
    from: number;
    seed?: Seed;
    trace?: boolean;
    mutations?: string | true;
  }>();

const template = writeTemplate();
try {
  const run = (): Promise<boolean> => {
    if (mutationText !== undefined) return runMutations(template.file, mutationText === true ? '' : mutationText);
    if (seed !== undefined) return runOne(template.file, seed, trace === true);
    return runMany(template.file, [...REGRESSION_SEEDS, ...seedsFrom(from, seeds)]);
  };
  if (!(await run())) process.exitCode = 1;
} finally {
  template.remove();
}
