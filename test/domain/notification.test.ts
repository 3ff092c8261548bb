import { describe, expect, it } from 'vitest';
import { assertChangeable, defaultNotification, typeFields, withChanges } from '../../shared/domain/notification.ts';
import { isStoredNotificationId, newNotificationId } from '../../shared/domain/notification-id.ts';
import { webhookNotification } from '../support/notifications.ts';

describe('the fields of a type', () => {
  it('exclude additional entries', () => {
    const details = { url: 'https://a.example', address: 'x', __proto__x: 'y' };
    expect(typeFields({ type: 'webhook', details })).toEqual({ url: 'https://a.example' });
    expect(typeFields({ type: 'managed', details })).toEqual({});
  });

  it('exclude inherited property names', () => {
    expect(typeFields({ type: 'webhook', details: JSON.parse('{"constructor":"c","__proto__":"p"}') })).toEqual({});
  });
});

describe('a partial update', () => {
  it('replaces the attributes in the request as a whole, in a copy', () => {
    const before = webhookNotification({ metadata: { team: 'a' } });
    const details = { extra: 'x' };
    for (const changes of [{ label: 'New' }, { metadata: {} }, { details }])
      expect(withChanges(before, changes)).toEqual({ ...before, ...changes });
    expect(before).toEqual(webhookNotification({ metadata: { team: 'a' } }));
  });
});

describe('the default notification', () => {
  it('cannot be changed', () => {
    expect(() => assertChangeable(defaultNotification.id)).toThrow(expect.objectContaining({ type: 'forbiddenError' }));
    expect(() => assertChangeable(newNotificationId())).not.toThrow();
  });
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
