import { describe, expect, it } from 'vitest';
import { type AttemptOutcome, failed } from '../../shared/domain/attempt-outcome.ts';
import {
  causeOfExpiry,
  claimedRecord,
  type DeliveryRecord,
  evaluateClaim,
  isExpired,
  LEASE_MS,
  withAttempt,
  withStatus,
} from '../../shared/domain/delivery-record.ts';
import { newNotificationId } from '../../shared/domain/notification-id.ts';
import { alarmEvent, EVENT_TIME_MS } from '../support/events.ts';

const NOW = EVENT_TIME_MS + 1_234;
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const first = (changes = {}, content_hash = 'hash') =>
  claimedRecord(
    { event: alarmEvent(changes), notification_id: newNotificationId(), event_time_ms: EVENT_TIME_MS, content_hash },
    'owner',
    NOW,
  );
const transient = failed('transient', 'http_status', 'explained', { status: 500 });
const delivered: AttemptOutcome = { result: 'delivered', status: 204, explanation: 'Success' };

const afterAttempts = (record: DeliveryRecord, outcomes: AttemptOutcome[]): DeliveryRecord =>
  outcomes.reduce((before, outcome, index) => withAttempt(before, outcome, NOW + index, 10), record);

/** The size of a value as DynamoDB counts it (its guide, "Item sizes and formats"). */
const sizeOf = (value: unknown): number => {
  if (typeof value === 'string') return Buffer.byteLength(value);
  if (typeof value === 'number') return Math.ceil(String(value).length / 2) + 1;
  if (typeof value !== 'object' || value === null) return 1;
  const parts = Object.entries(value).filter(([, part]) => part !== undefined);
  const names = Array.isArray(value) ? 0 : Buffer.byteLength(parts.map(([name]) => name).join(''));
  return 3 + names + parts.reduce((sum, [, part]) => sum + 1 + sizeOf(part), 0);
};

describe('a delivery that is claimed for the first time', () => {
  it('is open, due now, without attempts, and leased for 35 s', () => {
    expect(first()).toMatchObject({
      status: 'pending',
      event_id: alarmEvent().event_id,
      entity_id: 'enAAAA',
      alarm_id: 'alBBBB',
      state: 'CRITICAL',
      round: 1,
      attempt_count: 0,
      round_started_at_ms: NOW,
      first_attempt_at_ms: 0,
      next_attempt_at_ms: NOW,
      lease_until_ms: NOW + 35_000,
      claim_id: 'owner',
      attempts: [],
      reached_recipient_hashes: [],
    });
    expect(LEASE_MS).toBe(35_000);
  });

  it('holds the digest of its event', () => {
    expect(first({}, 'digest').content_hash).toBe('digest');
  });

  it('is kept for 30 days', () => {
    expect(first().ttl).toBe(Math.floor(NOW / 1000) + 30 * 86_400);
  });
});

