import { readFileSync } from 'node:fs';
import { cpus, release, totalmem } from 'node:os';
import { markdownTable } from 'markdown-table';

export type Section = {
  title: string;
  columns: readonly string[];
  rows: readonly (readonly string[])[];
  note?: string;
  /** The bars that the figures break, in words. */
  brokenBars?: readonly string[];
};

/** Returns the median, or the lower of the two middle values. */
export const median = (values: readonly number[]): number =>
  values.toSorted((left, right) => left - right)[(values.length - 1) >> 1] ?? Number.NaN;

/** Runs all cases in every round, so that drift of the machine affects all of them. @returns the results by case */
export const runRounds = async <Result>(
  cases: ReadonlyMap<string, () => Promise<Result>>,
  rounds: number,
): Promise<(name: string) => Result[]> => {
  const results = new Map<string, Result[]>([...cases.keys()].map((name) => [name, []]));
  for (let round = 0; round < rounds; round++) {
    for (const [name, run] of cases) results.get(name)?.push(await run());
  }
  return (name) => results.get(name) ?? [];
};

/** Formats a section as Markdown. All columns but the first are aligned right. */
export const toMarkdown = ({ title, columns, rows, note, brokenBars = [] }: Section): string => {
  const align = columns.map((_, index) => (index === 0 ? 'l' : 'r'));
  const table = markdownTable([columns, ...rows], { align });
  return [`### ${title}`, table, ...(note ? [note] : []), ...brokenBars.map((bar) => `**Broken: ${bar}**`)].join(
    '\n\n',
  );
};

/** Returns the CPU, memory, operating system and Node version of this machine. */
export const describeMachine = (): string => {
  const [cpu] = cpus();
  const system = /PRETTY_NAME="(.*)"/.exec(readFileSync('/etc/os-release', 'utf8'))?.[1] ?? `Linux ${release()}`;
  const memory = Math.round(totalmem() / 2 ** 30);
  return `${cpus().length} cores (${cpu?.model.trim()}), ${memory} GiB, ${system}, Node ${process.versions.node}`;
};
