import { describe, expect, it } from 'vitest';
import { HEARTBEAT_TENANT } from '../../shared/contracts/alarm-event.ts';
import { emailReportKinds } from '../../shared/contracts/delivery-record.ts';
import { noticeKinds } from '../../shared/contracts/notice.ts';
import { failed } from '../../shared/domain/attempt-outcome.ts';
import { changeOf } from '../../shared/domain/delivery-change.ts';
import {
  type DeliveryRecord,
  withAttempt,
  withFailure,
  withNextAttempt,
  withStatus,
} from '../../shared/domain/delivery-record.ts';
import { deliveryRecord, RECORD_TIME_MS } from '../support/delivery-records.ts';

const MINUTE_MS = 60_000;
const notification = { tenant: 'acme', id: 'nt00000000000000000000OUTCOME' };
const recordOf = (changes: Partial<DeliveryRecord> = {}, tenant = 'acme') =>
  deliveryRecord({ ...notification, tenant }, 'event', {
    status: 'pending',
    type: 'webhook',
    accepted_at_ms: RECORD_TIME_MS - 50,
    attempt_count: 0,
    first_attempt_at_ms: 0,
    attempts: [],
    ...changes,
  });
const pending = recordOf();
const change = (before: DeliveryRecord, after: DeliveryRecord) => changeOf(before, after, 1);
const happened = (before: DeliveryRecord, after: DeliveryRecord) => change(before, after)?.happened;
const outcome = (before: DeliveryRecord, after: DeliveryRecord) => change(before, after)?.outcome;
const failure = (before: DeliveryRecord, after: DeliveryRecord) => change(before, after)?.failure;

/** Returns a record after a failed attempt, with the next one due after some minutes. */
const retried = (record: DeliveryRecord, minutes: number, cause: 'destination' | 'service' = 'destination') =>
  withNextAttempt(
    withAttempt(record, failed('transient', 'http_status', 'explained', { status: 500, cause }), RECORD_TIME_MS, 10),
    RECORD_TIME_MS + minutes * MINUTE_MS,
  );
const soon = retried(pending, 1);
const failing = retried(soon, 8);
const late = retried(soon, 8, 'service');
const delivered = withStatus({ ...pending, reached_recipient_hashes: ['a', 'b'] }, 'delivered', RECORD_TIME_MS);
const muted = (...siblings: string[]) => ({
  ...withStatus(pending, 'cancelled', RECORD_TIME_MS, { withheld: 'muted' }),
  siblings,
});
const bounced = (...hashes: string[]) => ({ bounced_recipient_hashes: new Set(hashes) });

describe('what happened to a delivery', () => {
  it.each([
    ['nothing after a claim', pending, { ...pending, lease_until_ms: RECORD_TIME_MS }, undefined],
    ['nothing while it is retried soon', pending, soon, undefined],
    ['that no attempt ends within five minutes, as its destination fails', soon, failing, 'late'],
    ['that no attempt ends within five minutes, as the service fails', soon, late, 'late'],
    ['nothing more while it fails', failing, retried(failing, 20), undefined],
    ['nothing more if the service fails after its destination', failing, retried(failing, 20, 'service'), undefined],
    ['that its destination fails after the service did', late, retried(late, 20), 'failing'],
    ['that it failed after minutes', failing, withFailure(failing, 'expired', RECORD_TIME_MS), 'failed'],
    ['that it was refused', pending, withFailure(pending, 'opted_out', RECORD_TIME_MS), 'failed'],
    ['that it was cancelled', soon, withStatus(soon, 'cancelled', RECORD_TIME_MS), 'cancelled'],
    ['nothing more if it is cancelled while it fails', failing, withStatus(failing, 'cancelled', 0), undefined],
    ['nothing in shadow mode', soon, withStatus(soon, 'cancelled', RECORD_TIME_MS, { withheld: 'shadow' }), undefined],
    ['that it is muted, if it has other destinations', pending, muted('ntOther'), 'cancelled'],
    ['nothing if it is muted and has none', pending, muted(), undefined],
    ['nothing if it is delivered at once', pending, withStatus(pending, 'delivered', RECORD_TIME_MS), undefined],
    ['that it arrived after it had failed', soon, withStatus(soon, 'delivered', RECORD_TIME_MS), 'recovered'],
    [
      'that it arrived in a new round after it had failed',
      { ...withFailure(soon, 'expired', 0), status: 'pending', round: 2, last_cause: undefined },
      { ...withFailure(soon, 'expired', 0), status: 'delivered', round: 2, last_cause: undefined },
      'recovered',
    ],
    [
      'that it fails again',
      failing,
      { ...retried(failing, 20), last_failed_at_ms: RECORD_TIME_MS + 600_000 },
      'failing',
    ],
    ['nothing if it is superseded', pending, withStatus(pending, 'superseded', RECORD_TIME_MS), undefined],
    ['that a newer one arrived in place of one that had failed', soon, withStatus(soon, 'superseded', 0), 'recovered'],
    ['that a window of the account lists one that had failed', soon, withStatus(soon, 'summarized', 0), 'recovered'],
    ['nothing if a window of the account lists it', pending, withStatus(pending, 'summarized', 0), undefined],
    [
      'that the summary of a daily limit lists it',
      pending,
      withStatus({ ...pending, last_reason: 'tenant_limit_exceeded' }, 'summarized', 0),
      'above_limit',
    ],
    ['that all emails bounced', delivered, withStatus({ ...delivered, ...bounced('a', 'b') }, 'bounced', 0), 'bounced'],
    [
      'that it ended after all its emails bounced',
      { ...delivered, status: 'pending', ...bounced('a', 'b') },
      { ...delivered, ...bounced('a', 'b') },
      'late',
    ],
    ['nothing in a new round', withFailure(pending, 'expired', 0), { ...pending, round: 2 }, undefined],
  ] as const)('%s', (_, before, after, expected) => {
    expect(happened(before, after)).toBe(expected);
  });

  it.each(emailReportKinds)('that SES reported a %s, once', (email_report) => {
    const reported = { ...delivered, email_report, email_reported_at_ms: 1 };
    expect(happened(delivered, reported)).toBe(email_report);
    expect(happened(reported, { ...reported, confirmed_at_ms: 2 })).toBeUndefined();
    expect(happened(reported, { ...reported, email_reported_at_ms: 2 })).toBe(email_report);
  });

  it('that a failed delivery has reached nobody, after the one email that was accepted bounced', () => {
    const reached = { ...withFailure(pending, 'rejected', 0), reached_recipient_hashes: ['a'] };
    expect(happened(reached, { ...reached, ...bounced('a') })).toBe('late');
  });
});

