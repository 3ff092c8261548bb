import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { mailboxHash } from '../../shared/domain/email-stop.ts';
import { optOutUrl, parseOptOutQuery } from '../../shared/domain/opt-out.ts';

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
    fc.assert(
      fc.property(tenants, addresses, (tenant, address) => {
        const url = optOutUrl(API_URL, key, { tenant, address });
        expect(parsed(new URL(url).search.slice(1))).toEqual({ tenant, address });
        expect(url.length).toBeLessThan(700);
      }),
    );
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
