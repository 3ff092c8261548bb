import { readFileSync } from 'node:fs';
import { cpus, release, totalmem } from 'node:os';
import { markdownTable } from 'markdown-table';

/** What a benchmark shows: tables, each with a heading, and remarks below them. */
export type Section = {
  title: string;
  columns: readonly string[];
  rows: readonly (readonly string[])[];
  note?: string;
};

/** The middle of some figures; of an even number the lower one. */
export const median = (figures: readonly number[]): number =>
  figures.toSorted((one, other) => one - other)[(figures.length - 1) >> 1] ?? Number.NaN;

/** A section as Markdown: the first column left, the others right. */
export const printed = ({ title, columns, rows, note }: Section): string => {
  const align = columns.map((_, index) => (index === 0 ? 'l' : 'r'));
  return [`### ${title}`, markdownTable([columns, ...rows], { align }), ...(note ? [note] : [])].join('\n\n');
};

/** The machine that figures are from. */
export const machine = (): string => {
  const [cpu] = cpus();
  const system = /PRETTY_NAME="(.*)"/.exec(readFileSync('/etc/os-release', 'utf8'))?.[1] ?? `Linux ${release()}`;
  const memory = Math.round(totalmem() / 2 ** 30);
  return `${cpus().length} cores (${cpu?.model.trim()}), ${memory} GiB, ${system}, Node ${process.versions.node}`;
};
