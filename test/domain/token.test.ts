import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { endpointNames, endpoints } from '../../shared/contracts/endpoints.ts';
import { isPermitted, isWellFormedToken, newToken, tokenHash } from '../../shared/domain/token.ts';
import { forAll } from '../support/quick-run.ts';

const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

describe('a token', () => {
  it('is unique, and consists of mnt_ and 49 letters and digits', () => {
    const tokens = new Set(Array.from({ length: 500 }, newToken));
    expect(tokens.size).toBe(500);
    for (const token of tokens) {
      expect(token).toMatch(/^mnt_[0-9A-Za-z]{49}$/);
      expect(isWellFormedToken(token)).toBe(true);
    }
  });

  it('is rejected if one character was changed', () => {
    forAll(2_000)(fc.nat(52), fc.constantFrom(...alphabet, '_', ' ', '-', 'é'), (position, character) => {
      const token = newToken();
      fc.pre(token[position] !== character);
      expect(isWellFormedToken(token.slice(0, position) + character + token.slice(position + 1))).toBe(false);
    });
  });

  it('is rejected if two adjacent characters were swapped', () => {
    forAll(1_000)(fc.integer({ min: 4, max: 51 }), (position) => {
      const token = newToken();
      const [left = '', right = ''] = token.slice(position, position + 2);
      fc.pre(left !== right);
      expect(isWellFormedToken(token.slice(0, position) + right + left + token.slice(position + 2))).toBe(false);
    });
  });

  it.each([
    ['empty', ''],
    ['truncated', newToken().slice(0, -1)],
    ['followed by a line break', `${newToken()}\n`],
    ['preceded by a space', ` ${newToken()}`],
    ['repeated', newToken() + newToken()],
    ['joined with another by a comma, like a repeated header', `${newToken()},${newToken()}`],
    ['in upper case', newToken().toUpperCase()],
    ['all zeros', `mnt_${'0'.repeat(49)}`],
  ])('is rejected if it is %s', (_, text) => {
    expect(isWellFormedToken(text)).toBe(false);
  });

  it('is hashed with SHA-256', () => {
    const token = newToken();
    expect(tokenHash(token)).toBe(createHash('sha256').update(token).digest('hex'));
  });
});

const permissions = ['create', 'read', 'update', 'delete', 'test', 'redeliver', 'administer'] as const;

describe('the permissions of a role', () => {
  it.each([
    ['admin', permissions],
    ['creator', permissions.filter((permission) => !['delete', 'administer'].includes(permission))],
    ['observer', ['read']],
  ] as const)('are those of the API contract: %s', (role, permitted) => {
    expect(permissions.filter((permission) => isPermitted(role, permission))).toEqual(permitted);
  });

  it.each(['', 'Admin', 'owner', '__proto__', 'constructor', 'toString'])(
    'are none for the unknown role "%s"',
    (role) => {
      expect(endpointNames.some((name) => isPermitted(role, endpoints[name].permission))).toBe(false);
    },
  );
});