describe('an attempt', () => {
  it('is counted and kept with its time, result, status, reason and duration, and holds the claim until it is settled', () => {
    expect(withAttempt(first(), transient, NOW + 1, 42)).toMatchObject({
      attempt_count: 1,
      lease_until_ms: NOW + LEASE_MS,
      first_attempt_at_ms: NOW + 1,
      last_cause: 'destination',
      attempts: [{ timestamp_ms: NOW + 1, result: 'transient', status: 500, reason: 'http_status', duration_ms: 42 }],
    });
  });

  it('counts where it delivered', () => {
    expect(afterAttempts(first(), [transient, delivered])).toMatchObject({ attempt_count: 2 });
  });

  it('is neither counted nor kept where it was our own account that could not send', () => {
    const free = failed('throttled', 'throttled', '', { countsAsAttempt: false });
    const record = afterAttempts(first(), [free, transient, free]);
    expect(record).toMatchObject({ attempt_count: 1, first_attempt_at_ms: NOW + 1, lease_until_ms: NOW + LEASE_MS });
    expect(record.attempts).toHaveLength(1);
  });

  it('is one of the last nine that are kept', () => {
    const record = afterAttempts(
      first(),
      Array.from({ length: 12 }, () => transient),
    );
    expect(record.attempt_count).toBe(12);
    expect(record.attempts.map(({ timestamp_ms: at }) => at - NOW)).toEqual([3, 4, 5, 6, 7, 8, 9, 10, 11]);
  });

  it('remembers the parts that have arrived, and keeps them where it says nothing of parts', () => {
    const record = afterAttempts(first(), [{ ...transient, reachedRecipientHashes: ['a'] }]);
    expect(record.reached_recipient_hashes).toEqual(['a']);
    expect(afterAttempts(record, [transient]).reached_recipient_hashes).toEqual(['a']);
    expect(
      afterAttempts(record, [{ ...delivered, reachedRecipientHashes: ['a', 'b'] }]).reached_recipient_hashes,
    ).toEqual(['a', 'b']);
  });

  it('leaves the record that it was made of as it was', () => {
    const record = first();
    afterAttempts(record, [transient]);
    expect(record).toMatchObject({ attempt_count: 0, attempts: [], lease_until_ms: NOW + LEASE_MS });
  });

  it('leaves no word of its explanation', () => {
    expect(JSON.stringify(afterAttempts(first(), [transient]))).not.toContain('explained');
  });
});

describe('a delivery that has ended', () => {
  it.each(['delivered', 'failed', 'superseded', 'cancelled'] as const)('is %s, and nobody’s any more', (status) => {
    expect(withStatus(first(), status)).toMatchObject({ status, lease_until_ms: 0 });
  });
});

describe('the record of nine failed attempts', () => {
  const nine = Array.from({ length: 9 }, () => transient);

  it('costs one write unit of 1 KB up to the sixth attempt, and two after that', () => {
    expect(sizeOf(afterAttempts(first(), nine.slice(0, 6)))).toBeLessThan(1_024);
    expect(sizeOf(afterAttempts(first(), nine))).toBeLessThan(2 * 1_024);
  });

  it('is one that DynamoDB takes, however long the ids are that the event names', () => {
    const long = 'x'.repeat(440_000);
    expect(sizeOf(afterAttempts(first({ entity: { id: long }, alarm: { id: long } }), nine))).toBeLessThan(400 * 1_024);
  });
});

describe('a round of attempts', () => {
  const service = { cause: 'service' } as const;
  const throttledByUs = failed('throttled', 'aws_quota_exceeded', '', { ...service, countsAsAttempt: false });

  it('expires a day after its first attempt, whenever it began', () => {
    const record = { ...withAttempt(first(), transient, NOW + HOUR, 10), round_started_at_ms: NOW };
    expect(isExpired(record, NOW + 25 * HOUR)).toBe(false);
    expect(isExpired(record, NOW + 25 * HOUR + 1)).toBe(true);
  });

  it('does not expire without an attempt, until its message would be gone: four days', () => {
    const record = afterAttempts(first(), [throttledByUs]);
    expect(isExpired(record, NOW + 95 * HOUR)).toBe(false);
    expect(isExpired(record, NOW + 97 * HOUR)).toBe(true);
  });

  it.each([
    ['the destination, which failed last', [throttledByUs, transient], 'destination'],
    ['us, who failed last', [transient, throttledByUs], 'service'],
    ['us, where nothing was tried', [], 'service'],
    ['us, where only we failed', [throttledByUs], 'service'],
  ])('that expires is the fault of %s', (_, outcomes, cause) => {
    expect(causeOfExpiry(afterAttempts(first(), outcomes))).toBe(cause);
  });
});

