import { describe, expect, it } from 'vitest';
import { HEARTBEAT_TENANT } from '../../shared/contracts/alarm-event.ts';
import { noticeKinds } from '../../shared/contracts/notice.ts';
import { failed } from '../../shared/domain/attempt-outcome.ts';
import { outcomeOf } from '../../shared/domain/delivery-outcome.ts';
import {
  type DeliveryRecord,
  withAttempt,
  withFailure,
  withNextAttempt,
  withShadow,
  withStatus,
} from '../../shared/domain/delivery-record.ts';
import { deliveryRecord, RECORD_TIME_MS } from '../support/delivery-records.ts';

const MINUTE_MS = 60_000;
const notification = { tenant: 'acme', notificationId: 'nt00000000000000000000OUTCOME' };
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
const statusOf = (before: DeliveryRecord, after: DeliveryRecord) => outcomeOf(before, after, 1)?.status;

/** Returns a record after a failed attempt, with the next one due after some minutes. */
const retried = (record: DeliveryRecord, minutes: number, cause: 'destination' | 'service' = 'destination') =>
  withNextAttempt(
    withAttempt(record, failed('transient', 'http_status', 'explained', { status: 500, cause }), RECORD_TIME_MS, 10),
    RECORD_TIME_MS + minutes * MINUTE_MS,
  );

describe('the outcome of a write', () => {
  it('has the IDs, times and result of a delivery, and no destination', () => {
    const attempted = withAttempt(
      { ...pending, trace_id: 'trace' },
      { result: 'delivered', status: 200, explanation: 'OK' },
      RECORD_TIME_MS,
      80,
    );
    expect(outcomeOf(pending, withStatus(attempted, 'delivered', RECORD_TIME_MS + 90), 1)).toEqual({
      version: 1,
      tenant_id: 'acme',
      notification_id: notification.notificationId,
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

  it.each(['delivered', 'failed', 'superseded', 'cancelled', 'summarized'] as const)(
    'is published when it ends: %s',
    (status) => {
      const ended = withStatus(pending, status, RECORD_TIME_MS);
      expect(statusOf(pending, ended)).toBe(status);
      expect(statusOf(ended, { ...ended, reported_status: status })).toBeUndefined();
    },
  );

  it('is published again when a delivered email bounces', () => {
    const delivered = withStatus(pending, 'delivered', RECORD_TIME_MS);
    const bounced = withStatus({ ...delivered, last_reason: 'bounced' }, 'bounced', RECORD_TIME_MS);
    expect(outcomeOf(delivered, bounced, 1)).toMatchObject({ status: 'bounced', reason: 'bounced' });
  });

  it('has the reason of a failure, and of shadow mode', () => {
    const given = withFailure(retried(pending, 1), 'expired', RECORD_TIME_MS);
    expect(outcomeOf(pending, given, 1)).toMatchObject({ status: 'failed', reason: 'expired', attempts: 1 });
    const withheld = withShadow(pending, RECORD_TIME_MS);
    expect(outcomeOf(pending, withheld, 1)).toMatchObject({ status: 'cancelled', reason: 'shadow' });
  });

  it('is published when a delivery begins to fail, once in a round', () => {
    const first = retried(pending, 1);
    expect(statusOf(pending, first)).toBeUndefined();
    const failing = retried(first, 8);
    expect(outcomeOf(first, failing, 1)).toMatchObject({
      status: 'failing',
      reason: 'http_status',
      attempts: 2,
      ended_at: null,
    });
    expect(statusOf(failing, retried(failing, 20))).toBeUndefined();
    const reported: DeliveryRecord = { ...failing, reported_status: 'pending' };
    const interrupted = retried(reported, 20, 'service');
    expect(statusOf(interrupted, retried(interrupted, 40))).toBeUndefined();
  });

  it('is not published for a claim, or a new round', () => {
    expect(statusOf(pending, { ...pending, lease_until_ms: RECORD_TIME_MS })).toBeUndefined();
    expect(statusOf(withStatus(pending, 'failed', RECORD_TIME_MS), { ...pending, round: 2 })).toBeUndefined();
  });

  it.each(noticeKinds)('is not published for a notice: %s', (notice) => {
    const record = recordOf({ notice });
    expect(outcomeOf(record, withStatus(record, 'delivered', RECORD_TIME_MS), 1)).toBeUndefined();
  });

  it('is not published for heartbeats', () => {
    const record = recordOf({}, HEARTBEAT_TENANT);
    expect(outcomeOf(record, withStatus(record, 'delivered', RECORD_TIME_MS), 1)).toBeUndefined();
  });

  it('has no type if the record is of an earlier version', () => {
    const { type: _, ...old } = pending;
    expect(outcomeOf(old, withStatus(old, 'delivered', RECORD_TIME_MS), 1)).toMatchObject({ type: null });
  });
});
