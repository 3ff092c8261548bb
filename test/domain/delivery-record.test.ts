import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type AttemptOutcome, type Failure, failed } from '../../shared/domain/attempt-outcome.ts';
import {
  claimedRecord,
  correlationOf,
  type DeliveryRecord,
  evaluateClaim,
  isRoundExpired,
  mayHaveArrived,
  roundExpiryCause,
  withAttempt,
  withFailure,
  withNextAttempt,
  withReportedAlert,
  withStatus,
  withSuperseded,
} from '../../shared/domain/delivery-record.ts';
import { isFailing, isUnreached, reasonOf } from '../../shared/domain/delivery-status.ts';
import { newNotificationId } from '../../shared/domain/notification-id.ts';
import { retryDelayMs } from '../../shared/domain/retry-schedule.ts';
import { LEASE_MS, SEND_TIMEOUT_MS } from '../../shared/domain/timeouts.ts';
import { alarmEvent, alarmHeader, EVENT_TIME_MS, TRACE_ID, traceFields } from '../support/events.ts';
import { forAll } from '../support/quick-run.ts';

const NOW = EVENT_TIME_MS + 1_234;
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const initial = (changes = {}, content_hash = 'hash') =>
  claimedRecord(
    {
      event: alarmHeader(changes),
      notification_id: newNotificationId(),
      accepted_at_ms: EVENT_TIME_MS,
      dispatched_at_ms: EVENT_TIME_MS + 20,
      producer_message_id: '5fea7756-0ea4-451a-a703-a558b933e274',
      trace: { id: TRACE_ID, headers: traceFields },
      content_hash,
    },
    'b933e274a5f1',
    NOW,
    'technicalContactsEmail',
  );
const transient = failed('transient', 'http_status', 'explained', { status: 500 });
const delivered: AttemptOutcome = { result: 'delivered', status: 204, explanation: 'Success' };

const afterAttempts = (record: DeliveryRecord, outcomes: AttemptOutcome[]): DeliveryRecord =>
  outcomes.reduce((before, outcome, index) => withAttempt(before, outcome, NOW + index, 10), record);

/** The size of a value in bytes (DynamoDB Developer Guide, "Item sizes and formats"). */
const sizeOf = (value: unknown): number => {
  if (typeof value === 'string') return Buffer.byteLength(value);
  if (typeof value === 'number') return Math.ceil(String(value).length / 2) + 1;
  if (typeof value !== 'object' || value === null) return 1;
  const parts = Object.entries(value).filter(([, part]) => part !== undefined);
  const names = Array.isArray(value) ? 0 : Buffer.byteLength(parts.map(([name]) => name).join(''));
  return 3 + names + parts.reduce((sum, [, part]) => sum + 1 + sizeOf(part), 0);
};

describe('the record of a first claim', () => {
  it('says where the alert comes from, without the headers of its trace', () => {
    expect(initial()).toMatchObject({
      accepted_at_ms: EVENT_TIME_MS,
      dispatched_at_ms: EVENT_TIME_MS + 20,
      producer_message_id: '5fea7756-0ea4-451a-a703-a558b933e274',
      trace_id: TRACE_ID,
    });
    expect(JSON.stringify(initial())).not.toContain('secret-state');
    expect(correlationOf(initial())).toEqual({
      producer_message_id: '5fea7756-0ea4-451a-a703-a558b933e274',
      trace: { id: TRACE_ID },
    });
  });

  it('is pending and due, without attempts, leased for 35 s, and expires after 30 days', () => {
    expect(initial()).toMatchObject({
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
      claim_id: 'b933e274a5f1',
      attempts: [],
      ttl: Math.floor(NOW / 1000) + 30 * 86_400,
    });
  });

  it('has the labels of entity and alarm in at most 60 bytes, unless they are the IDs', () => {
    const labels = (entity: object, alarm: object) => {
      const { entity_label, alarm_label } = initial({ entity: { id: 'en', ...entity }, alarm: { id: 'al', ...alarm } });
      return [entity_label, alarm_label];
    };
    expect(labels({ label: 'x'.repeat(60) }, {})).toEqual(['x'.repeat(60), undefined]);
    expect(labels({ label: 'x'.repeat(61) }, { label: 'al' })).toEqual([`${'x'.repeat(57)}...`, undefined]);
    expect(labels({ label: '😀'.repeat(16) }, { label: 'a\nb' })).toEqual([`${'😀'.repeat(14)}...`, 'a b']);
  });
});

