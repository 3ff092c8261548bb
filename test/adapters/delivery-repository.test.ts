import { afterAll, describe, expect, it } from 'vitest';
import { createDeliveryRepository } from '../../shared/adapters/delivery-repository.ts';
import { attempted, claimedRecord, ended, LEASE } from '../../shared/domain/delivery-record.ts';
import { claimedTurn } from '../../shared/domain/incident.ts';
import { newNotificationId } from '../../shared/domain/notification-id.ts';
import { failed } from '../../shared/domain/outcome.ts';
import { startDatabase } from '../support/dynamodb.ts';
import { counted, interrupted, losingAnswer, throttled } from '../support/dynamodb-faults.ts';
import { alarmEvent } from '../support/events.ts';

const { client, connect, stop } = await startDatabase();
afterAll(stop);
const deliveries = createDeliveryRepository(client, 'deliveries');

const NOW = Date.UTC(2026, 0, 1);
const transient = failed('transient', 'status', '', { status: 500 });

/** A delivery that nobody has claimed, as workers would claim it. */
const delivery = () => {
  const id = newNotificationId();
  return (owner: string, now = NOW, message = 'message') =>
    claimedRecord({ event: alarmEvent(), notification_id: id }, message, owner, now);
};

/** A delivery with an attempt behind it, due again at some time. */
const waiting = async (due: number) => {
  const by = delivery();
  await deliveries.claim(by('first'), NOW);
  await deliveries.save({ ...attempted(by('first'), transient, NOW, 10), due, lease: 0 });
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
    const losing = createDeliveryRepository(losingAnswer(connect(), 'PutItemCommand'), 'deliveries');
    expect(await losing.claim(by('a'), NOW)).toMatchObject({ kind: 'claimed', record: { owner: 'a' } });
  });

  it('costs one write and no read', async () => {
    const database = connect();
    const counts = counted(database);
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
    expect(await deliveries.claim(by('b'), NOW)).toEqual({ kind: 'busy', until: NOW + LEASE });
    expect(await deliveries.claim(by('b'), NOW + LEASE - 1)).toEqual({ kind: 'busy', until: NOW + LEASE });
  });

  it('is another’s once the lease has ended: its worker died', async () => {
    const by = delivery();
    await deliveries.claim(by('a'), NOW);
    const later = NOW + LEASE;
    expect(await deliveries.claim(by('b', later), later)).toMatchObject({
      kind: 'claimed',
      record: { owner: 'b', attempts: 0, opened: NOW, lease: later + LEASE },
    });
  });

  it('is its own worker’s still, where that one asks twice', async () => {
    const by = delivery();
    await deliveries.claim(by('a'), NOW);
    expect(await deliveries.claim(by('a'), NOW)).toMatchObject({ kind: 'claimed', record: { owner: 'a' } });
  });
});