describe('a claim on a delivery that has a record', () => {
  const LATER = NOW + 1_000;
  const found = { ...first(), lease_until_ms: 0 };
  const claim = { ...found, claim_id: 'other', lease_until_ms: LATER + LEASE_MS, ttl: found.ttl + 1 };
  const at = (
    record: DeliveryRecord,
    { round = 1, now = LATER, sentAt }: { round?: number; now?: number; sentAt?: number } = {},
  ) => evaluateClaim(record, { ...claim, round }, sentAt ?? now, now);

  it('takes one that is open, free and due over as it stands, under its own name and lease', () => {
    const tried = { ...withAttempt(found, transient, NOW, 10), reached_recipient_hashes: ['p1'] };
    const { claim_id, lease_until_ms, ttl } = claim;
    expect(at(tried)).toEqual({ kind: 'claimed', record: { ...tried, claim_id, lease_until_ms, ttl } });
  });

  it('starts the next round of a dead one: without attempts, with its history', () => {
    const dead = withStatus(withAttempt(found, transient, NOW, 10), 'failed');
    expect(at(dead, { round: 2 })).toMatchObject({
      kind: 'claimed',
      record: {
        status: 'pending',
        round: 2,
        attempt_count: 0,
        round_started_at_ms: LATER,
        first_attempt_at_ms: 0,
        next_attempt_at_ms: LATER,
        attempts: [{ timestamp_ms: NOW }],
      },
    });
  });

  it.each([1, 3])('is a duplicate where a dead one has had one round and the message is for round %i', (round) => {
    expect(at(withStatus(found, 'failed'), { round })).toMatchObject({ kind: 'ended' });
  });

  it('takes a message of an earlier round while it is open: that may be the only one, and counts no attempt twice', () => {
    for (const round of [1, 2])
      expect(at({ ...found, round: 2 }, { round })).toMatchObject({ kind: 'claimed', record: { round: 2 } });
  });

  describe('whose time is over', () => {
    const late = NOW + 30 * HOUR;
    const tried = { ...withAttempt(found, transient, NOW, 10), next_attempt_at_ms: NOW + 5_000, lease_until_ms: 0 };

    it('starts a new round where SQS or an operator held its message', () => {
      expect(at(tried, { now: late })).toMatchObject({
        kind: 'claimed',
        record: {
          round: 2,
          attempt_count: 0,
          round_started_at_ms: late,
          first_attempt_at_ms: 0,
          attempts: [{ timestamp_ms: NOW }],
        },
      });
    });

    it('goes on to expire where its message was on time', () => {
      const claimed = at(tried, { now: late, sentAt: tried.next_attempt_at_ms + 15 * MINUTE });
      expect(claimed).toMatchObject({ kind: 'claimed', record: { round: 1, attempt_count: 1 } });
    });

    it('is not over yet, so a held message changes nothing', () => {
      expect(at(tried, { now: NOW + 23 * HOUR })).toMatchObject({ record: { round: 1, attempt_count: 1 } });
    });
  });

  it('waits for one that is early, and leaves one that another worker has', () => {
    expect(at({ ...found, next_attempt_at_ms: LATER + 1 })).toEqual({ kind: 'not_due', due: LATER + 1 });
    expect(at({ ...found, lease_until_ms: LATER + 1 })).toEqual({ kind: 'busy', until: LATER + 1 });
    expect(at({ ...found, status: 'failed', lease_until_ms: LATER + 1 })).toMatchObject({ kind: 'busy' });
  });

  it.each(['delivered', 'superseded', 'cancelled', 'bounced'] as const)('ends there where it is %s', (status) => {
    for (const round of [1, 2]) expect(at({ ...found, status }, { round })).toMatchObject({ kind: 'ended' });
  });

  it('is a conflict where the event is another one, however it stands', () => {
    for (const status of ['pending', 'failed', 'delivered'] as const)
      expect(at({ ...found, status, content_hash: 'another' })).toEqual({ kind: 'conflict' });
  });

  it('has succeeded already where the record is its own', () => {
    const own = { ...found, claim_id: 'other', lease_until_ms: NOW + LEASE_MS };
    expect(at(own)).toEqual({ kind: 'claimed', record: own });
  });
});
