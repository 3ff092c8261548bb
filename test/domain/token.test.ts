import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isWellFormedToken, newToken, tokenHash } from '../../shared/domain/token.ts';

const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

describe('a token', () => {
  it('is mnt_ and 49 letters and digits, and known as one', () => {
    for (let count = 0; count < 500; count++) {
      const token = newToken();
      expect(token).toMatch(/^mnt_[0-9A-Za-z]{49}$/);
      expect(isWellFormedToken(token)).toBe(true);
    }
  });

  it('is never made twice', () => {
    expect(new Set(Array.from({ length: 1_000 }, newToken)).size).toBe(1_000);
  });

  it('is refused unread where a single character of it was changed', () => {
    fc.assert(
      fc.property(fc.nat(52), fc.constantFrom(...alphabet, '_', ' ', '-', 'é'), (place, character) => {
        const token = newToken();
        fc.pre(token[place] !== character);
        expect(isWellFormedToken(token.slice(0, place) + character + token.slice(place + 1))).toBe(false);
      }),
      { numRuns: 2_000 },
    );
  });

  it('is refused where two neighbours changed places', () => {
    fc.assert(
      fc.property(fc.integer({ min: 4, max: 51 }), (place) => {
        const token = newToken();
        const [one = '', other = ''] = token.slice(place, place + 2);
        fc.pre(one !== other);
        expect(isWellFormedToken(token.slice(0, place) + other + one + token.slice(place + 2))).toBe(false);
      }),
      { numRuns: 1_000 },
    );
  });

  it.each([
    ['empty', ''],
    ['cut', newToken().slice(0, -1)],
    ['followed by a line break', `${newToken()}\n`],
    ['led by a space', ` ${newToken()}`],
    ['written twice', newToken() + newToken()],
    ['joined with another by a comma, as a repeated header is', `${newToken()},${newToken()}`],
    ['in capitals', newToken().toUpperCase()],
    ['of zeros', `mnt_${'0'.repeat(49)}`],
  ])('is refused where it is %s', (_, text) => {
    expect(isWellFormedToken(text)).toBe(false);
  });

  it('is told from any other text without failing', () => {
    fc.assert(fc.property(fc.string({ unit: 'binary' }), (text) => !isWellFormedToken(text)));
  });

  it('is kept as its SHA-256 alone', () => {
    const token = newToken();
    expect(tokenHash(token)).toBe(createHash('sha256').update(token).digest('hex'));
  });
});