describe('a delivery that waits for its next attempt', () => {
  it('is early before that is due, and claimed with its history from then on', async () => {
    const due = NOW + 5_000;
    const by = await waiting(due);
    expect(await deliveries.claim(by('b'), due - 1)).toEqual({ kind: 'early', due });
    expect(await deliveries.claim(by('b', due), due)).toMatchObject({
      kind: 'claimed',
      record: {
        owner: 'b',
        attempts: 1,
        opened: NOW,
        history: [{ at: NOW, result: 'transient', status: 500, took: 10 }],
      },
    });
  });

  it('goes to its worker even where the answer to the claim was lost', async () => {
    const by = await waiting(NOW);
    // Its first write is refused, since there is a record: it is the second one's answer that is lost.
    const losing = createDeliveryRepository(losingAnswer(connect(), 'PutItemCommand'), 'deliveries');
    expect(await losing.claim(by('b'), NOW)).toMatchObject({ kind: 'claimed', record: { owner: 'b', attempts: 1 } });
  });

  it('is another worker’s who claimed it after we had read that it was free', async () => {
    const by = await waiting(NOW);
    const database = interrupted(
      connect(),
      'PutItemCommand',
      () => deliveries.claim(by('quick'), NOW),
      (count) => count === 2,
    );
    const slow = createDeliveryRepository(database, 'deliveries');
    expect(await slow.claim(by('slow'), NOW)).toEqual({ kind: 'busy', until: NOW + LEASE });
    expect(await deliveries.read(by('slow'))).toMatchObject({ owner: 'quick', attempts: 1 });
  });

  it('is not sent by a worker who read that it was free before another one delivered it', async () => {
    const by = await waiting(NOW);
    const deliver = async () => {
      await deliveries.claim(by('quick'), NOW);
      await deliveries.save(ended(by('quick'), 'delivered'));
    };
    const database = interrupted(connect(), 'PutItemCommand', deliver, (count) => count === 2);
    const slow = createDeliveryRepository(database, 'deliveries');
    expect(await slow.claim(by('slow'), NOW)).toMatchObject({ kind: 'busy' });
    expect(await deliveries.claim(by('slow'), NOW)).toEqual({ kind: 'ended' });
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
    await deliveries.save({ ...attempted(by('a'), { ...transient, partsDone: ['p1'] }, NOW, 10), lease: 0 });
    expect(await deliveries.claim(by('b'), NOW)).toMatchObject({ kind: 'claimed', record: { parts: ['p1'] } });
  });
});

describe('a delivery that has ended', () => {
  it.each(['delivered', 'superseded', 'cancelled'] as const)('is not claimed again once it is %s', async (status) => {
    const by = delivery();
    await deliveries.claim(by('a'), NOW);
    await deliveries.save(ended(by('a'), status));
    expect(await deliveries.claim(by('b'), NOW + 86_400_000)).toEqual({ kind: 'ended' });
  });

  it('is opened again for a new round where it was dead', async () => {
    const by = await waiting(NOW + 5_000);
    await deliveries.save(ended(attempted(by('a'), transient, NOW, 10), 'dead'));
    const later = NOW + 86_400_000;
    expect(await deliveries.claim(by('b', later), later)).toMatchObject({
      kind: 'claimed',
      record: { status: 'pending', owner: 'b', attempts: 0, opened: later, due: later, lease: later + LEASE },
    });
    expect((await deliveries.read(by('b')))?.history).toHaveLength(1);
  });

  it('is opened again by exactly one of ten messages', async () => {
    const by = delivery();
    await deliveries.claim(by('a'), NOW);
    await deliveries.save(ended(by('a'), 'dead'));
    const claims = await Promise.all(Array.from({ length: 10 }, (_, index) => deliveries.claim(by(`w${index}`), NOW)));
    expect(claims.filter(({ kind }) => kind === 'claimed')).toHaveLength(1);
    expect(claims.filter(({ kind }) => kind === 'busy')).toHaveLength(9);
  });
});

describe('another message with the id of the same event', () => {
  const other = (by: ReturnType<typeof delivery>) => by('b', NOW, 'other message');

  it('never takes the place of the first one, whether that is at work, waits, has ended or is dead', async () => {
    const atWork = delivery();
    await deliveries.claim(atWork('a'), NOW);
    const due = await waiting(NOW);
    const [done, dead] = [delivery(), delivery()];
    await deliveries.save(ended(done('a'), 'delivered'));
    await deliveries.save(ended(dead('a'), 'dead'));
    for (const by of [atWork, due, done, dead]) {
      expect(await deliveries.claim(other(by), NOW + 2 * LEASE)).toEqual({ kind: 'conflict' });
    }
  });
});

