import { describe, expect, it } from 'vitest';
import { runChaos } from './chaos.ts';

describe('a short chaos run', () => {
  it('loses no delivery or notice, and duplicates one only if a worker is killed between send and record or a send times out', async () => {
    const result = await runChaos({ events: 60, tenants: 3, seed: 20 });
    for (const row of [...result.rows, ...result.notices]) expect(row).toMatchObject({ lost: 0, duplicated: 0 });
    expect(result).toMatchObject({ lostBeforeRecovery: 0, missingNotices: 0, missingSummaries: 0 });
    expect(result.redeliverRequests).toBeGreaterThan(0);
    // The count is higher if dispatch is killed after it dead-letters an event, or if SQS delivers an event twice.
    expect(result.invalidDeadLettered).toBeGreaterThanOrEqual(result.invalid);
    expect(result.kills).toBeGreaterThan(0);
    expect(result.incidentsLeftOpen).toBe(0);
    expect(result.rejectedCalls + result.lateResponses + result.throttledKeys + result.partialBatches).toBeGreaterThan(
      0,
    );
  });
});
