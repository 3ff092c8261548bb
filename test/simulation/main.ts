import { Console } from 'node:console';
import { Command } from 'commander';
import { REGRESSION_SEEDS, seedsFrom } from './seeds.ts';
import { writeTemplate } from './template.ts';
import { runSeeds, shortestFailingPrefix, startWorker } from './workers.ts';

const { log } = new Console(process.stdout);

/** Runs one seed. @returns whether it passes */
const runOne = async (template: string, seed: number, isTraced: boolean): Promise<boolean> => {
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
const runMany = async (template: string, seeds: readonly number[]): Promise<boolean> => {
  const { failed, runs, invocations, seconds, peakMb } = await runSeeds(template, seeds, ({ seed, violations }) => {
    for (const violation of violations) log(`Seed ${seed}: ${violation}`);
  });
  const rate = (count: number): string => (count / seconds).toFixed(1);
  log(
    `${runs} seeds in ${seconds.toFixed(0)} s: ${rate(runs)} seeds and ${rate(invocations)} invocations per second, ` +
      `at most ${peakMb} MB in a process. ${failed.length} failed.`,
  );
  const [first] = failed.toSorted((left, right) => left.seed - right.seed);
  if (!first) return true;
  const worker = startWorker(template);
  const { steps, trace, violations } = await shortestFailingPrefix(worker, first);
  worker.stop();
  for (const line of trace) log(line);
  log(`Seed ${first.seed} fails with the first ${steps} of its ${first.steps} steps:`);
  for (const violation of violations) log(`  ${violation}`);
  return false;
};

const wholeNumber = (text: string): number => {
  const value = Number(text);
  if (!Number.isSafeInteger(value) || value < 0) throw new Error(`${text} is not a whole number.`);
  return value;
};

const { seeds, from, seed, trace } = new Command('npm run simulate --')
  .description(
    'Simulates the service: each seed is a run with other tenants, events and faults, which it repeats exactly.',
  )
  .option('--seeds <count>', 'how many seeds run', wholeNumber, 100)
  .option('--from <seed>', 'the first seed', wholeNumber, 1)
  .option('--seed <seed>', 'run only this seed', wholeNumber)
  .option('--trace', 'print what happens in the run of --seed')
  .parse()
  .opts<{ seeds: number; from: number; seed?: number; trace?: boolean }>();

const template = writeTemplate();
try {
  const passes =
    seed === undefined
      ? await runMany(template.file, [...REGRESSION_SEEDS, ...seedsFrom(from, seeds)])
      : await runOne(template.file, seed, trace === true);
  if (!passes) process.exitCode = 1;
} finally {
  template.remove();
}
