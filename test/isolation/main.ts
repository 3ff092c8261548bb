import { Command, Option } from 'commander';
import { type Section, toMarkdown } from '../bench/support/report.ts';

import { type Attacker, attackers } from './attackers.ts';
import { type Figures, type Isolation, isIsolated, measureIsolation } from './measure.ts';

type Measured = { attacker: Attacker; isolation: Isolation };

const cells = (figures?: Figures): string[] =>
  [figures?.p50, figures?.max, figures?.missing].map((value = Number.NaN) =>
    Number.isNaN(value) ? '–' : String(value),
  );

const sectionOf = (measured: readonly Measured[]): Section => ({
  title: 'Latency of a neighbor, in ms',
  columns: [
    'beside a tenant',
    ...['alone', 'first minute', 'beside'].flatMap((period) => [`${period}: p50`, 'max', 'missing']),
    'isolated',
  ],
  rows: measured.map(({ attacker: { name, description }, isolation }) => [
    `\`${name}\`: ${description}`,
    ...cells(isolation.alone),
    ...cells(isolation.firstMinute),
    ...cells(isolation.beside),
    isIsolated(isolation) ? 'yes' : '**no**',
  ]),
});

const print = (text: string): void => void process.stdout.write(`${text}\n`);

/** Measures one attacker after another, each in a stack of its own. */
const run = async ({ only }: { only?: string[] }): Promise<void> => {
  const measured: Measured[] = [];
  for (const attacker of attackers.filter(({ name }) => only?.includes(name) ?? true)) {
    const isolation = await measureIsolation(attacker);
    print(`${attacker.name} ${JSON.stringify(isolation)}`);
    measured.push({ attacker, isolation });
  }
  print(`\n${toMarkdown(sectionOf(measured))}`);
  if (!measured.every(({ isolation }) => isIsolated(isolation))) process.exitCode = 1;
};

await new Command('npm run isolation')
  .description('Measures how much attackers delay another tenant, and fails if they delay it by too much.')
  .addOption(
    new Option('--only <attacker...>', 'the attackers (default: all)').choices(attackers.map(({ name }) => name)),
  )
  .action(run)
  .parseAsync();
