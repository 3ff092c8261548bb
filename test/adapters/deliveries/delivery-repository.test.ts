import fc from 'fast-check';
import { afterAll, describe, expect, it } from 'vitest';
import { createDeliveryRepository } from '../../../shared/adapters/deliveries/delivery-repository.ts';
import { failed } from '../../../shared/domain/attempt-outcome.ts';
import { partitionPlace } from '../../../shared/domain/delivery-key.ts';
import {
  claimedRecord,
  LEASE_MS,
  withAttempt,
  withNextAttempt,
  withStatus,
} from '../../../shared/domain/delivery-record.ts';
import { claimedLock } from '../../../shared/domain/incident.ts';
import { newNotificationId } from '../../../shared/domain/notification-id.ts';
import { startDatabase } from '../../support/dynamodb.ts';
import { countRequests, withInterruption, withLostResponse, withThrottling } from '../../support/dynamodb-faults.ts';
import { alarmEvent } from '../../support/events.ts';

const { client, connect, stop } = await startDatabase();
afterAll(stop);
const deliveries = createDeliveryRepository(client, 'deliveries');

const NOW = Date.UTC(2026, 0, 1);
/** Beyond every lease, ms. */
const FAR = Date.UTC(2100, 0);
const transient = failed('transient', 'http_status', '', { status: 500 });

/** A delivery that nobody has claimed, as workers would claim it. */
const delivery = () => {
  const id = newNotificationId();
  return (owner: string, now = NOW, changes: { content_hash?: string; round?: number } = {}) =>
    claimedRecord(
      { event: alarmEvent(), notification_id: id, event_time_ms: NOW, content_hash: 'hash', ...changes },
      owner,
      now,
    );
};

/** A delivery with an attempt behind it, due again at some time. */
const waiting = async (due: number) => {
  const by = delivery();
  await deliveries.claim(by('first'), NOW);
  await deliveries.update(by('first'), withNextAttempt(withAttempt(by('first'), transient, NOW, 10), due));
  return by;
};

describe('a delivery that nobody works on', () => {
  it('is whose who claims it first, and recorded at once', async () => {
    const by = delivery();
    expect(await deliveries.claim(by('a'), NOW)).toEqual({ kind: 'claimed', record: by('a') });
    expect(await deliveries.read(by('a'))).toEqual(by('a'));
  });

  it('goes to exactly one of twenty workers that claim it at once', async () => {
    const by = delivery();
    const claims = await Promise.all(Array.from({ length: 20 }, (_, index) => deliveries.claim(by(`w${index}`), NOW)));
    expect(claims.filter(({ kind }) => kind === 'claimed')).toHaveLength(1);
    expect(claims.filter(({ kind }) => kind === 'busy')).toHaveLength(19);
  });

  it('goes to its worker even where the answer to the claim was lost', async () => {
    const by = delivery();
    const losing = createDeliveryRepository(withLostResponse(connect(), 'PutItemCommand'), 'deliveries');
    expect(await losing.claim(by('a'), NOW)).toMatchObject({ kind: 'claimed', record: { claim_id: 'a' } });
  });

  it('costs one write and no read', async () => {
    const database = connect();
    const counts = countRequests(database);
    await createDeliveryRepository(database, 'deliveries').claim(delivery()('a'), NOW);
    expect(counts).toEqual({ PutItemCommand: 1 });
  });

  it('is one for each notification of an event', async () => {
    for (const by of [delivery(), delivery()]) {
      expect(await deliveries.claim(by('a'), NOW)).toMatchObject({ kind: 'claimed' });
    }
  });
});

describe('a delivery that a worker has', () => {
  it('is busy for all others until the lease ends', async () => {
    const by = delivery();
    await deliveries.claim(by('a'), NOW);
    expect(await deliveries.claim(by('b'), NOW)).toEqual({ kind: 'busy', until: NOW + LEASE_MS });
    expect(await deliveries.claim(by('b'), NOW + LEASE_MS - 1)).toEqual({ kind: 'busy', until: NOW + LEASE_MS });
  });

  it('is another’s once the lease has withStatus: its worker died', async () => {
    const by = delivery();
    await deliveries.claim(by('a'), NOW);
    const later = NOW + LEASE_MS;
    expect(await deliveries.claim(by('b', later), later)).toMatchObject({
      kind: 'claimed',
      record: { claim_id: 'b', attempt_count: 0, round_started_at_ms: NOW, lease_until_ms: later + LEASE_MS },
    });
  });

  it('is its own worker’s still, where that one asks twice', async () => {
    const by = delivery();
    await deliveries.claim(by('a'), NOW);
    expect(await deliveries.claim(by('a'), NOW)).toMatchObject({ kind: 'claimed', record: { claim_id: 'a' } });
  });
});

