import type { Reporter, TestModule } from 'vitest/node';

/** Rows of cells as lines, the first column to the left and the others to the right. */
const tableOf = (rows: readonly (readonly string[])[]): string => {
  const widthOf = (column: number): number => Math.max(...rows.map((row) => row[column]?.length ?? 0));
  const cellOf = (cell: string, column: number): string =>
    column === 0 ? cell.padEnd(widthOf(column)) : cell.padStart(widthOf(column));
  return rows.map((row) => row.map(cellOf).join('  ')).join('\n');
};

/**
 * A reporter of vitest. Prints for each project the seconds from the start of the run between which its files ran, and
 * their sum, in which files that ran at the same time both count.
 */
export default class ProjectTimes implements Reporter {
  readonly #startMs = performance.now();
  readonly #spans = new Map<string, { fromMs: number; toMs: number }>();

  onTestModuleStart({ project: { name } }: TestModule): void {
    const nowMs = performance.now() - this.#startMs;
    this.#spans.set(name, { fromMs: nowMs, toMs: nowMs, ...this.#spans.get(name) });
  }

  onTestModuleEnd({ project: { name } }: TestModule): void {
    const span = this.#spans.get(name);
    if (span) span.toMs = performance.now() - this.#startMs;
  }

  onTestRunEnd(modules: readonly TestModule[]): void {
    const secondsOf = (ms: number): string => (ms / 1_000).toFixed(0);
    const rows = [...this.#spans].map(([name, { fromMs, toMs }]) => {
      const own = modules.filter(({ project }) => project.name === name);
      const ofEach = own.map((module) => {
        const { collectDuration, setupDuration, duration } = module.diagnostic();
        return collectDuration + setupDuration + duration;
      });
      const sum = ofEach.reduce((total, ms) => total + ms, 0);
      return [name, String(own.length), secondsOf(fromMs), secondsOf(toMs), secondsOf(sum)];
    });
    process.stdout.write(`${tableOf([['project', 'files', 'from s', 'to s', 'sum s'], ...rows])}\n`);
  }
}
