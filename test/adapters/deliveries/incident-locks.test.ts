import { describe, expect, it } from 'vitest';
import { createIncidentLocks } from '../../../shared/adapters/deliveries/incident-locks.ts';
import { type EventTime, isOlder } from '../../../shared/domain/event-time.ts';
import { claimedLock, newestEventTime } from '../../../shared/domain/incident.ts';
import { newNotificationId } from '../../../shared/domain/notification-id.ts';
import { LEASE_MS } from '../../../shared/domain/timeouts.ts';
import { useDatabase } from '../../support/dynamodb.ts';
import { withLostResponse } from '../../support/dynamodb-faults.ts';
import { alarmHeader } from '../../support/events.ts';

const { client, connect } = useDatabase();
const locks = createIncidentLocks(client, 'deliveries');

const NOW = Date.UTC(2026, 0, 1);
/** After the end of every lease. */
const AFTER_LEASES = Date.UTC(2100, 0);

/** Returns a function that creates claims of one new lock for any worker. */
const newLock = () => {
  const id = newNotificationId();
  return (claimId: string, now = NOW, time = at(NOW)) => claimedLock(alarmHeader(), id, claimId, now, time);
};

/** Creates a lock that worker `a` has claimed. */
const heldLock = async () => {
  const by = newLock();
  await locks.claim(by('a'), NOW);
  return by;
};

/** The times of an event that SQS accepted when it happened. */
const at = (timeMs: number): EventTime => ({ producedAtMs: timeMs, acceptedAtMs: timeMs });

/** Reads the times of the newest event by claiming the lock. */
const newestIn = async (by: ReturnType<typeof newLock>): Promise<EventTime | undefined> => {
  const lock = await locks.claim(by('reader', AFTER_LEASES), AFTER_LEASES);
  return lock && newestEventTime(lock);
};

/** Events that have earlier, later or equal times, or none of their producer. */
const allTimes = [undefined, NOW, NOW + 1].flatMap((producedAtMs) =>
  [NOW + 2, NOW + 3].map((acceptedAtMs): EventTime => ({ producedAtMs, acceptedAtMs })),
);
const allPairs = allTimes.flatMap((first) => allTimes.map((second) => [first, second] as const));

describe('the incident lock', () => {
  it('of a worker that crashed is claimed for an older event after five minutes, and for a newer one after the lease', async () => {
    const [by, other] = [await heldLock(), await heldLock()];
    expect(await locks.claim(by('older', NOW + 300_000, at(NOW - 1)), NOW + 300_000)).toMatchObject({
      claim_id: 'older',
    });
    const later = NOW + LEASE_MS;
    expect(await locks.claim(other('newer', later, at(NOW + 1)), later)).toMatchObject({ claim_id: 'newer' });
  });

  it('of a worker that crashed is claimed for an older event after five minutes, also if its event is claimed again', async () => {
    const by = await heldLock();
    const again = NOW + 180_000;
    await locks.claim(by('again', again), again);
    const [before, after] = [NOW + 299_999, NOW + 300_000];
    expect(await locks.claim(by('older', before, at(NOW - 1)), before)).toBeUndefined();
    expect(await locks.claim(by('older', after, at(NOW - 1)), after)).toMatchObject({ claim_id: 'older' });
  });

  it('of a worker that crashed is not claimed for an older event after a newer one failed, until that one is decided', async () => {
    const by = await heldLock();
    const claimed = async (claimId: string, now: number, time: EventTime) =>
      (await locks.claim(by(claimId, now, time), now)) ?? expect.fail(`${claimId} must wait`);
    await locks.release(await claimed('newer', NOW + LEASE_MS, at(NOW + 1)), NOW + LEASE_MS);
    const older = (now: number) => locks.claim(by('older', now, at(NOW - 1)), now);
    expect(await older(NOW + 60_000)).toBeUndefined();
    await locks.release(await claimed('undecided', NOW + 61_000, at(NOW)), NOW + 61_000, false);
    expect(await older(NOW + 62_000)).toBeUndefined();
    await locks.release(await claimed('decided', NOW + 180_000, at(NOW)), NOW + 180_000);
    expect(await older(NOW + 180_000)).toMatchObject({ claim_id: 'older' });
  });

  it('belongs to its worker even if the response to the claim was lost, also of a worker that crashed', async () => {
    for (const by of [newLock(), await heldLock()]) {
      const losing = createIncidentLocks(withLostResponse(connect(), 'UpdateItemCommand'), 'deliveries');
      const later = NOW + LEASE_MS;
      expect(await losing.claim(by('b', later), later)).toMatchObject({ claim_id: 'b' });
    }
  });

  it('is not claimed by a copy of the claim that arrives after the release', async () => {
    const by = await heldLock();
    await locks.advanceAndRelease(by('a'), at(NOW - 5), NOW + 2_000);
    expect(await locks.claim(by('a'), NOW)).toBeUndefined();
    expect(await locks.claim(by('b', NOW + 2_000), NOW + 2_000)).toMatchObject({ claim_id: 'b' });
  });

  it('stores the newer of two events, in whichever order they are recorded', async () => {
    await Promise.all(
      allPairs.map(async ([first, second]) => {
        const by = await heldLock();
        await locks.advanceAndRelease(by('a'), first, NOW);
        // The lease has ended, and this worker does not know of the first event.
        await locks.advanceAndRelease(by('a'), second, NOW);
        expect(await newestIn(by)).toEqual(isOlder(first, second) ? second : first);
      }),
    );
  });
});
