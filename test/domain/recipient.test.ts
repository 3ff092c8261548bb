import { describe, expect, it } from 'vitest';
import {
  isSameRecipient,
  mailboxHash,
  matchesCode,
  newCode,
  recipientHashOf,
  recipientOf,
} from '../../shared/domain/recipient.ts';

describe('a recipient', () => {
  it('is the address of an email and the number of an SMS; other types have none', () => {
    expect(recipientOf({ type: 'email', details: { address: 'a@example.com' } })?.address).toBe('a@example.com');
    expect(recipientOf({ type: 'sms', details: { phone_number: '+12025550123' } })?.address).toBe('+12025550123');
    expect(recipientOf({ type: 'technicalContactsEmail', details: {} })).toBeUndefined();
  });

  it('stays the same if only the case of letters changes', () => {
    const [lower, upper] = ['a@example.com', 'A@Example.com'].map((address) => ({ type: 'email', address }) as const);
    expect(isSameRecipient(lower, upper)).toBe(true);
    expect(recipientHashOf('t', 'a@example.com')).toBe(recipientHashOf('t', 'A@Example.com'));
    expect(isSameRecipient(undefined, undefined)).toBe(false);
  });

  it('shares its mailbox with what differs after a +, but not its verification', () => {
    const [plain, tagged] = ['a@example.com', 'a+x+y@example.com'] as const;
    expect(mailboxHash(tagged)).toBe(mailboxHash(plain));
    expect(recipientHashOf('t', tagged)).not.toBe(recipientHashOf('t', plain));
    const different = ['+a@example.com', '+b@example.com', 'b@example.com', '+12025550123', '+12025550124'];
    expect(new Set(different.map(mailboxHash)).size).toBe(different.length);
  });
});

it('a code matches what is stored of it, which does not contain it and differs each time', () => {
  const { code, stored } = newCode();
  expect(matchesCode(code, stored)).toBe(true);
  expect(matchesCode(code === '000000' ? '000001' : '000000', stored)).toBe(false);
  expect(JSON.stringify(stored)).not.toContain(code);
});
