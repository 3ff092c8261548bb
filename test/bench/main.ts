import { Argument, Command, Option } from 'commander';
import { benchApi } from './api.ts';
import { benchColdStart } from './cold-start.ts';
import { benchCost } from './cost.ts';
import { benchDispatch } from './dispatch.ts';
import { benchMemory } from './memory.ts';
import { benchMemoryLimits } from './memory-limits.ts';
import { benchPipeline } from './pipeline.ts';
import { benchSender } from './sender.ts';
import { describeMachine, type Section, toMarkdown } from './support/report.ts';

type Options = { chart?: string; profile?: string };

const BENCHMARKS = {
  'cold-start': ({ profile }: Options) => benchColdStart(profile),
  sender: ({ profile }: Options) => benchSender(profile),
  dispatch: benchDispatch,
  pipeline: benchPipeline,
  api: benchApi,
  cost: ({ chart }: Options) => benchCost(chart),
  memory: benchMemory,
  'memory-limits': benchMemoryLimits,
} as const satisfies Record<string, (options: Options) => Promise<Section[]>>;

type Name = keyof typeof BENCHMARKS;
const NAMES: readonly Name[] = [
  'cold-start',
  'sender',
  'dispatch',
  'pipeline',
  'api',
  'cost',
  'memory',
  'memory-limits',
];

const print = (text: string): void => {
  process.stdout.write(`${text}\n\n`);
};

/** Runs the benchmarks one after another, because they would slow each other down. */
const run = async (chosen: readonly Name[], options: Options): Promise<void> => {
  print(`Measured on ${describeMachine()}, ${new Date().toISOString().slice(0, 10)}.`);
  for (const name of chosen.length > 0 ? chosen : NAMES) {
    for (const section of await BENCHMARKS[name](options)) print(toMarkdown(section));
  }
};

await new Command('npm run bench')
  .description(
    'Measures the figures of docs/benchmarks.md, each with a baseline from the same run, and prints them as Markdown.',
  )
  .addArgument(new Argument('[benchmark...]', 'the benchmarks to run (default: all)').choices(NAMES))
  .addOption(new Option('--chart <file>', 'write the costs of `cost` as an SVG chart'))
  .addOption(
    new Option(
      '--profile <folder>',
      'write CPU profiles of `sender`, which slows it down, or of `cold-start` with flame graphs',
    ),
  )
  .action(run)
  .parseAsync();
