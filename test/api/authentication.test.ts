import { describe, expect, it, vi } from 'vitest';
import { createTokenRepository } from '../../shared/adapters/tokens/token-repository.ts';
import { cachedAuthentication } from '../../shared/api/endpoint.ts';
import { OPERATOR } from '../../shared/contracts/token.ts';
import { newToken, tokenHash } from '../../shared/domain/token.ts';
import { audit } from '../support/audit.ts';
import { useDatabase } from '../support/dynamodb.ts';
import { withThrottling } from '../support/dynamodb-faults.ts';
import { testClock } from '../support/test-clock.ts';

const { client, connect } = useDatabase();

const START = Date.UTC(2026, 0, 1);
const grant = { tenant: 'acme', role: 'creator', label: 'ci', expiresInSeconds: 3_600, issuer: OPERATOR } as const;
const caller = { tenant: 'acme', role: 'creator' };

const setUp = (cacheSeconds = 60) => {
  const { clock, advance } = testClock(START);
  const tokens = createTokenRepository(client, 'tokens', clock);
  const find = vi.fn(tokens.find);
  const issue = async (changes = {}) => (await tokens.issue({ ...grant, ...changes }, audit)).token;
  const revoke = async (token: string) => {
    const found = (await tokens.list(grant.tenant)).find(({ hash }) => hash === tokenHash(token));
    await tokens.revoke({ tenant: grant.tenant, id: found?.id ?? '', revoker: OPERATOR }, audit);
  };
  return { issue, revoke, find, advance, authenticate: cachedAuthentication({ find }, cacheSeconds, clock) };
};

describe('cached authentication', () => {
  it('caches a valid token for the configured time', async () => {
    const { issue, authenticate, find, advance } = setUp(60);
    const token = await issue();
    for (const seconds of [0, 30, 29]) {
      advance(seconds);
      expect(await authenticate(token)).toMatchObject(caller);
    }
    expect(find).toHaveBeenCalledTimes(1);
    advance(1);
    await authenticate(token);
    expect(find).toHaveBeenCalledTimes(2);
  });

  it('rejects an expired token even if it is cached', async () => {
    const { issue, authenticate, advance } = setUp(60);
    const token = await issue({ expiresInSeconds: 10 });
    expect(await authenticate(token)).toMatchObject(caller);
    advance(10);
    expect(await authenticate(token)).toBeUndefined();
  });

  it('reads the token on every request if the cache time is 0', async () => {
    const { issue, authenticate, find } = setUp(0);
    const token = await issue();
    await authenticate(token);
    await authenticate(token);
    expect(find).toHaveBeenCalledTimes(2);
  });

  it('does not cache unknown tokens, so that a token issued a moment later works', async () => {
    const { authenticate, find } = setUp();
    const token = newToken();
    expect(await authenticate(token)).toBeUndefined();
    find.mockResolvedValueOnce({ tenant: 'acme', role: 'creator', token: { id: 'tk', label: 'ci' }, ttl: START });
    expect(await authenticate(token)).toMatchObject(caller);
  });

  it('rejects a malformed token without reading the table', async () => {
    const { authenticate, find } = setUp();
    expect(await authenticate(`${newToken().slice(0, -1)}!`)).toBeUndefined();
    expect(find).not.toHaveBeenCalled();
  });

  it('fails if the table is throttled, and succeeds on the next request', async () => {
    const { issue } = setUp();
    const token = await issue();
    const broken = createTokenRepository(
      withThrottling(connect({ maxAttempts: 1 }), 'GetItemCommand', 1),
      'tokens',
      () => START,
    );
    const authenticate = cachedAuthentication(broken, 60, () => START);
    await expect(authenticate(token)).rejects.toMatchObject({ name: 'ProvisionedThroughputExceededException' });
    expect(await authenticate(token)).toMatchObject(caller);
  });
});