describe('a delivery that waits for its next attempt', () => {
  it('is early before that is due, and claimed with its history from then on', async () => {
    const due = NOW + 5_000;
    const by = await waiting(due);
    expect(await deliveries.claim(by('b'), due - 1)).toEqual({ kind: 'not_due', due });
    expect(await deliveries.claim(by('b', due), due)).toMatchObject({
      kind: 'claimed',
      record: {
        claim_id: 'b',
        attempt_count: 1,
        round_started_at_ms: NOW,
        attempts: [{ timestamp_ms: NOW, result: 'transient', status: 500, duration_ms: 10 }],
      },
    });
  });

  it('goes to its worker even where the answer to the claim was lost', async () => {
    const by = await waiting(NOW);
    // Its first write is refused, since there is a record: it is the second one's answer that is lost.
    const losing = createDeliveryRepository(withLostResponse(connect(), 'PutItemCommand'), 'deliveries');
    expect(await losing.claim(by('b'), NOW)).toMatchObject({
      kind: 'claimed',
      record: { claim_id: 'b', attempt_count: 1 },
    });
  });

  it('is another worker’s who claimed it after we had read that it was free', async () => {
    const by = await waiting(NOW);
    const database = withInterruption(
      connect(),
      'PutItemCommand',
      () => deliveries.claim(by('quick'), NOW),
      (count) => count === 2,
    );
    const slow = createDeliveryRepository(database, 'deliveries');
    expect(await slow.claim(by('slow'), NOW)).toEqual({ kind: 'busy', until: NOW + LEASE_MS });
    expect(await deliveries.read(by('slow'))).toMatchObject({ claim_id: 'quick', attempt_count: 1 });
  });

  it('is not sent by a worker who read that it was free before another one delivered it', async () => {
    const by = await waiting(NOW);
    const deliver = async () => {
      await deliveries.claim(by('quick'), NOW);
      await deliveries.complete(withStatus(by('quick'), 'delivered'));
    };
    const database = withInterruption(connect(), 'PutItemCommand', deliver, (count) => count === 2);
    const slow = createDeliveryRepository(database, 'deliveries');
    expect(await slow.claim(by('slow'), NOW)).toMatchObject({ kind: 'busy' });
    expect(await deliveries.claim(by('slow'), NOW)).toMatchObject({ kind: 'ended' });
  });

  it('goes to exactly one of twenty workers that claim it at once', async () => {
    const by = await waiting(NOW);
    const claims = await Promise.all(Array.from({ length: 20 }, (_, index) => deliveries.claim(by(`w${index}`), NOW)));
    expect(claims.filter(({ kind }) => kind === 'claimed')).toHaveLength(1);
    expect(claims.filter(({ kind }) => kind === 'busy')).toHaveLength(19);
  });

  it('keeps the parts that have arrived', async () => {
    const by = delivery();
    await deliveries.claim(by('a'), NOW);
    const partly = withAttempt(by('a'), { ...transient, reachedRecipientHashes: ['p1'] }, NOW, 10);
    await deliveries.update(by('a'), withNextAttempt(partly, NOW));
    expect(await deliveries.claim(by('b'), NOW)).toMatchObject({
      kind: 'claimed',
      record: { reached_recipient_hashes: ['p1'] },
    });
  });
});

