import { describe, expect, it } from 'vitest';
import { issuedSince, withoutEnded } from '../../shared/domain/token-lineage.ts';

/** A token, by default of an operator. The ID is also the time. */
const token = (id: string, issuer = 'operator') => ({ id, issuer, created_at_ms: Number(id) });

const tokens = [
  token('1'),
  token('2', '1'),
  token('3', '2'),
  token('4', '1'),
  token('5', '3'),
  token('6'),
  token('7', '4'),
];
const ids = (found: readonly { id: string }[]) => found.map(({ id }) => id);

describe('what a token issued', () => {
  it('is transitive, each token after its issuer', () => {
    expect(ids(issuedSince(tokens, '1', 0))).toEqual(['2', '3', '4', '5', '7']);
    expect(issuedSince(tokens, '6', 0)).toEqual([]);
    expect(ids(issuedSince(tokens, 'operator', 6))).toEqual(['6']);
  });

  it('begins with the tokens of a time, and has everything that these issued, by whatever clock', () => {
    expect(ids(issuedSince(tokens, '1', 4))).toEqual(['4', '7']);
    expect(issuedSince(tokens, '1', 5)).toEqual([]);
    const slowClock = [token('1'), token('4', '1'), token('3', '4')];
    expect(ids(issuedSince(slowClock, '1', 4))).toEqual(['4', '3']);
  });
});

describe('the list of tokens without ended ones', () => {
  const without = (valid: string, kept = 100) =>
    withoutEnded(tokens, ({ id }) => valid.includes(id), kept).map(({ id, issuer }) => `${id} of ${issuer}`);

  it('keeps the issuers of valid ones, so that what these issued is known', () => {
    expect(without('56')).toEqual(['1 of operator', '2 of 1', '3 of 2', '5 of 3', '6 of operator']);
    expect(without('6')).toEqual(['6 of operator']);
  });

  it('keeps only the newest of them above a number: what the others issued belongs to their issuers', () => {
    expect(without('57', 2)).toEqual(['3 of operator', '4 of operator', '5 of 3', '7 of 4']);
    expect(without('57', 0)).toEqual(['5 of operator', '7 of operator']);
    expect(without('157', 1)).toEqual(['1 of operator', '4 of 1', '5 of 1', '7 of 4']);
  });
});
