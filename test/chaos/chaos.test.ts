import { describe, expect, it } from 'vitest';
import { runChaos } from './chaos.ts';

describe('a little chaos', () => {
  it('loses no delivery, and doubles none but where a worker was killed between the send and the record', async () => {
    const result = await runChaos({ events: 60, tenants: 3, seed: 20 });
    for (const row of result.rows) expect(row).toMatchObject({ lost: 0, doubled: 0 });
    // Twice where the dispatch died after it had buried one, or the queue gave one twice.
    expect(result.malformedBuried).toBeGreaterThanOrEqual(result.malformed);
    expect(result.kills).toBeGreaterThan(0);
    expect(result.incidentsLeftOpen).toBe(0);
    expect(result.refused + result.late + result.throttledKeys + result.partialBatches).toBeGreaterThan(0);
  });
});