describe('the record after an attempt', () => {
  it('contains its time, result, status, reason and duration, and keeps the lease', () => {
    const record = withAttempt(initial(), transient, NOW + 1, 42);
    expect(JSON.stringify(record)).not.toContain('explained');
    expect(record).toMatchObject({
      attempt_count: 1,
      lease_until_ms: NOW + LEASE_MS,
      first_attempt_at_ms: NOW + 1,
      last_cause: 'destination',
      attempts: [{ timestamp_ms: NOW + 1, result: 'transient', status: 500, reason: 'http_status', duration_ms: 42 }],
    });
  });

  it('contains the last nine attempts', () => {
    const record = afterAttempts(
      initial(),
      Array.from({ length: 12 }, () => transient),
    );
    expect(record.attempt_count).toBe(12);
    expect(record.attempts.map(({ timestamp_ms: at }) => at - NOW)).toEqual([3, 4, 5, 6, 7, 8, 9, 10, 11]);
  });

  it.each([
    ['of the outcome', { ...delivered, reachedRecipientHashes: ['a', 'b'] }, ['a', 'b']],
    ['from before if the outcome has none', transient, ['a']],
    [
      'no longer if a destination without recipients accepted the alert, after a change of the type',
      delivered,
      undefined,
    ],
  ])('contains the hashes of reached recipients %s', (_, outcome, hashes) => {
    const record = afterAttempts(initial(), [{ ...transient, reachedRecipientHashes: ['a'] }]);
    expect(record.reached_recipient_hashes).toEqual(['a']);
    expect(afterAttempts(record, [outcome]).reached_recipient_hashes).toEqual(hashes);
  });
});

describe('the record with a final status', () => {
  it('has no lease', () => {
    expect(withStatus(initial(), 'failed', NOW)).toMatchObject({ status: 'failed', lease_until_ms: 0 });
  });

  it('is superseded for the reason older_timestamp if SQS accepted its event more than 60 s after the newer one', () => {
    const newer = { producedAtMs: NOW + 5, acceptedAtMs: NOW };
    const record = initial();
    const late = withSuperseded(record, { producedAtMs: NOW, acceptedAtMs: NOW + 60_001 }, newer, NOW);
    expect(late).toEqual({
      ...withStatus(record, 'superseded', NOW),
      event_at_ms: NOW,
      newer_event_at_ms: NOW + 5,
    });
    expect(reasonOf(late)).toBe('older_timestamp');
    const usual = withSuperseded(record, { producedAtMs: NOW, acceptedAtMs: NOW + 60_000 }, newer, NOW);
    expect(usual).toEqual(withStatus(record, 'superseded', NOW));
    expect(reasonOf(usual)).toBeUndefined();
  });
});

describe('the record of nine failed attempts', () => {
  const nine = Array.from({ length: 9 }, () => transient);

  it('consumes one write unit of 1 KB up to the third attempt, and two afterwards', () => {
    expect(sizeOf(afterAttempts(initial(), nine.slice(0, 3)))).toBeLessThan(1_024);
    expect(sizeOf(afterAttempts(initial(), nine))).toBeLessThan(2 * 1_024);
  });

  it('does so with the longest labels of entity and alarm, up to the second attempt', () => {
    const label = 'ä'.repeat(255);
    const record = initial({ entity: { id: 'enAAAA', label }, alarm: { id: 'alBBBB', label } });
    expect(sizeOf(afterAttempts(record, nine.slice(0, 2)))).toBeLessThan(1_024);
  });

  it('stays within the DynamoDB item limit for the longest IDs of entity and alarm', () => {
    const longId = 'x'.repeat(440_000);
    expect(sizeOf(afterAttempts(initial({ entity: { id: longId }, alarm: { id: longId } }), nine))).toBeLessThan(
      400 * 1_024,
    );
  });
});

