import { describe, expect, it } from 'vitest';
import { parseAccountChanges } from '../../shared/contracts/account.ts';
import { parseJson } from '../../shared/contracts/json.ts';
import { parseChanges, parseDestination, parseNotification } from '../../shared/contracts/notification.ts';
import { type NotificationTypeId, notificationTypeIds } from '../../shared/contracts/notification-types.ts';
import { withChanges } from '../../shared/domain/notification-changes.ts';
import { validDetails, webhookNotification } from '../support/notifications.ts';
import { rejectionDetails } from '../support/rejection.ts';

const create = (changes: object) => parseNotification({ ...webhookNotification(), ...changes });

describe('a new notification', () => {
  it.each([
    ['1 character', 'a'],
    ['255 characters', 'a'.repeat(255)],
    ['255 characters outside the basic plane, which are 510 UTF-16 units', '😀'.repeat(255)],
    ['a space', ' '],
  ])('may have a label of %s', (_, label) => {
    expect(rejectionDetails(create({ label }))).toBeUndefined();
  });

  it.each([
    ['empty', '', 'label: must be 1 to 255 characters long'],
    ['256 characters long', 'a'.repeat(256), 'label: must be 1 to 255 characters long'],
    ['256 characters long, outside the basic plane', '😀'.repeat(256), 'label: must be 1 to 255 characters long'],
    ['a text with NUL', 'a\0b', 'label: must not contain the NUL character'],
    ['a text with a lone high surrogate', 'a\ud800', 'label: must be well-formed Unicode, without lone surrogates'],
    ['a text with a lone low surrogate', '\udc00a', 'label: must be well-formed Unicode, without lone surrogates'],
    ['a number', 7, 'label: must be a string'],
    ['missing', undefined, 'label: is required'],
    ['null', null, 'label: is required'],
  ])('is rejected if its label is %s', (_, label, message) => {
    expect(rejectionDetails(create({ label }))).toBe(message);
  });

  it.each([
    ['unknown', 'pigeon'],
    ['in another case', 'Webhook'],
    ['an inherited property', 'constructor'],
    ['a prototype', '__proto__'],
    ['a number', 1],
    ['a list of one type', ['webhook']],
    ['absent', undefined, 'type: is required'],
    ['null', null, 'type: is required'],
  ])('is rejected if its type is %s', (_, type, message = `type: must be one of ${notificationTypeIds.join(', ')}`) => {
    expect(rejectionDetails(create({ type }))).toBe(message);
  });

  it.each([
    ['missing', undefined, 'details: is required'],
    ['null', null, 'details: is required'],
    ['a string', '{}', 'details: must be an object of strings'],
    ['a list', [], 'details: must be an object of strings'],
    ['empty', {}, 'details.url: is required'],
  ])('is rejected if its details are %s and its type has required fields', (_, details, message) => {
    expect(rejectionDetails(create({ details }))).toBe(message);
  });

  it.each([[undefined], [null], [{}]])('of a type without fields may have the details %o', (details) => {
    for (const type of ['technicalContactsEmail', 'managed']) {
      expect(create({ type, details })).toMatchObject({ success: true, data: { details: {} } });
    }
  });

  it.each([[undefined], [null]])('has no metadata if the body has %s', (metadata) => {
    const { success, data } = create({ metadata });
    expect({ success, metadata: data?.metadata }).toEqual({ success: true, metadata: undefined });
  });

  it('of an email address that is too long is rejected by its length, which is checked before its format', () => {
    // One second of the format's time for each 30,000 dots.
    const address = `a@${'.'.repeat(1_000_000)}@`;
    expect(rejectionDetails(create({ type: 'email', details: { address } }))).toBe(
      'details.address: must be 1 to 4096 characters long',
    );
    expect(rejectionDetails(parseAccountChanges({ technical_contacts: [address] }))).toBe(
      'technical_contacts.0: must be an email address of at most 254 characters',
    );
  });

  it('drops unknown top-level keys', () => {
    const { data } = create({ id: 'ntMine', who: 'me', why: 'because', created_at: 1 });
    expect(Object.keys(data ?? {}).toSorted()).toEqual(['details', 'label', 'type']);
  });

  it('is rejected with all invalid fields', () => {
    const message = rejectionDetails(
      parseNotification({ label: '', type: 'incidentpager', details: { extra: 1 }, metadata: { team: '' } }),
    );
    expect(message?.split('; ').toSorted()).toEqual([
      'details.extra: must be a string',
      'details.service_key: is required',
      'label: must be 1 to 255 characters long',
      'metadata.team: must be 1 to 255 characters long',
    ]);
  });

  it('is rejected with a number, whose digits are preserved, instead of a map', () => {
    const message = rejectionDetails(create({ details: parseJson('1.0'), metadata: parseJson('1e400') }));
    expect(message).toBe('details: must be an object of strings; metadata: must be an object of strings');
  });

  it('is rejected with the invalid fields of its details even if its type is unknown', () => {
    const message = rejectionDetails(parseNotification({ type: 'pigeon', details: { speed: 3 } }));
    expect(message?.split('; ').map((issue) => issue.split(':')[0])).toEqual(['label', 'type', 'details.speed']);
  });

  it.each([[[]], ['text'], [7], [true], [null], [undefined]])(
    'is rejected if the body is %o, as are changes',
    (body) => {
      expect(rejectionDetails(parseNotification(body))).toBe('body: must be a JSON object');
      expect(rejectionDetails(parseChanges(body))).toBe('body: must be a JSON object');
    },
  );
});

