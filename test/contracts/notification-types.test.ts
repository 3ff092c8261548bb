import { describe, expect, it } from 'vitest';
import { parseNotification } from '../../shared/contracts/notification.ts';
import { notificationTypeRecord } from '../../shared/contracts/notification-fields.ts';
import { isNotificationTypeId, notificationTypeIds } from '../../shared/contracts/notification-types.ts';
import { validDetails } from '../support/notifications.ts';
import { rejectionDetails } from '../support/rejection.ts';

/** An email address of this length, with DNS labels of valid lengths. */
const addressOf = (length: number): string => `ops@${`${'d'.repeat(62)}.`.repeat(4).slice(0, length - 8)}.com`;

const { api_key: key = '' } = validDetails.incidentrouter;

const rejectionOf = (type: string, details: unknown) =>
  rejectionDetails(parseNotification({ label: 'l', type, details }));

const valid: [type: string, details: Record<string, string>][] = [
  ...Object.entries(validDetails),
  ['email', { address: 'first.last+tag@mail.example.co.uk' }],
  ['email', { address: "o'brien@example.com" }],
  ['email', { address: 'list-owner+night=shift@example.com' }],
  ['webhook', { url: 'http://example.com' }],
  ['webhook', { url: 'HTTPS://user:secret@EXAMPLE.com:8443/a/b?c=d&e=%20#f' }],
  ['webhook', { url: 'https://bücher.example/' }],
  ['webhook', { url: 'http://[2606:4700:4700::1111]:8080/' }],
  ['incidentpager', { service_key: 'a' }],
  ['incidentpager', { service_key: '0'.repeat(32) }],
  ['incidentpager', { service_key: 'a1', service_endpoint: 'https://pager.example.com/events' }],
  ['sms', { phone_number: '+123456' }],
  ['sms', { phone_number: '+999999999999999' }],
  ['incidentrouter', { api_key: key.toUpperCase() }],
  ['incidentrouter', { api_key: key, routing_key: 'a-Z_0.9' }],
  ['incidentrouter', { api_key: key, routing_key: '...' }],
  ['atomfeed', { category: 'any text, <even> this' }],
  ['managed', { anything: 'goes' }],
];

/** Details of a type that have the values of a field in turn, beside others. */
const withEach = (type: string, field: string, values: readonly string[], others: Record<string, string> = {}) =>
  values.map((value): [string, Record<string, string>, string] => [type, { ...others, [field]: value }, field]);

const invalid: [type: string, details: Record<string, string>, field: string][] = [
  ['email', {}, 'address'],
  ...withEach('email', 'address', [
    ...['ops', '@example.com', 'ops@', 'ops@example', 'a b@example.com', 'Ops <ops@example.com>', 'a@b@example.com'],
    ...['ops@example.com,root@example.com', '.ops@example.com', 'ops.@example.com', 'o..ps@example.com'],
    ...['ops@127.0.0.1', 'ops@[127.0.0.1]', 'ops@example.com\r\nBcc: root@example.com', 'ops@example.com\n'],
  ]),
  ['webhook', {}, 'url'],
  ...withEach('webhook', 'url', [
    ...['example.com', '//example.com', 'ftp://example.com', 'file:///etc/passwd', 'javascript:alert(1)', 'http://'],
    ...['https://exa mple.com', ' https://example.com', 'https://example.com\n', 'https://exa\tmple.com'],
    ...['http://example.com:99999/', 'http://300.1.1.1/'],
  ]),
  ['incidentpager', {}, 'service_key'],
  ...withEach('incidentpager', 'service_key', ['0'.repeat(33), 'a-b', 'ä', 'abc\n']),
  ['incidentpager', { service_key: 'a', service_endpoint: 'pager' }, 'service_endpoint'],
  ['sms', {}, 'phone_number'],
  ...withEach('sms', 'phone_number', [
    ...['12025550123', '+02025550123', '+12345', '+1234567890123456', '+1 202 555 0123', '+1-202-5550123', '+'],
    ...['+1٢٠٢5550123', '+12025550123\n'],
  ]),
  ['incidentrouter', {}, 'api_key'],
  ...withEach('incidentrouter', 'api_key', [
    ...['9b2f6c1e-4d3a-1e5f-8a7b-1c2d3e4f5a6b', '9b2f6c1e-4d3a-4e5f-ca7b-1c2d3e4f5a6b', key.replaceAll('-', '')],
    '00000000-0000-0000-0000-000000000000',
  ]),
  ...withEach('incidentrouter', 'routing_key', ['.', '..', 'a/b', 'a b', 'ä', '../x', 'a\n'], { api_key: key }),
  ['atomfeed', {}, 'category'],
];

