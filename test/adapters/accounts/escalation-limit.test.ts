import { describe, expect, it } from 'vitest';
import { createEscalationLimit } from '../../../shared/adapters/accounts/escalation-limit.ts';
import { escalationCounter } from '../../../shared/pipeline/notices/unreached-notice.ts';
import { useDatabase } from '../../support/dynamodb.ts';
import { withLostResponse } from '../../support/dynamodb-faults.ts';

const { client, connect, newTenant } = useDatabase();

const MORNING_MS = Date.UTC(2026, 0, 1, 6);
const DAY_MS = 86_400_000;

const limit = createEscalationLimit(client, 'accounts', 2);
const isWithinLimit = (tenant: string, key: string, timeMs: number) => limit.add('escalations', tenant, key, timeMs);

describe('the daily limit of escalations', () => {
  it('accepts as many escalations a day as the limit, and counts a repeated one once', async () => {
    const tenant = newTenant();
    const results = [];
    for (const key of ['a', 'a', 'b', 'c', 'a', 'b']) results.push(await isWithinLimit(tenant, key, MORNING_MS));
    expect(results).toEqual([true, true, true, false, true, true]);
  });

  it('starts again on the next day (UTC), and is separate for each tenant', async () => {
    const tenant = newTenant();
    for (const key of ['a', 'b']) await isWithinLimit(tenant, key, MORNING_MS);
    expect(await isWithinLimit(tenant, 'c', MORNING_MS + 17 * 3_600_000)).toBe(false);
    expect(await isWithinLimit(tenant, 'c', MORNING_MS + DAY_MS)).toBe(true);
    expect(await isWithinLimit(newTenant(), 'c', MORNING_MS)).toBe(true);
  });

  it('is separate for OK, which cannot use up the limit of the other states', async () => {
    const tenant = newTenant();
    for (const key of ['a', 'b', 'c']) await limit.add(escalationCounter('OK'), tenant, key, MORNING_MS);
    const results = [];
    for (const [state, key] of [
      ['CRITICAL', 'd'],
      ['WARNING', 'e'],
      ['CRITICAL', 'f'],
    ] as const) {
      results.push(await limit.add(escalationCounter(state), tenant, key, MORNING_MS));
    }
    expect(results).toEqual([true, true, false]);
  });

  it('accepts the last escalation if the response to the write is lost and the SDK repeats it', async () => {
    const tenant = newTenant();
    await isWithinLimit(tenant, 'a', MORNING_MS);
    const lossy = createEscalationLimit(
      withLostResponse(connect({ maxAttempts: 2 }), 'UpdateItemCommand'),
      'accounts',
      2,
    );
    expect(await lossy.add('escalations', tenant, 'b', MORNING_MS)).toBe(true);
    expect(await isWithinLimit(tenant, 'c', MORNING_MS)).toBe(false);
  });

  it('keeps which notices of the day were queued, which do not count', async () => {
    const tenant = newTenant();
    expect(await limit.read('escalations', tenant, MORNING_MS)).toEqual({ keys: new Set(), sent: new Set() });
    await isWithinLimit(tenant, 'a', MORNING_MS);
    for (const notice of ['x', 'y', 'x']) await limit.markSent('escalations', tenant, notice, MORNING_MS);
    const found = { keys: new Set(['a']), sent: new Set(['x', 'y']) };
    expect(await limit.read('escalations', tenant, MORNING_MS)).toEqual(found);
  });
});
