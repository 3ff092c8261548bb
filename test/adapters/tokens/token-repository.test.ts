import { DeleteCommand, GetCommand } from '@aws-sdk/lib-dynamodb';
import { afterAll, describe, expect, it, vi } from 'vitest';
import { createTokenRepository } from '../../../shared/adapters/tokens/token-repository.ts';
import { cachedAuthentication } from '../../../shared/api/authentication.ts';
import { newToken, tokenHash } from '../../../shared/domain/token.ts';
import { startDatabase } from '../../support/dynamodb.ts';
import { withThrottling } from '../../support/dynamodb-faults.ts';

const { client, connect, stop } = await startDatabase();
afterAll(stop);

const START = Date.UTC(2026, 0, 1);
const grant = { tenant: 'acme', role: 'creator', label: 'ci', expiresInSeconds: 3_600 } as const;
const caller = { tenant: 'acme', role: 'creator' };

const setUp = (cacheSeconds = 60) => {
  let now = START;
  const clock = () => now;
  const tokens = createTokenRepository(client, 'tokens', clock);
  const find = vi.fn(tokens.find);
  const later = (seconds: number) => {
    now += seconds * 1_000;
  };
  return { tokens, find, later, authenticate: cachedAuthentication({ find }, cacheSeconds, clock) };
};

const revoke = (token: string) =>
  client.send(new DeleteCommand({ TableName: 'tokens', Key: { pk: tokenHash(token) } }));

describe('a token that was issued', () => {
  it('stands for its tenant and role at once', async () => {
    const { tokens } = setUp();
    expect(await tokens.find(await tokens.issue(grant))).toMatchObject(caller);
  });

  it('is kept as its hash alone, with what it is for', async () => {
    const { tokens } = setUp();
    const token = await tokens.issue(grant);
    const { Item } = await client.send(new GetCommand({ TableName: 'tokens', Key: { pk: tokenHash(token) } }));
    expect(Item).toEqual({
      pk: tokenHash(token),
      tenant: 'acme',
      role: 'creator',
      label: 'ci',
      created_at_ms: START,
      ttl: START / 1_000 + 3_600,
    });
    expect(JSON.stringify(Item)).not.toContain(token);
  });

  it('ends when it expires, to the second, though its item may still be there', async () => {
    const { tokens, later } = setUp();
    const token = await tokens.issue(grant);
    later(3_599);
    expect(await tokens.find(token)).toMatchObject(caller);
    later(1);
    expect(await tokens.find(token)).toBeUndefined();
  });

  it('is nobody’s where it is not known', async () => {
    expect(await setUp().tokens.find(newToken())).toBeUndefined();
  });
});

describe('the authentication of a caller', () => {
  it('says who calls', async () => {
    const { tokens, authenticate } = setUp();
    expect(await authenticate(await tokens.issue(grant))).toMatchObject(caller);
  });

  it('remembers a valid token for its time, and not longer', async () => {
    const { tokens, authenticate, find, later } = setUp(60);
    const token = await tokens.issue(grant);
    for (const seconds of [0, 30, 29]) {
      later(seconds);
      expect(await authenticate(token)).toMatchObject(caller);
    }
    expect(find).toHaveBeenCalledTimes(1);
    later(1);
    await authenticate(token);
    expect(find).toHaveBeenCalledTimes(2);
  });

  it('refuses a revoked token as soon as that time is over', async () => {
    const { tokens, authenticate, later } = setUp(60);
    const token = await tokens.issue(grant);
    await authenticate(token);
    await revoke(token);
    later(60);
    expect(await authenticate(token)).toBeUndefined();
  });

  it('does not remember it longer because it is used all the time', async () => {
    const { tokens, authenticate, later } = setUp(60);
    const token = await tokens.issue(grant);
    await authenticate(token);
    await revoke(token);
    for (let seconds = 0; seconds < 59; seconds++) {
      later(1);
      await authenticate(token);
    }
    later(1);
    expect(await authenticate(token)).toBeUndefined();
  });

  it('refuses an expired token even while it is remembered', async () => {
    const { tokens, authenticate, later } = setUp(60);
    const token = await tokens.issue({ ...grant, expiresInSeconds: 10 });
    expect(await authenticate(token)).toMatchObject(caller);
    later(10);
    expect(await authenticate(token)).toBeUndefined();
  });

  it('asks each time where the setting is 0', async () => {
    const { tokens, authenticate, find } = setUp(0);
    const token = await tokens.issue(grant);
    await authenticate(token);
    await authenticate(token);
    expect(find).toHaveBeenCalledTimes(2);
  });

  it('does not remember that a token is unknown: one made a moment later works', async () => {
    const { authenticate, find } = setUp();
    const token = newToken();
    expect(await authenticate(token)).toBeUndefined();
    find.mockResolvedValueOnce({ tenant: 'acme', role: 'creator', ttl: START });
    expect(await authenticate(token)).toMatchObject(caller);
  });

  it.each(['', 'mnt_', 'Bearer x', `${newToken().slice(0, -1)}!`, newToken().toLowerCase()])(
    'refuses what can be no token without asking the database: "%s"',
    async (token) => {
      const { authenticate, find } = setUp();
      expect(await authenticate(token)).toBeUndefined();
      expect(find).not.toHaveBeenCalled();
    },
  );

  it('fails, and denies nobody, where the database does not answer', async () => {
    const { tokens } = setUp();
    const token = await tokens.issue(grant);
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
