import { describe, expect, it } from 'vitest';
import { parseChanges, parseDestination, parseNotification } from '../../shared/contracts/notification.ts';
import { validDetails, webhookNotification } from '../support/notifications.ts';
import { rejectionDetails } from '../support/rejection.ts';

const create = (changes: object) => parseNotification({ ...webhookNotification(), ...changes });

describe('a new notification', () => {
  it('is accepted with label, type and details, and read as it was sent', () => {
    const body = webhookNotification({ metadata: { team: 'storage' } });
    expect(parseNotification(body)).toMatchObject({ success: true, data: body });
  });

  it.each([
    ['1 character', 'a'],
    ['255 characters', 'a'.repeat(255)],
    ['255 characters outside the basic plane, which are 510 UTF-16 units', '😀'.repeat(255)],
    ['a space', ' '],
  ])('may have a label of %s', (_, label) => {
    expect(rejectionDetails(create({ label }))).toBeUndefined();
  });

  it.each([
    ['no character', '', 'label: must be 1 to 255 characters long'],
    ['256 characters', 'a'.repeat(256), 'label: must be 1 to 255 characters long'],
    ['256 characters outside the basic plane', '😀'.repeat(256), 'label: must be 1 to 255 characters long'],
    ['a very long text', 'a'.repeat(1_000_000), 'label: must be 1 to 255 characters long'],
    ['a NUL', 'a\0b', 'label: must not contain the NUL character'],
    ['a lone high surrogate', 'a\ud800', 'label: must be well-formed Unicode, without lone surrogates'],
    ['a lone low surrogate', '\udc00a', 'label: must be well-formed Unicode, without lone surrogates'],
    ['a number', 7, 'label: must be a string'],
    ['a boolean', true, 'label: must be a string'],
    ['a list', ['a'], 'label: must be a string'],
    ['nothing', undefined, 'label: is required'],
    ['null', null, 'label: is required'],
  ])('is refused where its label is %s', (_, label, told) => {
    expect(rejectionDetails(create({ label }))).toBe(told);
  });

  it.each([
    ['unknown', 'pigeon'],
    ['in another case', 'Webhook'],
    ['a property of every object', 'constructor'],
    ['a prototype', '__proto__'],
    ['a number', 1],
    ['a list of one type', ['webhook']],
  ])('is refused where its type is %s', (_, type) => {
    expect(rejectionDetails(create({ type }))).toMatch(/^type: must be one of email, webhook, .*managed$/);
  });

  it.each([[undefined], [null]])('is refused where its type is %s', (type) => {
    expect(rejectionDetails(create({ type }))).toBe('type: is required');
  });

  it.each([
    ['nothing', undefined, 'details: is required'],
    ['null', null, 'details: is required'],
    ['a text', '{}', 'details: must be an object of strings'],
    ['a list', [], 'details: must be an object of strings'],
    ['a number', 1, 'details: must be an object of strings'],
    ['empty', {}, 'details.url: is required'],
  ])('is refused where its details are %s and its type needs some', (_, details, told) => {
    expect(rejectionDetails(create({ details }))).toBe(told);
  });

  it.each([[undefined], [null], [{}]])('of a type without fields may have %o as its details', (details) => {
    for (const type of ['technicalContactsEmail', 'managed']) {
      expect(create({ type, details })).toMatchObject({ success: true, data: { details: {} } });
    }
  });

  it.each([[undefined], [null]])('with %s as its metadata has none', (metadata) => {
    const { success, data } = create({ metadata });
    expect({ success, metadata: data?.metadata }).toEqual({ success: true, metadata: undefined });
  });

  it('keeps entries of its details that are no fields of its type', () => {
    const details = { ...validDetails.webhook, ticket_queue: 'ops' };
    expect(create({ details })).toMatchObject({ success: true, data: { details } });
  });

  it('may come with top-level keys that nobody knows, which are dropped', () => {
    const { data } = create({ id: 'ntMine', who: 'me', why: 'because', created_at: 1 });
    expect(Object.keys(data ?? {}).toSorted()).toEqual(['details', 'label', 'type']);
  });

  it('is told every field that failed at once', () => {
    const told = rejectionDetails(
      parseNotification({ label: '', type: 'incidentpager', details: { extra: 1 }, metadata: { team: '' } }),
    );
    expect(told?.split('; ').toSorted()).toEqual([
      'details.extra: must be a string',
      'details.service_key: is required',
      'label: must be 1 to 255 characters long',
      'metadata.team: must be 1 to 255 characters long',
    ]);
  });

  it('is told of its details even where its type is unknown', () => {
    const told = rejectionDetails(parseNotification({ type: 'pigeon', details: { speed: 3 } }));
    expect(told?.split('; ').map((one) => one.split(':')[0])).toEqual(['label', 'type', 'details.speed']);
  });

  it.each([[[]], ['text'], [7], [true], [null], [undefined]])('is refused where the body is %o', (body) => {
    expect(rejectionDetails(parseNotification(body))).toBe('body: must be a JSON object');
  });
});

describe('a destination that is tested before it is created', () => {
  it('needs type and details, and no label', () => {
    const body = { type: 'sms', details: validDetails.sms };
    expect(parseDestination(body)).toMatchObject({ success: true, data: body });
  });

  it('is told every field that failed', () => {
    expect(rejectionDetails(parseDestination({}))).toBe('type: is required; details: is required');
    expect(rejectionDetails(parseDestination({ type: 'email', details: { address: 'nobody' } }))).toMatch(
      /^details\.address: /,
    );
  });
});

describe('an update', () => {
  it('changes only what it names', () => {
    expect(parseChanges({ label: 'Day shift', unknown: 1 })).toEqual({ success: true, data: { label: 'Day shift' } });
  });

  it('changes nothing where it is empty, or names attributes with null', () => {
    expect(parseChanges({})).toEqual({ success: true, data: {} });
    expect(parseChanges({ label: null, metadata: null })).toEqual({ success: true, data: {} });
  });

  it.each([[[]], ['text'], [7], [null]])('is refused where the body is %o', (body) => {
    expect(rejectionDetails(parseChanges(body))).toBe('body: must be a JSON object');
  });
});