describe('a round of attempts', () => {
  const service = { cause: 'service' } as const;
  const quotaExceeded = failed('throttled', 'aws_quota_exceeded', '', { ...service, countsAsAttempt: false });

  it('expires 24 h after its first attempt, regardless of its start', () => {
    const record = { ...withAttempt(initial(), transient, NOW + HOUR, 10), round_started_at_ms: NOW };
    expect(isRoundExpired(record, NOW + 25 * HOUR)).toBe(false);
    expect(isRoundExpired(record, NOW + 25 * HOUR + 1)).toBe(true);
  });

  it('expires four days after its start if there was no attempt', () => {
    const record = afterAttempts(initial(), [quotaExceeded]);
    expect(isRoundExpired(record, NOW + 95 * HOUR)).toBe(false);
    expect(isRoundExpired(record, NOW + 97 * HOUR)).toBe(true);
  });

  it.each([
    ['the destination, if its failure is the last', [quotaExceeded, transient], 'destination'],
    ['the service, if its failure is the last', [transient, quotaExceeded], 'service'],
    ['the service, if there was no attempt', [], 'service'],
    ['the service, if there are no other failures', [quotaExceeded], 'service'],
  ])('expires because of %s', (_, outcomes, cause) => {
    expect(roundExpiryCause(afterAttempts(initial(), outcomes))).toBe(cause);
  });
});

