import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { deliveryKey } from '../../shared/domain/delivery-key.ts';
import { deliveryKeyFromTags, emailTags } from '../../shared/domain/email-event.ts';
import { mailboxHash, optOutUrl, parseOptOutQuery } from '../../shared/domain/email-stop.ts';
import { DEFAULT_NOTIFICATION_ID, newNotificationId } from '../../shared/domain/notification-id.ts';
import { alarmEvent } from '../support/events.ts';
import { forAll } from '../support/quick-run.ts';

const API_URL = 'https://api.example.org';
const key = Buffer.alloc(32, 1);
const recipient = { tenant: 'acme', address: 'OnCall@example.com' };

const queryOf = (usedKey: Buffer, of: typeof recipient): string =>
  new URL(optOutUrl(API_URL, usedKey, of)).search.slice(1);
const parsed = (query: string) => parseOptOutQuery(key, query);

describe('an opt-out link', () => {
  it('identifies its recipient, whatever tenant and address are', () => {
    const tenants = fc.stringMatching(/^[\x21-\x7e]{1,128}$/);
    const addresses = fc.stringMatching(/^[\x21-\x7e]{1,120}@[a-z]{1,120}\.org$/);
    forAll()(tenants, addresses, (tenant, address) => {
      const url = optOutUrl(API_URL, key, { tenant, address });
      expect(parsed(new URL(url).search.slice(1))).toEqual({ tenant, address });
      expect(url.length).toBeLessThan(700);
    });
  });

  it('shows neither the address nor its hash', () => {
    const query = queryOf(key, recipient);
    const bytes = Buffer.from(new URLSearchParams(query).get('link') ?? '', 'base64url');
    for (const secret of [recipient.address, 'example.com', mailboxHash(recipient)]) {
      expect(query).not.toContain(secret);
      expect(bytes.includes(secret)).toBe(false);
    }
  });

  it('of another key is invalid', () => {
    expect(parsed(queryOf(Buffer.alloc(32, 2), recipient))).toBeUndefined();
  });

  it('cannot be used for another tenant', () => {
    const query = queryOf(key, recipient);
    const other = queryOf(key, { ...recipient, tenant: 'globex' });
    const tenantOf = (text: string) => text.split('&')[0];
    expect(parsed(query.replace(`${tenantOf(query)}`, `${tenantOf(other)}`))).toBeUndefined();
  });

  it('is invalid with a change of any character', () => {
    const query = queryOf(key, recipient);
    // The last bits of a Base64 text may be unused.
    for (let index = query.indexOf('&link=') + 6; index < query.length - 1; index++) {
      const changed = query[index] === 'A' ? 'B' : 'A';
      expect(parsed(query.slice(0, index) + changed + query.slice(index + 1)), String(index)).toBeUndefined();
    }
  });

  it.each(['', 'tenant=&link=', `tenant=YWNtZQ&link=${'A'.repeat(43)}`, `tenant=YWNtZQ&link=${'A'.repeat(1_000_000)}`])(
    'is no other text',
    (query) => {
      expect(parsed(query)).toBeUndefined();
    },
  );
});

const tenants = fc
  .array(fc.integer({ min: 0x21, max: 0x7e }), { minLength: 1, maxLength: 128 })
  .map((codes) => String.fromCharCode(...codes));

describe('the tags of an email', () => {
  it('identify the delivery record, for any IDs', () => {
    const ids = fc.constantFrom(newNotificationId(), DEFAULT_NOTIFICATION_ID);
    forAll()(tenants, ids, fc.string({ minLength: 1, maxLength: 512 }), (tenant_id, id, event_id) => {
      const event = alarmEvent({ tenant_id, event_id });
      expect(deliveryKeyFromTags(emailTags(event, id))).toEqual(deliveryKey(event, id));
    });
  });

  it('contain at most 256 letters, digits, _ and -, as SES requires', () => {
    forAll()(tenants, (tenant_id) => {
      for (const value of Object.values(emailTags(alarmEvent({ tenant_id }), DEFAULT_NOTIFICATION_ID))) {
        expect(value).toMatch(/^[A-Za-z0-9_-]{1,256}$/);
      }
    });
  });

  const validTags = emailTags(alarmEvent(), DEFAULT_NOTIFICATION_ID);
  it.each([
    ['all are missing', { notification: undefined, tenant: undefined, event: undefined }],
    ['the notification is missing', { notification: undefined }],
    ['the tenant is missing', { tenant: undefined }],
    ['the event is missing', { event: undefined }],
    ['the notification is not an id', { notification: 'nt#other' }],
    ['the tenant contains a space', { tenant: Buffer.from('a b').toString('base64url') }],
    ['the tenant is too long', { tenant: Buffer.from('a'.repeat(129)).toString('base64url') }],
    ['the event has no hash', { event: '1700000000000-zz' }],
  ])('are invalid if %s', (_, changes) => {
    expect(deliveryKeyFromTags({ ...validTags, ...changes })).toBeUndefined();
  });
});
