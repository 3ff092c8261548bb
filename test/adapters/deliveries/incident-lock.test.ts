import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createDeliveryRepository } from '../../../shared/adapters/deliveries/delivery-repository.ts';
import { LEASE_MS } from '../../../shared/domain/delivery-record.ts';
import { claimedLock } from '../../../shared/domain/incident.ts';
import { newNotificationId } from '../../../shared/domain/notification-id.ts';
import { useDatabase } from '../../support/dynamodb.ts';
import { withLostResponse } from '../../support/dynamodb-faults.ts';
import { alarmEvent } from '../../support/events.ts';

const { client, connect } = useDatabase();
const deliveries = createDeliveryRepository(client, 'deliveries');

const NOW = Date.UTC(2026, 0, 1);
/** After the end of every lease. */
const AFTER_LEASES = Date.UTC(2100, 0);

/** Returns a function that creates claims of one new lock for any worker. */
const newLock = () => {
  const id = newNotificationId();
  return (claimId: string, now = NOW) => claimedLock(alarmEvent(), id, claimId, now);
};

/** Creates a lock that worker `a` has claimed. */
const heldLock = async () => {
  const by = newLock();
  await deliveries.claimLock(by('a'), NOW);
  return by;
};

/** Reads the newest event time by claiming the lock. */
const newestEventTime = async (by: ReturnType<typeof newLock>) =>
  (await deliveries.claimLock(by('reader', AFTER_LEASES), AFTER_LEASES))?.newest_event_at_ms;

describe('the incident lock', () => {
  it('belongs to the first worker that claims it until its lease ends', async () => {
    const by = newLock();
    expect(await deliveries.claimLock(by('a'), NOW)).toEqual(by('a'));
    expect(await deliveries.claimLock(by('b'), NOW)).toBeUndefined();
    const later = NOW + LEASE_MS;
    expect(await deliveries.claimLock(by('b', later), later)).toEqual(by('b', later));
  });

  it('belongs to exactly one of twenty concurrent workers', async () => {
    const by = newLock();
    const locks = await Promise.all(
      Array.from({ length: 20 }, (_, index) => deliveries.claimLock(by(`w${index}`), NOW)),
    );
    expect(locks.filter(Boolean)).toHaveLength(1);
  });

  it('belongs to its worker even if the response to the claim was lost', async () => {
    const losing = createDeliveryRepository(withLostResponse(connect(), 'UpdateItemCommand'), 'deliveries');
    expect(await losing.claimLock(newLock()('a'), NOW)).toMatchObject({ claim_id: 'a' });
  });

  it('keeps the newest event time after it is released', async () => {
    const by = await heldLock();
    await deliveries.advanceAndReleaseLock(by('a'), NOW - 5, NOW);
    expect(await deliveries.claimLock(by('b'), NOW)).toEqual({ ...by('b'), newest_event_at_ms: NOW - 5 });
  });

  it('stays claimed while its newest event time advances', async () => {
    const by = await heldLock();
    expect(await deliveries.advanceLock(by('a'), NOW - 5)).toMatchObject({
      claim_id: 'a',
      newest_event_at_ms: NOW - 5,
    });
    expect(await deliveries.claimLock(by('b'), NOW)).toBeUndefined();
    await deliveries.releaseLock(by('a'), NOW);
    expect(await deliveries.claimLock(by('b'), NOW)).toMatchObject({ newest_event_at_ms: NOW - 5 });
  });

  it('is not released by a late write of an earlier worker', async () => {
    const by = await heldLock();
    await deliveries.releaseLock(by('a'), NOW);
    await deliveries.claimLock(by('b'), NOW);
    await deliveries.releaseLock(by('a'), NOW);
    await deliveries.advanceAndReleaseLock(by('a'), NOW - 100, NOW);
    expect(await deliveries.claimLock(by('c'), NOW)).toBeUndefined();
  });

  it('is not claimed by a copy of the claim that arrives after the release', async () => {
    const by = await heldLock();
    await deliveries.advanceAndReleaseLock(by('a'), NOW - 5, NOW + 2_000);
    expect(await deliveries.claimLock(by('a'), NOW)).toBeUndefined();
    expect(await deliveries.claimLock(by('b', NOW + 2_000), NOW + 2_000)).toMatchObject({ claim_id: 'b' });
  });

  it('only advances to newer events, regardless of the number and order of writes', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(
          fc.record({
            time: fc.integer({ min: 1, max: 50 }),
            method: fc.constantFrom('advanceLock', 'advanceAndReleaseLock'),
            claimId: fc.constantFrom('a', 'b'),
          }),
          { minLength: 1, maxLength: 6 },
        ),
        async (writes) => {
          const by = await heldLock();
          for (const { time, method, claimId } of writes) await deliveries[method](by(claimId), time, NOW);
          expect(await newestEventTime(by)).toBe(Math.max(...writes.map(({ time }) => time)));
        },
      ),
      { numRuns: 25 },
    );
  });

  it('reports whether a waiting event is the newest one', async () => {
    const by = await heldLock();
    expect(await deliveries.recordWaiting(by('x'), NOW)).toBe(true);
    expect(await deliveries.recordWaiting(by('x'), NOW - 1)).toBe(false);
    expect(await deliveries.recordWaiting(by('x'), NOW)).toBe(true);
    expect(await deliveries.recordWaiting(by('x'), NOW + 1)).toBe(true);
    expect(await deliveries.recordWaiting(by('x'), NOW)).toBe(false);
  });

  it('accepts a waiting event before the first claim', async () => {
    const by = newLock();
    await deliveries.recordWaiting(by('x'), NOW);
    expect(await deliveries.claimLock(by('a'), NOW)).toEqual(by('a'));
  });
});