describe('a failure of a delivery', () => {
  it('is the first of its round unless an attempt failed before', () => {
    expect(failure(pending, soon)).toMatchObject({ reason: 'http_status', isFirst: true });
    expect(failure(soon, { ...failing, updated_at_ms: failing.updated_at_ms + 1 })).toMatchObject({ isFirst: false });
    expect(failure(pending, withFailure(pending, 'opted_out', 7))).toEqual({
      timeMs: 7,
      reason: 'opted_out',
      isFirst: true,
    });
    const ended = { ...withStatus(delivered, 'bounced', 8), last_reason: 'bounced' } as const;
    expect(failure(delivered, ended)).toEqual({ timeMs: 8, reason: 'bounced', isFirst: true });
  });

  it('is counted once if its dead letter could not be stored at first', () => {
    const claimed = { ...pending, lease_until_ms: RECORD_TIME_MS + 35_000 };
    const ended = withAttempt(claimed, failed('permanent', 'http_status', ''), RECORD_TIME_MS, 10);
    // The cause of the attempt is recorded with its end.
    const unended = { ...ended, last_cause: undefined };
    const released = withNextAttempt(ended, RECORD_TIME_MS + 2_000);
    expect(failure(unended, released)).toMatchObject({ reason: 'http_status', isFirst: true });
    expect(failure(released, withFailure(released, 'http_status', 9))).toMatchObject({ isFirst: false });
  });

  it('is no claim of a retry, no new round and no delivery', () => {
    expect(failure(soon, { ...soon, lease_until_ms: RECORD_TIME_MS })).toBeUndefined();
    expect(failure(withFailure(soon, 'expired', 0), { ...pending, round: 2 })).toBeUndefined();
    expect(failure(soon, withStatus(soon, 'delivered', RECORD_TIME_MS))).toBeUndefined();
  });
});

describe('the outcome of a write', () => {
  it('has the IDs, times and result of a delivery, and no destination', () => {
    const attempted = withAttempt(
      { ...pending, trace_id: 'trace' },
      { result: 'delivered', status: 200, explanation: 'OK' },
      RECORD_TIME_MS,
      80,
    );
    expect(outcome(pending, withStatus(attempted, 'delivered', RECORD_TIME_MS + 90))).toEqual({
      version: 1,
      tenant_id: 'acme',
      notification_id: notification.id,
      type: 'webhook',
      event_id: 'event',
      alarm_id: 'alDisk',
      entity_id: 'enWeb',
      state: 'CRITICAL',
      status: 'delivered',
      reason: null,
      attempts: 1,
      accepted_at: RECORD_TIME_MS - 50,
      first_attempt_at: RECORD_TIME_MS,
      ended_at: RECORD_TIME_MS + 90,
      trace_id: 'trace',
    });
  });

  it.each(['delivered', 'failed', 'superseded', 'cancelled', 'summarized'] as const)('says that it is %s', (status) => {
    const ended = withStatus(pending, status, RECORD_TIME_MS);
    expect(outcome(pending, ended)?.status).toBe(status);
    expect(outcome(ended, { ...ended, confirmed_at_ms: 1 })).toBeUndefined();
  });

  it('has the reason of a failure, a bounce and shadow mode', () => {
    const given = withFailure(soon, 'expired', RECORD_TIME_MS);
    expect(outcome(soon, given)).toMatchObject({ status: 'failed', reason: 'expired', attempts: 1 });
    const ended = withStatus({ ...delivered, last_reason: 'bounced' }, 'bounced', RECORD_TIME_MS);
    expect(outcome(delivered, ended)).toMatchObject({ status: 'bounced', reason: 'bounced' });
    const withheld = withStatus(pending, 'cancelled', RECORD_TIME_MS, { withheld: 'shadow' });
    expect(outcome(pending, withheld)).toMatchObject({ status: 'cancelled', reason: 'shadow' });
  });

  it('is published when a delivery begins to fail, and not while it does, nor if the service does', () => {
    const expected = { status: 'failing', reason: 'http_status', attempts: 2, ended_at: null };
    expect(outcome(soon, failing)).toMatchObject(expected);
    expect([outcome(pending, soon), outcome(failing, retried(failing, 20)), outcome(soon, late)]).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
  });
});

it.each(noticeKinds)('a notice means nothing to others, and a summary has no outcome: %s', (notice) => {
  const record = recordOf({ notice });
  const ended = change(record, withFailure(record, 'http_status', RECORD_TIME_MS));
  expect(ended?.outcome).toBeUndefined();
  expect(ended?.happened).toBe(notice === 'summary' ? 'failed' : undefined);
});

it('a heartbeat means nothing to others', () => {
  const record = recordOf({}, HEARTBEAT_TENANT);
  expect(change(record, withFailure(record, 'http_status', RECORD_TIME_MS))).toBeUndefined();
});
