import { describe, expect, it } from 'vitest';
import {
  noSigningSecrets,
  RETIREMENT_MS,
  signersAt,
  withNewSecret,
  withoutSecret,
} from '../../shared/domain/signing-secrets.ts';

const NOW_MS = Date.UTC(2026, 0, 1);
const first = withNewSecret(noSigningSecrets, 'first', NOW_MS);
const later = NOW_MS + 1_000;
const until = (nowMs: number) => nowMs + RETIREMENT_MS;

describe('the first signing secret of a webhook', () => {
  it('signs beside the account for a day, then alone', () => {
    expect(signersAt(first, until(NOW_MS) - 1)).toEqual({ secrets: ['first'], isAccountSigning: true });
    expect(signersAt(first, until(NOW_MS))).toEqual({ secrets: ['first'], isAccountSigning: false });
  });

  it('signs beside the one that replaces it for a day, and the account no longer than before', () => {
    const second = withNewSecret(first, 'second', later);
    expect(signersAt(second, until(NOW_MS))).toEqual({ secrets: ['second', 'first'], isAccountSigning: false });
    expect(signersAt(second, until(later))).toEqual({ secrets: ['second'], isAccountSigning: false });
  });

  it('signs beside the third one, too: the response with the second one may have been lost', () => {
    const third = withNewSecret(withNewSecret(first, 'second', later), 'third', later);
    expect(signersAt(third, later).secrets).toEqual(['third', 'second', 'first']);
    expect(signersAt(withNewSecret(third, 'fourth', later), later).secrets).toEqual(['fourth', 'third', 'second']);
  });

  it('signs beside the account for a day after it was deleted, also if a new one follows', () => {
    const deleted = withoutSecret(first, later) ?? noSigningSecrets;
    expect(signersAt(deleted, until(later) - 1)).toEqual({ secrets: ['first'], isAccountSigning: true });
    expect(signersAt(deleted, until(later))).toEqual({ secrets: [], isAccountSigning: true });
    const again = withNewSecret(deleted, 'again', later);
    expect(signersAt(again, until(later) - 1)).toEqual({ secrets: ['again', 'first'], isAccountSigning: true });
  });
});

it('a webhook without a signing secret of its own is signed by the account, and a deletion changes nothing', () => {
  expect(signersAt(noSigningSecrets, NOW_MS)).toEqual({ secrets: [], isAccountSigning: true });
  expect(withoutSecret(undefined, NOW_MS)).toBeUndefined();
  const deleted = withoutSecret(first, NOW_MS);
  expect(withoutSecret(deleted, later)).toBe(deleted);
});
