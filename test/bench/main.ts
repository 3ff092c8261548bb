import { Argument, Command, Option } from 'commander';
import { benchApi } from './api.ts';
import { benchColdStart } from './cold-start.ts';
import { benchCost } from './cost.ts';
import { benchDispatch } from './dispatch.ts';
import { benchPipeline } from './pipeline.ts';
import { benchSender } from './sender.ts';
import { machine, printed, type Section } from './support/report.ts';

type Options = { picture?: string; profile?: string };

/** The benchmarks, by the names that `npm run bench` takes. */
const benches = {
  'cold-start': benchColdStart,
  sender: ({ profile }: Options) => benchSender(profile),
  dispatch: benchDispatch,
  pipeline: benchPipeline,
  api: benchApi,
  cost: ({ picture }: Options) => benchCost(picture),
} as const satisfies Record<string, (options: Options) => Promise<Section[]>>;

type Name = keyof typeof benches;
const names: readonly Name[] = ['cold-start', 'sender', 'dispatch', 'pipeline', 'api', 'cost'];

const print = (text: string): void => {
  process.stdout.write(`${text}\n\n`);
};

/** One after the other: each has the machine for itself. */
const run = async (chosen: readonly Name[], options: Options): Promise<void> => {
  print(`Measured on ${machine()}, ${new Date().toISOString().slice(0, 10)}.`);
  for (const name of chosen.length > 0 ? chosen : names) {
    for (const section of await benches[name](options)) print(printed(section));
  }
};

await new Command('npm run bench')
  .description('Measures what the README claims, each case beside a baseline of the same run; prints Markdown.')
  .addArgument(new Argument('[bench...]', 'what to measure; all by default').choices(names))
  .addOption(new Option('--picture <file>', 'writes the bills of `cost` as an SVG'))
  .addOption(new Option('--profile <folder>', 'writes a CPU profile of `sender`, which then is slower'))
  .action(run)
  .parseAsync();