describe('a claim on an existing record', () => {
  const LATER = NOW + 1_000;
  const existing = { ...initial(), lease_until_ms: 0 };
  const claim = { ...existing, claim_id: 'other', lease_until_ms: LATER + LEASE_MS, ttl: existing.ttl + 1 };
  const evaluate = (record: DeliveryRecord, { round = 1, now = LATER }: { round?: number; now?: number } = {}) =>
    evaluateClaim(record, { ...claim, round, lease_until_ms: now + LEASE_MS }, now);

  /** What a new round that starts at a time has. */
  const newRound = (startMs: number) => ({
    round: 2,
    attempt_count: 0,
    round_started_at_ms: startMs,
    first_attempt_at_ms: 0,
    next_attempt_at_ms: startMs,
  });

  it('succeeds for a pending record that is due and not leased, and only replaces claim ID, lease and ttl', () => {
    const tried = { ...withAttempt(existing, transient, NOW, 10), reached_recipient_hashes: ['p1'] };
    const { claim_id, lease_until_ms, ttl } = claim;
    expect(evaluate(tried)).toEqual({ kind: 'claimed', record: { ...tried, claim_id, lease_until_ms, ttl } });
  });

  it('unites the reached recipients of record and message, also in a new round', () => {
    const reached = (...hashes: string[]) => ({ reached_recipient_hashes: hashes });
    const record = { ...existing, ...reached('a', 'b') };
    const message = { ...claim, ...reached('b', 'c') };
    expect(evaluateClaim(record, message, LATER)).toMatchObject({ record: reached('a', 'b', 'c') });
    expect(evaluateClaim(existing, message, LATER)).toMatchObject({ record: reached('b', 'c') });
    const failedRecord = withStatus(record, 'failed', NOW);
    expect(evaluateClaim(failedRecord, { ...message, round: 2 }, LATER)).toMatchObject({
      record: { round: 2, ...reached('a', 'b', 'c') },
    });
  });

  it("records the event's other notifications if an earlier claim did not: the type has changed to one that can bounce", () => {
    const siblings = ['ntOther'];
    expect(evaluateClaim(existing, { ...claim, siblings }, LATER)).toMatchObject({ record: { siblings } });
    expect(evaluateClaim({ ...existing, siblings }, claim, LATER)).toMatchObject({ record: { siblings } });
  });

  it('starts the next round of a failed delivery with an attempt count of 0, and keeps earlier attempts', () => {
    const failedRecord = withStatus(withAttempt(existing, transient, NOW, 10), 'failed', NOW);
    expect(evaluate(failedRecord, { round: 2 })).toMatchObject({
      kind: 'claimed',
      record: { status: 'pending', ...newRound(LATER), attempts: [{ timestamp_ms: NOW }] },
    });
  });

  it('succeeds for a message of an earlier round while the delivery is pending', () => {
    for (const round of [1, 2])
      expect(evaluate({ ...existing, round: 2 }, { round })).toMatchObject({ kind: 'claimed', record: { round: 2 } });
  });

  describe('on a delivery whose next attempt is overdue', () => {
    const DUE_AT = NOW + 5_000;
    const tried = { ...withAttempt(existing, transient, NOW, 10), next_attempt_at_ms: DUE_AT, lease_until_ms: 0 };
    const untried = { ...existing, next_attempt_at_ms: DUE_AT };

    it('starts a new round if it is more than an hour late: the delivery waited for the service', () => {
      const now = DUE_AT + HOUR + 1;
      expect(evaluate(tried, { now })).toMatchObject({
        kind: 'claimed',
        record: { ...newRound(now), attempts: [{ timestamp_ms: NOW }] },
      });
    });

    it('continues the round if it is at most an hour late, even if the round has expired', () => {
      const expired = { ...tried, first_attempt_at_ms: DUE_AT - 25 * HOUR };
      expect(evaluate(expired, { now: DUE_AT + HOUR })).toMatchObject({ record: { round: 1, attempt_count: 1 } });
    });

    it('counts from its schedule if the tenant requested it earlier', () => {
      const requested = { ...tried, next_attempt_at_ms: DUE_AT - 5 * HOUR, scheduled_attempt_at_ms: DUE_AT };
      expect(evaluate(requested, { now: DUE_AT + HOUR })).toMatchObject({ record: { round: 1, attempt_count: 1 } });
      expect(evaluate(requested, { now: DUE_AT + HOUR + 1 })).toMatchObject({ record: { round: 2, attempt_count: 0 } });
      const rescheduled = { ...requested, next_attempt_at_ms: DUE_AT + HOUR };
      expect(evaluate(rescheduled, { now: DUE_AT + 2 * HOUR })).toMatchObject({ record: { round: 1 } });
    });

    it('starts one new round if it is repeated', () => {
      const now = DUE_AT + 25 * HOUR;
      const first = evaluate(tried, { now });
      const crashed = { ...(first.kind === 'claimed' ? first.record : expect.fail()), claim_id: 'crashed' };
      expect(evaluate(crashed, { now })).toMatchObject({ kind: 'busy' });
      expect(evaluate({ ...crashed, lease_until_ms: now }, { now: now + HOUR })).toMatchObject({
        record: { round: 2, attempt_count: 0, round_started_at_ms: now },
      });
    });

    it('continues a round without an attempt until its four days have passed, and then starts a new one', () => {
      expect(evaluate(untried, { now: NOW + 95 * HOUR })).toMatchObject({
        record: { round: 1, round_started_at_ms: NOW },
      });
      expect(evaluate(untried, { now: NOW + 97 * HOUR })).toMatchObject({
        record: { round: 2, round_started_at_ms: NOW + 97 * HOUR },
      });
    });
  });

  it('does not start a round of an email that SES accepted and that bounced', () => {
    const bounced = withStatus(withAttempt(existing, delivered, NOW, 10), 'bounced', NOW);
    expect(evaluate(bounced, { round: 2 })).toMatchObject({ kind: 'ended' });
  });

  it('succeeds again if the record has its claim ID', () => {
    const own = { ...existing, claim_id: 'other', lease_until_ms: NOW + LEASE_MS };
    expect(evaluate(own)).toEqual({ kind: 'claimed', record: own });
  });
});