describe('a delivery that has ended', () => {
  it.each(['delivered', 'superseded', 'cancelled'] as const)('is not claimed again once it is %s', async (status) => {
    const by = delivery();
    await deliveries.claim(by('a'), NOW);
    await deliveries.complete(withStatus(by('a'), status));
    expect(await deliveries.claim(by('b'), NOW + 86_400_000)).toMatchObject({ kind: 'ended' });
  });

  /** A dead delivery whose rounds so far are countRequests in its record. */
  const dead = async (round = 1) => {
    const by = delivery();
    await deliveries.claim(by('a', NOW, { round }), NOW);
    await deliveries.update(by('a'), withStatus(withAttempt(by('a', NOW, { round }), transient, NOW, 10), 'failed'));
    return by;
  };

  it.each([1, 2, 7])('starts a new round for the dead letter of round %i, and keeps its attempts', async (round) => {
    const by = await dead(round);
    const later = NOW + 86_400_000;
    const next = by('b', later, { round: round + 1 });
    expect(await deliveries.claim(next, later)).toMatchObject({
      kind: 'claimed',
      record: {
        status: 'pending',
        claim_id: 'b',
        round: round + 1,
        attempt_count: 0,
        round_started_at_ms: later,
        first_attempt_at_ms: 0,
        next_attempt_at_ms: later,
        lease_until_ms: later + LEASE_MS,
      },
    });
    expect((await deliveries.read(next))?.attempts).toHaveLength(1);
  });

  it.each([undefined, 1, 2, 4])(
    'takes a message of round %s for a duplicate where the next round is the third',
    async (round) => {
      const by = await dead(2);
      expect(await deliveries.claim(by('b', NOW, round === undefined ? {} : { round }), NOW)).toMatchObject({
        kind: 'ended',
      });
    },
  );

  it('starts a new round for exactly one of ten copies of its dead letter', async () => {
    const by = await dead();
    const claims = await Promise.all(
      Array.from({ length: 10 }, (_, index) => deliveries.claim(by(`w${index}`, NOW, { round: 2 }), NOW)),
    );
    expect(claims.filter(({ kind }) => kind === 'claimed')).toHaveLength(1);
    expect(claims.filter(({ kind }) => kind === 'busy')).toHaveLength(9);
  });
});

describe('another message with the id of the same event', () => {
  const other = (by: ReturnType<typeof delivery>) => by('b', NOW, { content_hash: 'other' });

  it('never takes the place of the first one, whether that is at work, waits, has ended or is dead', async () => {
    const atWork = delivery();
    await deliveries.claim(atWork('a'), NOW);
    const due = await waiting(NOW);
    const [done, dead] = [delivery(), delivery()];
    await deliveries.complete(withStatus(done('a'), 'delivered'));
    await deliveries.complete(withStatus(dead('a'), 'failed'));
    for (const by of [atWork, due, done, dead]) {
      expect(await deliveries.claim(other(by), NOW + 2 * LEASE_MS)).toEqual({ kind: 'conflict' });
    }
  });

  it('is noted beside the record, whatever its holder writes meanwhile', async () => {
    const by = delivery();
    await deliveries.claim(by('a'), NOW);
    await deliveries.noteConflict(by('a'), NOW + 5);
    await deliveries.complete(withStatus(by('a'), 'delivered'));
    const { tenant, notificationId } = partitionPlace(by('a').pk);
    expect(await deliveries.conflicts({ tenant, notificationId })).toEqual(new Map([[by('a').sk, NOW + 5]]));
    expect(await deliveries.newest({ tenant, notificationId }, 10)).toEqual([withStatus(by('a'), 'delivered')]);
  });
});

describe('a delivery whose message SQS held until its round was over', () => {
  it('can be claimed again by the same message where its worker could not send it', async () => {
    const by = await waiting(NOW + 5_000);
    const redriven = NOW + 26 * 3_600_000;
    const claim = await deliveries.claim(by('b', redriven), redriven, redriven);
    if (claim.kind !== 'claimed') throw new Error(claim.kind);
    expect(claim.record.round).toBe(2);
    await deliveries.update(claim.record, withNextAttempt(claim.record, claim.record.next_attempt_at_ms));
    const later = redriven + 2_000;
    expect(await deliveries.claim(by('c', later), later, redriven)).toMatchObject({
      kind: 'claimed',
      record: { round: 2 },
    });
  });
});

