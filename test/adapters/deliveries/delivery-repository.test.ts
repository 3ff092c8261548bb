import { PutCommand } from '@aws-sdk/lib-dynamodb';
import { describe, expect, it } from 'vitest';
import { failed } from '../../../shared/domain/attempt-outcome.ts';
import { parseDeliveryPartition } from '../../../shared/domain/delivery-key.ts';
import {
  claimedRecord,
  withAttempt,
  withFailure,
  withNextAttempt,
  withStatus,
} from '../../../shared/domain/delivery-record.ts';
import { newNotificationId } from '../../../shared/domain/notification-id.ts';
import { LEASE_MS } from '../../../shared/domain/timeouts.ts';
import { createDeliveries } from '../../support/delivery-records.ts';
import { useDatabase } from '../../support/dynamodb.ts';
import { countRequests, withLostResponse } from '../../support/dynamodb-faults.ts';
import { alarmHeader } from '../../support/events.ts';

const { client, connect } = useDatabase();
const deliveries = createDeliveries(client);

const NOW = Date.UTC(2026, 0, 1);
const transient = failed('transient', 'http_status', '', { status: 500 });

/** Returns a function that creates the first claim of one new delivery for any worker. */
const newDelivery = () => {
  const id = newNotificationId();
  return (claimId: string, now = NOW, changes: { content_hash?: string; round?: number } = {}) =>
    claimedRecord(
      { event: alarmHeader(), notification_id: id, accepted_at_ms: NOW, content_hash: 'hash', ...changes },
      claimId,
      now,
      'webhook',
    );
};

/** Creates a delivery with one failed attempt, whose next attempt is due at `dueMs`. */
const retriedDelivery = async (dueMs: number) => {
  const by = newDelivery();
  await deliveries.claim(by('first'), NOW);
  await deliveries.update(by('first'), withNextAttempt(withAttempt(by('first'), transient, NOW, 10), dueMs));
  return by;
};

describe('an unclaimed delivery', () => {
  it('is recorded with the claim of a worker, and costs one request per claim and per write', async () => {
    const by = newDelivery();
    const database = connect();
    const counts = countRequests(database);
    const counted = createDeliveries(database);
    expect(await counted.claim(by('a'), NOW)).toEqual({ kind: 'claimed', record: by('a') });
    expect(await deliveries.read(by('a'))).toEqual(by('a'));
    await counted.update(by('a'), withStatus(by('a'), 'delivered', NOW));
    expect(counts).toEqual({ PutItemCommand: 1, UpdateItemCommand: 1 });
  });

  it('costs two writes and no read to claim', async () => {
    const by = await retriedDelivery(NOW);
    const database = connect();
    const counts = countRequests(database);
    await createDeliveries(database).claim(by('b'), NOW);
    expect(counts).toEqual({ PutItemCommand: 1, UpdateItemCommand: 1 });
  });
});

it('a delivery with a scheduled retry is claimed even if the response to the claim was lost', async () => {
  const by = await retriedDelivery(NOW);
  // The first write fails its condition, since there is a record. The response to the second one is lost.
  const losing = createDeliveries(withLostResponse(connect(), 'UpdateItemCommand'));
  expect(await losing.claim(by('b'), NOW)).toMatchObject({
    kind: 'claimed',
    record: {
      claim_id: 'b',
      attempt_count: 1,
      attempts: [{ timestamp_ms: NOW, result: 'transient', status: 500, duration_ms: 10 }],
    },
  });
});

it('a different event with the same ID is recorded in a separate item, which updates of the delivery record do not overwrite', async () => {
  const by = newDelivery();
  await deliveries.claim(by('a'), NOW);
  await deliveries.recordConflict(by('a'), NOW + 5);
  await deliveries.update(by('a'), withStatus(by('a'), 'delivered', NOW));
  const { tenant, id: notificationId } = parseDeliveryPartition(by('a').pk);
  expect(await deliveries.listConflicts({ tenant, id: notificationId })).toEqual(new Map([[by('a').sk, NOW + 5]]));
  expect(await deliveries.listNewest({ tenant, id: notificationId }, 10)).toEqual([
    withStatus(by('a'), 'delivered', NOW),
  ]);
});