describe('an earlier attempt', () => {
  const outcome = (result: Failure['result'], reason: Failure['reason'], status?: number) =>
    failed(result, reason, '', { status });
  const afterClaim = (record: DeliveryRecord, nowMs: number, round = 1) => {
    const next = { ...initial(), round, claim_id: 'next', lease_until_ms: nowMs + LEASE_MS };
    const claim = evaluateClaim(record, next, nowMs);
    if (claim.kind !== 'claimed') throw new Error(`The record is ${claim.kind}.`);
    return claim.record;
  };

  it.each([
    [true, 'received no response', outcome('transient', 'timeout')],
    [true, 'lost its connection', outcome('transient', 'network_error')],
    [true, 'received a server error', outcome('transient', 'http_status', 502)],
    [false, 'was throttled', outcome('throttled', 'throttled', 429)],
    [false, 'was rejected', outcome('permanent', 'http_status', 409)],
    [false, 'was not permitted', outcome('transient', 'blocked_address')],
    [false, 'was not made', failed('throttled', 'circuit_open', '', { countsAsAttempt: false })],
  ])('may have arrived: %s, if it %s', (expected, _, failure) => {
    expect(mayHaveArrived(initial())).toBe(false);
    expect(mayHaveArrived(withAttempt(initial(), failure, NOW, 10))).toBe(expected);
  });

  it('may have arrived in an earlier round', () => {
    const failedRecord = withStatus(withAttempt(initial(), transient, NOW, 10), 'failed', NOW);
    expect(mayHaveArrived(afterClaim(failedRecord, NOW, 2))).toBe(true);
  });

  it('may have arrived if its worker did not end its claim, whatever the next worker does', () => {
    const takenOver = afterClaim(initial(), NOW + LEASE_MS);
    expect(mayHaveArrived(takenOver)).toBe(true);
    const released = withNextAttempt(takenOver, takenOver.next_attempt_at_ms);
    expect(mayHaveArrived(afterClaim(released, NOW + LEASE_MS))).toBe(true);
  });

  it('has not been made if the claim was released', () => {
    expect(mayHaveArrived(afterClaim(withNextAttempt(initial(), NOW), NOW))).toBe(false);
  });
});