describe('a write that lets others claim a delivery', () => {
  it('is applied once where its response was lost and the SDK repeats it', async () => {
    const by = delivery();
    await deliveries.claim(by('a'), NOW);
    const losing = createDeliveryRepository(withLostResponse(connect(), 'PutItemCommand'), 'deliveries');
    expect(await losing.update(by('a'), withNextAttempt(by('a'), NOW + 5_000))).toBe(false);
    expect(await deliveries.read(by('a'))).toMatchObject({ next_attempt_at_ms: NOW + 5_000, lease_until_ms: 0 });
  });

  it('changes nothing where it arrives late, after another worker has claimed the delivery', async () => {
    const by = delivery();
    await deliveries.claim(by('a'), NOW);
    await deliveries.update(by('a'), withNextAttempt(by('a'), NOW));
    await deliveries.claim(by('b'), NOW);
    expect(await deliveries.update(by('a'), withNextAttempt(by('a'), NOW + 60_000))).toBe(false);
    expect(await deliveries.read(by('a'))).toEqual({ ...by('b') });
  });

  it('does not open again what the same worker has given up since', async () => {
    const by = delivery();
    await deliveries.claim(by('a'), NOW);
    const kept = withAttempt(by('a'), transient, NOW, 10);
    await deliveries.update(by('a'), kept);
    await deliveries.update(kept, withStatus(kept, 'failed'));
    expect(await deliveries.update(by('a'), kept)).toBe(false);
    expect(await deliveries.read(by('a'))).toMatchObject({ status: 'failed' });
  });
});

describe('the lock of an incident', () => {
  const lockOf =
    (id = newNotificationId()) =>
    (owner: string, now = NOW) =>
      claimedLock(alarmEvent(), id, owner, now);

  it('belongs to the first worker that claims it, until the lease ends', async () => {
    const by = lockOf();
    expect(await deliveries.claimLock(by('a'), NOW)).toEqual(by('a'));
    expect(await deliveries.claimLock(by('b'), NOW)).toBeUndefined();
    const later = NOW + LEASE_MS;
    expect(await deliveries.claimLock(by('b', later), later)).toEqual(by('b', later));
  });

  it('belongs to exactly one of twenty workers that claim it at once', async () => {
    const by = lockOf();
    const locks = await Promise.all(
      Array.from({ length: 20 }, (_, index) => deliveries.claimLock(by(`w${index}`), NOW)),
    );
    expect(locks.filter(Boolean)).toHaveLength(1);
  });

  it('belongs to its worker even where the response to the claim was lost', async () => {
    const losing = createDeliveryRepository(withLostResponse(connect(), 'UpdateItemCommand'), 'deliveries');
    expect(await losing.claimLock(lockOf()('a'), NOW)).toMatchObject({ claim_id: 'a' });
  });

  const held = async () => {
    const by = lockOf();
    await deliveries.claimLock(by('a'), NOW);
    return by;
  };
  const newest = async (by: ReturnType<typeof lockOf>) =>
    (await deliveries.claimLock(by('reader', FAR), FAR))?.newest_event_at_ms;

  it('remembers the newest event from one worker to the next, and is free once it is released', async () => {
    const by = await held();
    await deliveries.advanceAndReleaseLock(by('a'), NOW - 5, NOW);
    expect(await deliveries.claimLock(by('b'), NOW)).toEqual({ ...by('b'), newest_event_at_ms: NOW - 5 });
  });

  it('is held on to while it advances', async () => {
    const by = await held();
    expect(await deliveries.advanceLock(by('a'), NOW - 5)).toMatchObject({
      claim_id: 'a',
      newest_event_at_ms: NOW - 5,
    });
    expect(await deliveries.claimLock(by('b'), NOW)).toBeUndefined();
    await deliveries.releaseLock(by('a'), NOW);
    expect(await deliveries.claimLock(by('b'), NOW)).toMatchObject({ newest_event_at_ms: NOW - 5 });
  });

  it('is not taken from the next worker by a release that arrives late', async () => {
    const by = await held();
    await deliveries.releaseLock(by('a'), NOW);
    await deliveries.claimLock(by('b'), NOW);
    await deliveries.releaseLock(by('a'), NOW);
    await deliveries.advanceAndReleaseLock(by('a'), NOW - 100, NOW);
    expect(await deliveries.claimLock(by('c'), NOW)).toBeUndefined();
  });

  it('is not taken again for nobody by a copy of its claim that arrives after its release', async () => {
    const by = await held();
    await deliveries.advanceAndReleaseLock(by('a'), NOW - 5, NOW + 2_000);
    expect(await deliveries.claimLock(by('a'), NOW)).toBeUndefined();
    expect(await deliveries.claimLock(by('b', NOW + 2_000), NOW + 2_000)).toMatchObject({ claim_id: 'b' });
  });

  it('only moves to newer events, in whatever order and however often its writes are applied', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(
          fc.record({
            time: fc.integer({ min: 1, max: 50 }),
            how: fc.constantFrom('advanceLock', 'advanceAndReleaseLock'),
            owner: fc.constantFrom('a', 'b'),
          }),
          { minLength: 1, maxLength: 6 },
        ),
        async (writes) => {
          const by = await held();
          for (const { time, how, owner } of writes) await deliveries[how](by(owner), time, NOW);
          expect(await newest(by)).toBe(Math.max(...writes.map(({ time }) => time)));
        },
      ),
      { numRuns: 25 },
    );
  });

  it('says which of those that wait for it is the newest', async () => {
    const by = await held();
    expect(await deliveries.noteWaiting(by('x'), NOW)).toBe(true);
    expect(await deliveries.noteWaiting(by('x'), NOW - 1)).toBe(false);
    expect(await deliveries.noteWaiting(by('x'), NOW)).toBe(true);
    expect(await deliveries.noteWaiting(by('x'), NOW + 1)).toBe(true);
    expect(await deliveries.noteWaiting(by('x'), NOW)).toBe(false);
  });

  it('can be waited for before anybody has claimed it', async () => {
    const by = lockOf();
    await deliveries.noteWaiting(by('x'), NOW);
    expect(await deliveries.claimLock(by('a'), NOW)).toEqual(by('a'));
  });
});

