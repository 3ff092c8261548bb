import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { isQuickRun } from '../support/quick-run.ts';
import { REGRESSION_SEEDS, seedsFrom } from './seeds.ts';
import { writeTemplate } from './template.ts';
import { runSeeds, startWorker } from './workers.ts';

/** `npm run simulate` runs any number. */
const SEEDS = isQuickRun ? 15 : 200;
const REPEATED_SEEDS = isQuickRun ? 3 : 10;

let template: ReturnType<typeof writeTemplate>;
beforeAll(() => {
  template = writeTemplate();
});
afterAll(() => template.remove());

/** Returns a line of a trace without stack traces, which contain the functions of the SDK. */
const withoutStack = (line: string): string => line.replace(/"at":\[.*?\],?/, '').replaceAll(/\n {4}at .*/g, '');

/** Returns the traces of seeds, which one process runs in this order. */
const tracesOf = async (seeds: readonly number[], isSerialized: boolean): Promise<Map<number, readonly string[]>> => {
  const worker = startWorker(template.file);
  const traces = new Map<number, readonly string[]>();
  try {
    for (const seed of seeds) {
      const { trace } = await worker.run({ seed, isSerialized, isTraced: true });
      traces.set(seed, trace.map(withoutStack));
    }
  } finally {
    worker.stop();
  }
  return traces;
};

describe('the simulated service', () => {
  it(`keeps its promises in each of ${SEEDS} simulated runs`, async () => {
    const { failed, runs } = await runSeeds(template.file, [...REGRESSION_SEEDS, ...seedsFrom(1, SEEDS)]);
    expect(failed.map(({ seed, violations }) => ({ seed, violations }))).toEqual([]);
    expect(runs).toBeGreaterThanOrEqual(SEEDS);
  });

  it('does the same in every run of a seed: in another process, after other seeds, if the SDK serializes all calls', async () => {
    const seeds = seedsFrom(1, REPEATED_SEEDS);
    const [traces, others] = await Promise.all([tracesOf(seeds, false), tracesOf(seeds.toReversed(), true)]);
    for (const seed of seeds) {
      expect(traces.get(seed)?.length).toBeGreaterThan(100);
      expect(others.get(seed)).toEqual(traces.get(seed));
    }
  });
});