describe('a failing destination', () => {
  /** The maximum batching window of a retry queue (docs/decisions/deliveries.md#retry-queues). */
  const MAX_BATCHING_MS = 20_000;

  type Step = { failure: Failure; durationMs: number; jitter: number; batchingMs: number };

  /** Returns the ms from the start of the round to the end of the reported attempt, and the number of attempts. */
  const reportedAfter = (
    steps: readonly Step[],
    isReported = (record: DeliveryRecord) => isFailing(record, 1),
  ): { ms: number; attempts: number } | undefined => {
    let [record, nowMs] = [initial(), NOW];
    for (const { failure, durationMs, jitter, batchingMs } of steps) {
      const attempted = withAttempt(record, failure, nowMs, durationMs);
      nowMs += durationMs;
      const delayMs = retryDelayMs(attempted.attempt_count, failure, 1, () => jitter);
      if (delayMs === undefined) return undefined;
      record = withNextAttempt(attempted, nowMs + delayMs);
      if (isReported(record)) return { ms: nowMs - NOW, attempts: record.attempt_count };
      nowMs += delayMs + batchingMs;
    }
    return undefined;
  };

  const timeout = failed('transient', 'timeout', '');
  const slow: Step = { failure: timeout, durationMs: SEND_TIMEOUT_MS, jitter: 1, batchingMs: MAX_BATCHING_MS };

  it('is reported after the fourth attempt of the normal schedule', () => {
    const fast = { failure: transient, durationMs: 100, jitter: 0.5, batchingMs: 5_000 };
    expect(reportedAfter([fast, fast, fast, fast, fast])).toMatchObject({ attempts: 4 });
  });

  it('is still failing after its tenant has requested the next attempt now', () => {
    const failing = withNextAttempt(withAttempt(initial(), transient, NOW, 100), NOW + 10 * MINUTE);
    const requested = { ...failing, next_attempt_at_ms: NOW + MINUTE, scheduled_attempt_at_ms: NOW + 10 * MINUTE };
    expect(isFailing(requested, 1)).toBe(true);
  });

  it('is reported within five minutes, whatever the durations, jitter, pauses and requested delays are', () => {
    const failure = fc.oneof(
      fc.constant(timeout),
      fc.constant(transient),
      fc
        .integer({ min: 0, max: 600_000 })
        .map((retryAfterMs) => failed('throttled', 'throttled', '', { status: 503, retryAfterMs })),
      fc
        .integer({ min: 1, max: 30_000 })
        .map((retryAfterMs) => failed('throttled', 'circuit_open', '', { countsAsAttempt: false, retryAfterMs })),
    );
    const step = fc.record({
      failure,
      durationMs: fc.integer({ min: 1, max: SEND_TIMEOUT_MS }),
      jitter: fc.constantFrom(0, 0.5, 1),
      batchingMs: fc.integer({ min: 0, max: MAX_BATCHING_MS }),
    });
    forAll()(fc.array(step, { minLength: 50, maxLength: 50 }), (steps) => {
      // The delays of a few failures may be short, so slow ones follow.
      expect(reportedAfter([...steps, ...Array.from({ length: 8 }, () => slow)])?.ms ?? 0).toBeLessThanOrEqual(
        5 * MINUTE,
      );
    });
  });

  it.each([
    ['fails', failed('transient', 'network_error', '', { cause: 'service' })],
    [
      'is throttled',
      failed('throttled', 'throttled', '', { cause: 'service', countsAsAttempt: false, retryAfterMs: 5_000 }),
    ],
  ])('is not to blame if the service %s, but the alert has reached nobody within five minutes', (_, failure) => {
    const fault = { ...slow, failure };
    expect(reportedAfter(Array(50).fill(fault))).toBeUndefined();
    expect(reportedAfter(Array(50).fill(fault), (record) => isUnreached(record, 1))?.ms).toBeLessThanOrEqual(
      5 * MINUTE,
    );
  });
});