describe('completing records', () => {
  it('writes several at once in one request, each whole', async () => {
    const database = connect();
    const counts = countRequests(database);
    const repository = createDeliveryRepository(database, 'deliveries');
    const records = Array.from({ length: 10 }, () => withStatus(delivery()('a'), 'delivered'));
    await Promise.all(records.map(repository.complete));
    expect(counts).toEqual({ BatchWriteItemCommand: 1 });
    expect(await Promise.all(records.map(repository.read))).toEqual(records);
  });

  it('writes more than a request holds', async () => {
    const records = Array.from({ length: 60 }, () => withStatus(delivery()('a'), 'delivered'));
    await Promise.all(records.map(deliveries.complete));
    expect(await Promise.all(records.map(deliveries.read))).toEqual(records);
  });

  it('writes one after the other where they come so', async () => {
    const by = delivery();
    await deliveries.complete(withStatus(by('a'), 'cancelled'));
    await deliveries.complete(withStatus(by('a'), 'delivered'));
    expect(await deliveries.read(by('a'))).toMatchObject({ status: 'delivered' });
  });

  it('fails where the table does not take them, and works again afterwards', async () => {
    const database = withThrottling(connect({ maxAttempts: 1 }), 'BatchWriteItemCommand', 1);
    const repository = createDeliveryRepository(database, 'deliveries');
    const record = withStatus(delivery()('a'), 'delivered');
    const saved = await Promise.allSettled([
      repository.complete(record),
      repository.complete(withStatus(delivery()('a'), 'cancelled')),
    ]);
    expect(saved.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    await repository.complete(record);
    expect(await repository.read(record)).toEqual(record);
  });

  it('writes all others where the table does not take one of them', async () => {
    const records = Array.from({ length: 5 }, () => withStatus(delivery()('a'), 'delivered'));
    const tooLarge = { ...withStatus(delivery()('a'), 'delivered'), event_id: 'x'.repeat(500_000) };
    const saved = await Promise.allSettled([...records, tooLarge].map(deliveries.complete));
    expect(saved.map(({ status }) => status)).toEqual([...records.map(() => 'fulfilled'), 'rejected']);
    expect(await Promise.all(records.map(deliveries.read))).toEqual(records);
  });
});

describe('a table that does not answer', () => {
  it('makes a claim fail, and is never taken for "busy" or "ended"', async () => {
    const repository = createDeliveryRepository(
      withThrottling(connect({ maxAttempts: 1 }), 'PutItemCommand'),
      'deliveries',
    );
    await expect(repository.claim(delivery()('a'), NOW)).rejects.toMatchObject({
      name: 'ProvisionedThroughputExceededException',
    });
  });

  it('has no record of what was never claimed', async () => {
    expect(await deliveries.read(delivery()('a'))).toBeUndefined();
  });
});