it('a record of a later version of the service is claimed although its reasons are unknown', async () => {
  const record = withNextAttempt(withAttempt(newDelivery()('first'), transient, NOW, 10), NOW);
  const attempts = record.attempts.map((attempt) => ({ ...attempt, reason: 'later' }));
  await client.send(new PutCommand({ TableName: 'deliveries', Item: { ...record, last_reason: 'later', attempts } }));
  const claim = await deliveries.claim({ ...record, claim_id: 'second', lease_until_ms: NOW + LEASE_MS }, NOW);
  expect(claim).toMatchObject({ kind: 'claimed', record: { attempt_count: 1, attempts: [{ result: 'transient' }] } });
});

it('a write that makes a delivery claimable is applied once if its response is lost and the SDK repeats it', async () => {
  const by = newDelivery();
  await deliveries.claim(by('a'), NOW);
  const losing = createDeliveries(withLostResponse(connect(), 'UpdateItemCommand'));
  const next = withNextAttempt(by('a'), NOW + 5_000);
  expect(await losing.update(by('a'), next)).toEqual(next);
  expect(await deliveries.read(by('a'))).toEqual(next);
});

describe('a delivery that can bounce', () => {
  const repository = createDeliveries(client);

  it('keeps its bounces through every write of its sender, and returns them to it', async () => {
    const by = newDelivery();
    await repository.claim(by('a'), NOW);
    const key = by('a');
    const bounces = {
      bounced_recipient_hashes: new Set(['x']),
      bounce_reason: 'bounced',
      email_report: 'bounce',
      email_reported_at_ms: NOW,
    };
    await repository.recordEmailReport(key, 'bounce', NOW, 'x');
    const retried = withNextAttempt(withAttempt(by('a'), transient, NOW, 10), NOW);
    expect(await repository.update(by('a'), retried)).toEqual({ ...retried, ...bounces });
    const claim = await repository.claim(by('b'), NOW);
    expect(claim).toMatchObject({ kind: 'claimed', record: { claim_id: 'b', ...bounces } });
    const delivered = withStatus({ ...retried, ...by('b'), last_cause: undefined }, 'delivered', NOW);
    expect(await repository.update(by('b'), delivered)).toEqual({ ...delivered, ...bounces });
    expect(await repository.read(key)).toEqual({ ...delivered, ...bounces });
  });

  it('removes attributes that no longer apply, such as the reason of an earlier failure', async () => {
    const by = newDelivery();
    await repository.claim(by('a'), NOW);
    await repository.update(by('a'), withFailure(by('a'), 'expired', NOW));
    expect(await repository.read(by('a'))).toMatchObject({ last_reason: 'expired' });
    await repository.claim(by('b', NOW, { round: 2 }), NOW);
    expect(await repository.read(by('a'))).not.toHaveProperty('last_reason');
  });

  it('has no bounces if it was never claimed: the email was a test', async () => {
    const key = newDelivery()('a');
    expect(await repository.recordEmailReport(key, 'bounce', NOW, 'x')).toBeUndefined();
    expect(await repository.read(key)).toBeUndefined();
  });
});

it('a delivery that all its recipients bounced is bounced for each of two workers that find that at the same time', async () => {
  const first = newDelivery()('a');
  await deliveries.claim(first, NOW);
  await deliveries.update(first, { ...withStatus(first, 'delivered', NOW), reached_recipient_hashes: ['r'] });
  const found = await deliveries.recordEmailReport(first, 'bounce', NOW, 'r');
  if (!found) throw new Error('There is no record.');
  const [one, other] = [await deliveries.markBounced(found, NOW + 1), await deliveries.markBounced(found, NOW + 2)];
  expect(one).toMatchObject({ status: 'bounced', last_reason: 'bounced', updated_at_ms: NOW + 1 });
  expect(other).toEqual(one);
});