describe('an alert', () => {
  const failing = withNextAttempt(afterAttempts(initial(), [transient]), NOW + HOUR);
  const reached = { reached_recipient_hashes: ['a'] };
  const reachedTwo = { reached_recipient_hashes: ['a', 'b'] };
  const bouncedFromA = { bounced_recipient_hashes: new Set(['a']) };

  it.each([
    ['failed', withFailure(initial(), 'http_status', NOW)],
    ['bounced', withStatus(initial(), 'bounced', NOW)],
    ['was cancelled', withStatus(initial(), 'cancelled', NOW)],
    ['is failing for more than five minutes', failing],
    ['bounced from all of several recipients', { ...withStatus(initial(), 'bounced', NOW), ...reached }],
    [
      'failed, and bounced from all that accepted',
      { ...withFailure(initial(), 'rejected', NOW), ...reached, ...bouncedFromA },
    ],
    ['is failing, and bounced from all that accepted', { ...failing, ...reached, ...bouncedFromA }],
    ['was muted', withStatus(initial(), 'cancelled', NOW, { withheld: 'muted' })],
    [
      'was delivered and is about to be recorded as bounced',
      { ...withStatus(initial(), 'delivered', NOW), ...reached, ...bouncedFromA },
    ],
  ] as const)('that %s has not reached its destination', (_, record) => {
    expect(isUnreached(record, 1)).toBe(true);
  });

  it.each([
    ['was delivered', withStatus(initial(), 'delivered', NOW)],
    ['was superseded', withStatus(initial(), 'superseded', NOW)],
    ['ended in shadow mode', withStatus(initial(), 'cancelled', NOW, { withheld: 'shadow' })],
    ['has not been attempted', initial()],
    ['is due again soon', withNextAttempt(afterAttempts(initial(), [transient]), NOW + MINUTE)],
    ['is failing for one of several recipients', { ...failing, ...reached }],
    ['failed for one of several recipients', { ...withFailure(initial(), 'rejected', NOW), ...reached }],
    [
      'failed, and bounced from one of two that accepted',
      { ...withFailure(initial(), 'rejected', NOW), ...reachedTwo, ...bouncedFromA },
    ],
    ['bounced from a recipient and is due again soon for another', { ...initial(), ...reached, ...bouncedFromA }],
  ] as const)('that %s has reached its destination, or may still do so', (_, record) => {
    expect(isUnreached(record, 1)).toBe(false);
  });
});

describe('the record of an alert for reports', () => {
  const event = alarmHeader({ alarm: { id: 'al', label: `lone \ud800` } });
  const body = { event: { ...event, status: 'x'.repeat(300) }, siblings: ['ntOther'] };
  const described = (record: DeliveryRecord) => withReportedAlert(record, body, 1);
  const key = { incident_key: event.incident_key, produced_at_ms: EVENT_TIME_MS };

  it('has the other destinations and the incident if it ended without arriving', () => {
    const ended = (['cancelled', 'summarized'] as const).map((status) => withStatus(initial(), status, NOW));
    for (const record of [...ended, withStatus(initial(), 'cancelled', NOW, { withheld: 'muted' })]) {
      expect(described(record)).toEqual({ ...record, siblings: ['ntOther'], alert: key });
    }
  });

  it('has the labels and the start of the status, too, if it fails for minutes or has failed', () => {
    const late = withNextAttempt(withAttempt(initial(), transient, NOW, 100), NOW + HOUR);
    for (const record of [late, withFailure(initial(), 'expired', NOW)]) {
      const { alert } = described(record);
      expect(alert).toMatchObject({ ...key, entity: event.entity });
      expect(alert?.alarm?.name?.isWellFormed()).toBe(true);
      expect(alert?.status).toHaveLength(255);
    }
  });

  it('says when the alert became late, whatever follows in its round', () => {
    const late = described(withNextAttempt(withAttempt(initial(), transient, NOW, 100), NOW + HOUR));
    const claimed = evaluateClaim(late, { ...initial(), claim_id: 'other' }, NOW + HOUR);
    if (claimed.kind !== 'claimed') throw new Error(claimed.kind);
    const again = described(withNextAttempt(withAttempt(claimed.record, transient, NOW + HOUR, 100), NOW + 3 * HOUR));
    expect([late, again].map(({ late_at_ms }) => late_at_ms)).toEqual([NOW + 100, NOW + 100]);
    const next = evaluateClaim(withFailure(again, 'expired', NOW), { ...initial(), round: 2 }, NOW + HOUR);
    expect(next).toMatchObject({ kind: 'claimed', record: { late_at_ms: undefined } });
  });

  it.each([
    ['delivered', withStatus(initial(), 'delivered', NOW)],
    ['withheld in shadow mode', withStatus(initial(), 'cancelled', NOW, { withheld: 'shadow' })],
    ['retried soon', withNextAttempt(withAttempt(initial(), transient, NOW, 100), NOW + MINUTE)],
  ])('costs nothing more if it is %s', (_, record) => {
    expect(described(record)).toBe(record);
  });
});
