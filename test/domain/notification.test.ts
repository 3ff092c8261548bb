import { describe, expect, it } from 'vitest';
import { typeFields } from '../../shared/contracts/notification-fields.ts';
import { deliveryStatuses, withheldReasons } from '../../shared/contracts/outcomes.ts';
import { parseRedelivery } from '../../shared/contracts/redelivery.ts';
import { defaultNotification } from '../../shared/domain/notification.ts';
import { assertChangeable, withChanges } from '../../shared/domain/notification-changes.ts';
import { isStoredNotificationId, newNotificationId } from '../../shared/domain/notification-id.ts';
import {
  isCurrentFailure,
  isSettledFailure,
  notRedelivered,
  parseRedeliveryMarker,
  redeliveryMarker,
} from '../../shared/domain/redelivery.ts';
import { deliveryRecord } from '../support/delivery-records.ts';
import { webhookNotification } from '../support/notifications.ts';

it('the fields of a type exclude additional entries and inherited property names', () => {
  const details = { url: 'https://a.example', address: 'x', __proto__x: 'y' };
  expect(typeFields({ type: 'webhook', details })).toEqual({ url: 'https://a.example' });
  expect(typeFields({ type: 'managed', details })).toEqual({});
  expect(typeFields({ type: 'webhook', details: JSON.parse('{"constructor":"c","__proto__":"p"}') })).toEqual({});
});

it('a partial update replaces the attributes in the request as a whole, in a copy', () => {
  const before = webhookNotification({ metadata: { team: 'a' } });
  const details = { extra: 'x' };
  for (const changes of [{ label: 'New' }, { metadata: {} }, { details }])
    expect(withChanges(before, changes)).toEqual({ ...before, ...changes });
  expect(before).toEqual(webhookNotification({ metadata: { team: 'a' } }));
});

it('the default notification cannot be changed', () => {
  expect(() => assertChangeable(defaultNotification.id)).toThrow(expect.objectContaining({ type: 'forbiddenError' }));
  expect(() => assertChangeable(newNotificationId())).not.toThrow();
});

describe('a notification ID', () => {
  it('has the format of a stored ID', () => {
    for (let count = 0; count < 100; count++) expect(isStoredNotificationId(newNotificationId())).toBe(true);
  });

  it.each([
    '',
    'nt',
    defaultNotification.id,
    `${newNotificationId()}\n`,
    newNotificationId().toLowerCase(),
    'nt8ZZZZZZZZZZZZZZZZZZZZZZZZZ',
  ])('cannot be "%s"', (id) => {
    expect(isStoredNotificationId(id)).toBe(false);
  });

  it('sorts by creation, and before the ID of the default notification', () => {
    const ids = Array.from({ length: 1_000 }, newNotificationId);
    expect(ids.toSorted()).toEqual(ids);
    expect(new Set(ids).size).toBe(1_000);
    expect([defaultNotification.id, ...ids].toSorted().at(-1)).toBe(defaultNotification.id);
  });
});

const NOW = Date.UTC(2026, 0, 1);

it.each([
  { beganAtMs: NOW, after: null },
  { beganAtMs: 7, after: `${NOW}#${'a1'.repeat(32)}` },
])('the marker of a redelivery is accepted by the parser of requests and returns the same cursor: %j', (cursor) => {
  const marker = redeliveryMarker(cursor);
  expect(parseRedelivery({ since: 0, marker }).success).toBe(true);
  expect(parseRedeliveryMarker(marker)).toEqual(cursor);
});

describe('a stored message', () => {
  const notification = { tenant: 'acme', id: 'nt1' };
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
  const record = deliveryRecord({ tenant: 'acme', id: 'nt1' }, 'e1');
  const records = [
    ...deliveryStatuses.map((status) => ({ ...record, status })),
    ...withheldReasons.map((withheld) => ({ ...record, status: 'cancelled' as const, withheld })),
    { ...record, notice: 'failing' as const },
  ];
  expect(new Set(records.map(notRedelivered)).size).toBe(records.length);
});
