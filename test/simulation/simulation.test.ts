import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { REGRESSION_SEEDS, seedsFrom } from './seeds.ts';
import { writeTemplate } from './template.ts';
import { runSeeds, startWorker } from './workers.ts';

/** `npm run simulate` runs any number. */
const SEEDS = 200;

let template: ReturnType<typeof writeTemplate>;
beforeAll(() => {
  template = writeTemplate();
});
afterAll(() => template.remove());

const traceOf = async (seed: number): Promise<readonly string[]> => {
  const worker = startWorker(template.file);
  try {
    // Another seed before it must change nothing.
    await worker.run({ seed: seed + 1 });
    return (await worker.run({ seed, isTraced: true })).trace;
  } finally {
    worker.stop();
  }
};

describe('the simulated service', () => {
  it(`keeps its promises in each of ${SEEDS} simulated runs`, async () => {
    const { failed, runs } = await runSeeds(template.file, [...REGRESSION_SEEDS, ...seedsFrom(1, SEEDS)]);
    expect(failed.map(({ seed, violations }) => ({ seed, violations }))).toEqual([]);
    expect(runs).toBeGreaterThanOrEqual(SEEDS);
  });

  it('does the same in every run of a seed, in another process and after another seed', async () => {
    const once = startWorker(template.file);
    try {
      for (const seed of seedsFrom(1, 10)) {
        const { trace } = await once.run({ seed, isTraced: true });
        expect(trace.length).toBeGreaterThan(100);
        if (seed % 5 === 0) expect(await traceOf(seed)).toEqual(trace);
        expect((await once.run({ seed, isTraced: true })).trace).toEqual(trace);
      }
    } finally {
      once.stop();
    }
  });
});
