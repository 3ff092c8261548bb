import { describe, expect, it } from 'vitest';
import { HEARTBEAT_TENANT } from '../../shared/contracts/alarm-event.ts';
import { noticeKinds } from '../../shared/contracts/notice.ts';
import { failed } from '../../shared/domain/attempt-outcome.ts';
import { deliveryCounts, deliveryTotal, destinationField, hasTotal } from '../../shared/domain/delivery-metrics.ts';
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

const destination = { cause: 'destination' } as const;
const service = { cause: 'service' } as const;
const uncounted = { ...service, countsAsAttempt: false };
const attempt = (...failure: Parameters<typeof failed>) => ({ attempt: failed(...failure) });

describe('the metrics of a message', () => {
  it.each([
    ['an attempt that delivered', { attempt: { result: 'delivered', explanation: '' } as const }, []],
    [
      'a failure of the destination',
      attempt('transient', 'http_status', '', { status: 500 }),
      ['destination_failures'],
    ],
    [
      'a last failure of the destination',
      { ...attempt('permanent', 'http_status', ''), ...destination },
      ['destination_failures', 'dead_lettered_destination'],
    ],
    [
      'a last one of the service',
      { ...attempt('permanent', 'no_feed_configured', '', service), ...service },
      ['dead_lettered_service'],
    ],
    ['a daily limit', attempt('permanent', 'tenant_limit_exceeded', ''), ['tenant_limit_exceeded']],
    ['a misconfigured sender', attempt('transient', 'sender_misconfigured', '', service), ['service_failures']],
    ['a throttled AWS account', attempt('throttled', 'throttled', '', uncounted), ['service_failures']],
    ['a quota of the AWS account', attempt('throttled', 'aws_quota_exceeded', '', uncounted), ['service_failures']],
    [
      'a destination that throttles',
      attempt('throttled', 'http_status', '', { status: 429 }),
      ['destination_failures'],
    ],
    ['an open circuit', attempt('throttled', 'circuit_open', '', { countsAsAttempt: false }), []],
    ['an account without contacts', attempt('permanent', 'no_contacts', ''), []],
    ['a recipient who opted out', attempt('permanent', 'opted_out', ''), []],
    ['a failed call to AWS', attempt('transient', 'rejected', '', service), ['service_failures']],
    ['an event superseded because of its timestamp', { hasOlderTimestamp: true }, ['older_timestamp']],
    ['a message without an attempt', {}, []],
  ])('count %s', (_, result, counts) => {
    expect(deliveryCounts(result)).toEqual(counts);
  });
});

describe('a failed delivery in logs', () => {
  it.each(['http_status', 'timeout'] as const)('called its destination: %s', (reason) => {
    expect(destinationField(reason)).toBe('called');
  });

  it.each(['opted_out', 'bounced', 'tenant_limit_exceeded', 'circuit_open', 'attempts_exhausted', 'expired'] as const)(
    'did not call its destination: %s',
    (reason) => {
      expect(destinationField(reason)).toBe('not_called');
    },
  );
});

describe('the totals of deliveries', () => {
  it.each([
    ['delivered', false, 'deliveries_delivered'],
    ['unrecorded', false, 'deliveries_delivered'],
    ['dead_lettered', false, 'deliveries_failed'],
    ['superseded', false, 'deliveries_superseded'],
    ['cancelled', false, 'deliveries_cancelled'],
    ['retried', false, undefined],
    ['duplicate', true, 'deliveries_repeated'],
    ['conflict', true, 'deliveries_repeated'],
    ['duplicate', false, undefined],
  ] as const)('count a message with the result %s (repeated: %s) in %s', (kind, isRepeated, total) => {
    expect(deliveryTotal({ kind, isRepeated })).toBe(total);
  });
});

it('have a total over all types only if an alarm reads it', () => {
  expect(['internal_errors', 'delivery_latency'].map(hasTotal)).toEqual([true, true]);
  expect(['retried', 'destination_failures', 'toString'].map(hasTotal)).toEqual([false, false, false]);
});