describe('the details of each type', () => {
  it.each(valid)('accept %s with %j', (type, details) => {
    expect(rejectionOf(type, details)).toBeUndefined();
  });

  it.each(invalid)('reject %s with %j and name the field', (type, details, field) => {
    expect(rejectionOf(type, details)).toMatch(new RegExp(`^details\\.${field}: [^;]+$`));
  });

  const { email, webhook, incidentpager, incidentrouter, sms } = validDetails;
  it.each<[type: string, details: Record<string, string>]>([
    ['email', { address: ` ${email.address}` }],
    ['webhook', { url: `${webhook.url}\n` }],
    ['incidentpager', { service_key: `\t${incidentpager.service_key}` }],
    ['incidentpager', { ...incidentpager, service_endpoint: ' https://pager.example.com' }],
    ['sms', { phone_number: `${sms.phone_number} ` }],
    ['incidentrouter', { api_key: ` ${incidentrouter.api_key}` }],
    ['incidentrouter', { ...incidentrouter, routing_key: 'team ' }],
  ])('say that %s %j has white space around a value', (type, details) => {
    expect(rejectionOf(type, details)).toMatch(/^details\.\w+: must be .*, without white space around it$/);
  });

  it('name the ASCII form of a domain with other characters', () => {
    expect(rejectionOf('email', { address: 'ops@bücher.example' })).toBe(
      'details.address: must be an email address of at most 254 characters, with its domain in ASCII: ops@xn--bcher-kva.example',
    );
  });

  it('refuse placeholders in the URL of a webhook, where nothing replaces them', () => {
    const details = { url: 'https://hooks.example.com/{{alarm.id}}' };
    expect(rejectionOf('webhook', details)).toBe('details.url: must be an HTTP or HTTPS URL, without placeholders');
  });

  it('accept an email address of up to 254 characters (RFC 5321)', () => {
    const issuesFor = (length: number) => rejectionOf('email', { address: addressOf(length) });
    expect(issuesFor(254)).toBeUndefined();
    expect(issuesFor(255)).toBe('details.address: must be an email address of at most 254 characters');
  });

  it('accept a URL of 4,096 characters', () => {
    const details = { url: 'https://example.com/'.padEnd(4096, 'p') };
    expect(rejectionOf('webhook', details)).toBeUndefined();
  });

  it('report an empty value once, with the allowed lengths', () => {
    expect(rejectionOf('email', { address: '' })).toBe('details.address: must be 1 to 4096 characters long');
  });

  it('ignore fields in the prototype of the details', () => {
    const details: unknown = JSON.parse('{"__proto__":{"address":"ops@example.com"}}');
    expect(rejectionOf('email', details)).toMatch(/details\.address: is required/);
  });
});

describe('the list of types', () => {
  const listing = Object.fromEntries(notificationTypeIds.map((id) => [id, notificationTypeRecord(id)]));
  const fieldsOf = (id: string) => listing[id]?.fields?.map(({ name, optional }) => [name, optional]) ?? null;

  it('contains the eight types of the interface with their fields', () => {
    expect(Object.fromEntries(Object.keys(listing).map((id) => [id, fieldsOf(id)]))).toMatchObject({
      email: [['address', false]],
      webhook: [['url', false]],
      incidentpager: [
        ['service_key', false],
        ['service_endpoint', true],
      ],
      sms: [['phone_number', false]],
      incidentrouter: [
        ['api_key', false],
        ['routing_key', true],
      ],
      atomfeed: [['category', false]],
      technicalContactsEmail: null,
      managed: null,
    });
  });

  it('has only the properties of the API contract, and a description for every field', () => {
    for (const [id, record] of Object.entries(listing)) {
      expect(Object.keys(record)).toEqual(['id', 'fields']);
      expect(record.id).toBe(id);
      for (const field of record.fields ?? []) {
        expect(Object.keys(field)).toEqual(['name', 'description', 'optional']);
        expect(field.description).toMatch(/\w/);
      }
    }
  });

  it.each(['__proto__', 'constructor', 'toString', '', 'Email', 7, null, undefined])('does not contain %o', (id) => {
    expect(isNotificationTypeId(id)).toBe(false);
  });
});