describe('a muted notification', () => {
  const yearMs = 366 * 86_400_000;
  const parsed = (muted_until: unknown) =>
    parseNotification({ label: 'l', type: 'email', details: validDetails.email, muted_until });

  it('is muted until a time at most a year ahead, and not if it has passed', () => {
    const untilMs = Date.now() + yearMs - 60_000;
    expect([untilMs, Date.now(), 0, null].map((value) => parsed(value).data?.muted_until)).toEqual([
      untilMs,
      undefined,
      undefined,
      undefined,
    ]);
    for (const value of [Date.now() + yearMs + 60_000, -1, 0.5, '0', true]) {
      expect(rejectionDetails(parsed(value))).toMatch(/^muted_until: must be a time in milliseconds/);
    }
  });

  it('stays muted in an update of something else, also of the type', () => {
    const before = { label: 'l', type: 'webhook', details: {}, muted_until: 1 } as const;
    expect(withChanges(before, { type: 'sms' }).muted_until).toBe(1);
    expect(withChanges(before, { muted_until: 0 }).muted_until).toBe(0);
  });
});

describe('an ordered notification', () => {
  const parsed = (ordered: unknown, type: NotificationTypeId = 'webhook') =>
    parseNotification({ label: 'l', type, details: validDetails[type], ordered });

  it('is a webhook, and has the attribute only if it is true', () => {
    expect([true, false, null].map((value) => parsed(value).data?.ordered)).toEqual([true, undefined, undefined]);
    expect(rejectionDetails(parsed('yes'))).toBe('ordered: must be true or false');
    expect(rejectionDetails(parsed(true, 'sms'))).toBe('ordered: is only for notifications of type webhook');
    expect(parsed(false, 'sms').success).toBe(true);
  });

  it('stays ordered until an update says false or changes the type', () => {
    const before = { label: 'l', type: 'webhook', details: {}, ordered: true } as const;
    expect(withChanges(before, { label: 'm' }).ordered).toBe(true);
    expect(withChanges(before, { ordered: false }).ordered).toBe(false);
    expect(withChanges(before, { type: 'sms' }).ordered).toBeUndefined();
  });
});

describe('a destination in a test request', () => {
  it('requires type and details, but no label', () => {
    const body = { type: 'sms', details: validDetails.sms };
    expect(parseDestination(body)).toMatchObject({ success: true, data: body });
  });

  it('is rejected with all invalid fields', () => {
    expect(rejectionDetails(parseDestination({}))).toBe('type: is required; details: is required');
    expect(rejectionDetails(parseDestination({ type: 'email', details: { address: 'nobody' } }))).toMatch(
      /^details\.address: /,
    );
  });
});

describe('an update', () => {
  it('contains only the known attributes of the body', () => {
    expect(parseChanges({ label: 'Day shift', unknown: 1 })).toEqual({ success: true, data: { label: 'Day shift' } });
  });

  it('is empty if the body is empty or its attributes are null', () => {
    expect(parseChanges({})).toEqual({ success: true, data: {} });
    expect(parseChanges({ label: null, metadata: null })).toEqual({ success: true, data: {} });
  });
});
