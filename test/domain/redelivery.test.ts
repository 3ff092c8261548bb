import { describe, expect, it } from 'vitest';
import { deliveryStatuses } from '../../shared/contracts/outcomes.ts';
import { parseRedelivery } from '../../shared/contracts/redelivery.ts';
import {
  isCurrentFailure,
  isSettledFailure,
  notRedelivered,
  parseRedeliveryMarker,
  redeliveryMarker,
} from '../../shared/domain/redelivery.ts';
import { deliveryRecord } from '../support/delivery-records.ts';

const NOW = Date.UTC(2026, 0, 1);

describe('the marker of a redelivery', () => {
  it.each([
    { beganAtMs: NOW, after: null },
    { beganAtMs: 7, after: `${NOW}#${'a1'.repeat(32)}` },
  ])('is accepted by the parser of requests and returns the same cursor: %j', (cursor) => {
    const marker = redeliveryMarker(cursor);
    expect(parseRedelivery({ since: 0, marker }).success).toBe(true);
    expect(parseRedeliveryMarker(marker)).toEqual(cursor);
  });
});

describe('a stored message', () => {
  const notification = { tenant: 'acme', notificationId: 'nt1' };
  const failed = deliveryRecord(notification, 'e1', { status: 'failed', round: 3, updated_at_ms: NOW });

  it('belongs to the current failure if status, time of failure and round match', () => {
    expect(isCurrentFailure(failed, { failedAtMs: NOW, round: 4 })).toBe(true);
  });

  it.each([
    ['there is no record', undefined, NOW, 4],
    ['the delivery is pending', { ...failed, status: 'pending' as const }, NOW, 4],
    ['the delivery failed at another time', failed, NOW - 1, 4],
    ['its round has started', failed, NOW, 3],
    ['its round is later', failed, NOW, 5],
  ])('does not belong to it if %s', (_, record, failedAtMs, round) => {
    expect(isCurrentFailure(record, { failedAtMs, round })).toBe(false);
  });

  it('is settled five minutes after the failure', () => {
    const failure = { failedAtMs: NOW, round: 2 };
    expect([NOW - 1, NOW, NOW + 300_000, NOW + 300_001].map((nowMs) => isSettledFailure(failure, nowMs))).toEqual([
      false,
      false,
      false,
      true,
    ]);
  });
});

it('each status of a delivery has its own reason why the delivery is not redelivered', () => {
  const record = deliveryRecord({ tenant: 'acme', notificationId: 'nt1' }, 'e1');
  const records = [
    ...deliveryStatuses.map((status) => ({ ...record, status })),
    { ...record, status: 'cancelled' as const, is_shadow: true },
    { ...record, notice: 'failing' as const },
  ];
  expect(new Set(records.map(notRedelivered)).size).toBe(records.length);
});