describe('the turn of an incident', () => {
  const turnOf =
    (id = newNotificationId()) =>
    (owner: string, now = NOW) =>
      claimedTurn(alarmEvent(), id, owner, now);

  it('is whose who claims it first, until the lease ends', async () => {
    const by = turnOf();
    expect(await deliveries.claimTurn(by('a'), NOW)).toEqual(by('a'));
    expect(await deliveries.claimTurn(by('b'), NOW)).toBeUndefined();
    const later = NOW + LEASE;
    expect(await deliveries.claimTurn(by('b', later), later)).toEqual(by('b', later));
  });

  it('is exactly one of twenty workers’ who claim it at once', async () => {
    const by = turnOf();
    const turns = await Promise.all(
      Array.from({ length: 20 }, (_, index) => deliveries.claimTurn(by(`w${index}`), NOW)),
    );
    expect(turns.filter(Boolean)).toHaveLength(1);
  });

  it('is its worker’s even where the answer to the claim was lost', async () => {
    const losing = createDeliveryRepository(losingAnswer(connect(), 'UpdateItemCommand'), 'deliveries');
    expect(await losing.claimTurn(turnOf()('a'), NOW)).toMatchObject({ owner: 'a' });
  });

  it('remembers the newest event from one worker to the next', async () => {
    const by = turnOf();
    await deliveries.save({ ...by('a'), newest: NOW - 5, lease: 0 });
    expect(await deliveries.claimTurn(by('b'), NOW)).toMatchObject({ owner: 'b', newest: NOW - 5, lease: NOW + LEASE });
  });
});

describe('saving records', () => {
  it('writes several at once in one request, each whole', async () => {
    const database = connect();
    const counts = counted(database);
    const repository = createDeliveryRepository(database, 'deliveries');
    const records = Array.from({ length: 10 }, () => ended(delivery()('a'), 'delivered'));
    await Promise.all(records.map(repository.save));
    expect(counts).toEqual({ BatchWriteItemCommand: 1 });
    expect(await Promise.all(records.map(repository.read))).toEqual(records);
  });

  it('writes more than a request holds', async () => {
    const records = Array.from({ length: 60 }, () => ended(delivery()('a'), 'delivered'));
    await Promise.all(records.map(deliveries.save));
    expect(await Promise.all(records.map(deliveries.read))).toEqual(records);
  });

  it('writes one after the other where they come so', async () => {
    const by = delivery();
    await deliveries.save(by('a'));
    await deliveries.save(ended(by('a'), 'delivered'));
    expect(await deliveries.read(by('a'))).toMatchObject({ status: 'delivered' });
  });

  it('fails where the table does not take them, and works again afterwards', async () => {
    const database = throttled(connect({ maxAttempts: 1 }), 'BatchWriteItemCommand', 3);
    const repository = createDeliveryRepository(database, 'deliveries');
    const record = ended(delivery()('a'), 'delivered');
    const saved = await Promise.allSettled([repository.save(record), repository.save(ended(delivery()('a'), 'dead'))]);
    expect(saved.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    await repository.save(record);
    expect(await repository.read(record)).toEqual(record);
  });

  it('writes all others where the table does not take one of them', async () => {
    const records = Array.from({ length: 5 }, () => ended(delivery()('a'), 'delivered'));
    const tooLarge = { ...ended(delivery()('a'), 'delivered'), event_id: 'x'.repeat(500_000) };
    const saved = await Promise.allSettled([...records, tooLarge].map(deliveries.save));
    expect(saved.map(({ status }) => status)).toEqual([...records.map(() => 'fulfilled'), 'rejected']);
    expect(await Promise.all(records.map(deliveries.read))).toEqual(records);
  });
});

describe('a table that does not answer', () => {
  it('makes a claim fail, and is never taken for "busy" or "ended"', async () => {
    const repository = createDeliveryRepository(throttled(connect({ maxAttempts: 1 }), 'PutItemCommand'), 'deliveries');
    await expect(repository.claim(delivery()('a'), NOW)).rejects.toMatchObject({
      name: 'ProvisionedThroughputExceededException',
    });
  });

  it('has no record of what was never claimed', async () => {
    expect(await deliveries.read(delivery()('a'))).toBeUndefined();
  });
});
