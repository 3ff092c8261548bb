import { describe, expect, it } from 'vitest';
import { MAX_TOKEN_DAYS, parseNewToken, roles } from '../../shared/contracts/token.ts';
import { rejectionDetails } from '../support/rejection.ts';

const valid = { label: 'ci', role: 'admin' };
const detailsOf = (body: unknown) => rejectionDetails(parseNewToken(body));

describe('the request for a token', () => {
  it.each(roles)('accepts the role %s, and defaults to 365 days', (role) => {
    expect(parseNewToken({ ...valid, role, tenant: 'x' }).data).toEqual({ label: 'ci', role, days: 365 });
  });

  it.each([1, 2, 365, MAX_TOKEN_DAYS])('accepts %i days', (days) => {
    expect(parseNewToken({ ...valid, days }).data).toMatchObject({ days });
  });

  it.each([0, -1, 0.5, MAX_TOKEN_DAYS + 1, 1e300, '1', [], {}, true])('rejects %j as days, with one error', (days) => {
    expect(detailsOf({ ...valid, days })).toBe('days: must be a whole number from 1 to 3650');
  });

  it.each(['', 'Admin', '__proto__', 'toString', 7, ['admin']])('rejects %j as role', (role) => {
    expect(detailsOf({ ...valid, role })).toBe('role: must be one of admin, creator, observer');
  });

  it('accepts a label of 255 code points, and rejects a longer or an empty one', () => {
    expect(parseNewToken({ ...valid, label: '😀'.repeat(255) }).success).toBe(true);
    for (const label of ['', 'x'.repeat(256)])
      expect(detailsOf({ ...valid, label })).toBe('label: must be 1 to 255 characters long');
  });

  it('reports all invalid fields, and counts null as absent', () => {
    expect(detailsOf({ label: null, days: 0 })).toBe(
      'label: is required; role: is required; days: must be a whole number from 1 to 3650',
    );
  });

  it.each([undefined, null, 7, 'text', []])('is rejected if it is not an object: %j', (body) => {
    expect(detailsOf(body)).toBe('body: must be a JSON object');
  });
});
