import { Argument, Command } from 'commander';
import { benchColdStart } from './cold-start.ts';
import { benchCost } from './cost.ts';
import { benchMemory } from './memory.ts';
import { benchSender } from './sender.ts';
import { describeMachine, type Section, toMarkdown } from './support/report.ts';

const benchmarks: ReadonlyMap<string, () => Promise<Section>> = new Map([
  ['cold-start', benchColdStart],
  ['sender', benchSender],
  ['cost', benchCost],
  ['memory', benchMemory],
]);

const print = (text: string): void => {
  process.stdout.write(`${text}\n\n`);
};

const run = async (chosen: readonly string[]): Promise<void> => {
  print(`Measured on ${describeMachine()}, ${new Date().toISOString().slice(0, 10)}.`);
  for (const [name, measure] of benchmarks) {
    if (chosen.length > 0 && !chosen.includes(name)) continue;
    const section = await measure();
    print(toMarkdown(section));
    if (section.brokenBars?.length) process.exitCode = 1;
  }
};

await new Command('npm run bench')
  .description('Measures the figures of docs/benchmarks.md and prints them as Markdown. Fails if one breaks its bar.')
  .addArgument(new Argument('[benchmark...]', 'the benchmarks to run (default: all)').choices([...benchmarks.keys()]))
  .action(run)
  .parseAsync();
