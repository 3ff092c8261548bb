import { GetCommand, ScanCommand } from '@aws-sdk/lib-dynamodb';
import { describe, expect, it } from 'vitest';
import { createTokenRepository } from '../../../shared/adapters/tokens/token-repository.ts';
import { MAX_TOKENS } from '../../../shared/contracts/token.ts';
import { newToken, tokenHash } from '../../../shared/domain/token.ts';
import { audit } from '../../support/audit.ts';
import { useDatabase } from '../../support/dynamodb.ts';

const { client } = useDatabase();

const START = Date.UTC(2026, 0, 1);
let tenants = 0;

const setUp = () => {
  let now = START;
  const advance = (seconds: number) => {
    now += seconds * 1_000;
  };
  const tenant = `tenant${tenants++}`;
  const tokens = createTokenRepository(client, 'tokens', () => now);
  const grant = { tenant, role: 'creator', label: 'ci', expiresInSeconds: 3_600 } as const;
  const issue = (changes: Partial<Parameters<typeof tokens.issue>[0]> = {}) =>
    tokens.issue({ ...grant, ...changes }, audit);
  const idsOf = async (owner = tenant) => (await tokens.list(owner)).map(({ id }) => id);
  return { advance, tokens, tenant, issue, idsOf, caller: { tenant, role: 'creator' } };
};

const storedItem = async (pk: string) =>
  (await client.send(new GetCommand({ TableName: 'tokens', Key: { pk }, ConsistentRead: true }))).Item;

describe('a token', () => {
  it('belongs to its tenant and role as soon as it is issued', async () => {
    const { tokens, issue, caller } = setUp();
    expect(await tokens.find((await issue()).token)).toMatchObject(caller);
  });

  it('is stored only as its hash, with ID, tenant, role and label', async () => {
    const { issue, tenant } = setUp();
    const { id, token } = await issue();
    const item = await storedItem(tokenHash(token));
    expect(item).toEqual({
      pk: tokenHash(token),
      id,
      tenant,
      role: 'creator',
      label: 'ci',
      created_at_ms: START,
      ttl: START / 1_000 + 3_600,
    });
    expect(JSON.stringify([item, await storedItem(`tenant#${tenant}`)])).not.toContain(token);
  });

  it('expires to the second, even if its item still exists', async () => {
    const { tokens, issue, advance, caller } = setUp();
    const { token, expires_at_ms } = await issue();
    expect(expires_at_ms).toBe(START + 3_600_000);
    advance(3_599);
    expect(await tokens.find(token)).toMatchObject(caller);
    advance(1);
    expect(await tokens.find(token)).toBeUndefined();
  });

  it('has no caller if it was never issued', async () => {
    expect(await setUp().tokens.find(newToken())).toBeUndefined();
  });
});

describe('the list of a tenant’s tokens', () => {
  it('has every token with its metadata, oldest first', async () => {
    const { tokens, issue, tenant, advance } = setUp();
    const { token: _, ...first } = await issue({ label: 'one', role: 'admin' });
    advance(1);
    const { token: __, ...second } = await issue({ label: 'two' });
    expect(await tokens.list(tenant)).toEqual([first, second]);
    expect(first).toMatchObject({
      label: 'one',
      role: 'admin',
      created_at_ms: START,
      expires_at_ms: START + 3_600_000,
    });
  });

  it('has IDs that sort by creation', async () => {
    const { issue, advance, idsOf } = setUp();
    const created: string[] = [];
    for (let count = 0; count < 5; count++) {
      created.push((await issue()).id);
      advance(0.001);
    }
    expect(created).toEqual(created.toSorted());
    expect(await idsOf()).toEqual(created);
    for (const id of created) expect(id).toMatch(/^tk[0-9A-Z]{26}$/);
  });

  it('has each of ten tokens that are issued at the same time', async () => {
    const { issue, idsOf } = setUp();
    const issued = await Promise.all(Array.from({ length: 10 }, () => issue()));
    expect(await idsOf()).toEqual(issued.map(({ id }) => id).toSorted());
  });

  it('does not have the tokens of other tenants', async () => {
    await setUp().issue();
    expect(await setUp().idsOf()).toEqual([]);
  });

  it('loses expired tokens at the first write after a day', async () => {
    const { issue, advance, idsOf } = setUp();
    const expired = await issue({ expiresInSeconds: 1 });
    advance(86_400);
    const first = await issue({ expiresInSeconds: 172_800 });
    expect(await idsOf()).toEqual([expired.id, first.id]);
    advance(1);
    const second = await issue();
    expect(await idsOf()).toEqual([first.id, second.id]);
  });

  it('keeps a valid token if it is written by an operator whose clock is hours ahead', async () => {
    const { tokens, issue, tenant, idsOf } = setUp();
    const { id, token } = await issue();
    const ahead = createTokenRepository(client, 'tokens', () => START + 20 * 3_600_000);
    await ahead.issue({ tenant, role: 'observer', label: 'l', expiresInSeconds: 3_600 }, audit);
    expect(await idsOf()).toContain(id);
    expect(await tokens.revoke(tenant, id, audit)).toBe('revoked');
    expect(await tokens.find(token)).toBeUndefined();
  });
});

describe('the limit of tokens', () => {
  it('refuses another token at 100 unexpired ones, and names the limit', async () => {
    const { tokens, issue, tenant, advance, idsOf } = setUp();
    await issue({ expiresInSeconds: 1 });
    const { id } = await issue();
    while ((await idsOf()).length < MAX_TOKENS) await issue();
    const refusal = {
      type: 'forbiddenError',
      details: 'tokens: at most 100 unexpired tokens in an account',
    };
    await expect(issue()).rejects.toMatchObject(refusal);
    advance(1);
    await issue();
    await expect(issue()).rejects.toMatchObject(refusal);
    await tokens.revoke(tenant, id, audit);
    await issue();
    await setUp().issue();
  });

  it('is exact for tokens that are issued at the same time, and leaves no other usable token', async () => {
    const { tokens, issue, tenant, idsOf } = setUp();
    while ((await idsOf()).length < MAX_TOKENS - 2) await issue();
    const results = await Promise.allSettled(Array.from({ length: 5 }, () => issue()));
    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(2);
    expect(await tokens.list(tenant)).toHaveLength(MAX_TOKENS);
    const { Items = [] } = await client.send(
      new ScanCommand({
        TableName: 'tokens',
        FilterExpression: 'tenant = :tenant',
        ExpressionAttributeValues: { ':tenant': tenant },
      }),
    );
    expect(Items).toHaveLength(MAX_TOKENS);
  });
});

describe('revoking a token', () => {
  it('makes it invalid at once, and removes it from the list', async () => {
    const { tokens, issue, tenant, idsOf } = setUp();
    const [revoked, kept] = [await issue(), await issue()];
    expect(await tokens.revoke(tenant, revoked.id, audit)).toBe('revoked');
    expect(await storedItem(revoked.hash)).toBeUndefined();
    expect(await tokens.find(kept.token)).toBeDefined();
    expect(await idsOf()).toEqual([kept.id]);
    expect(await tokens.revoke(tenant, revoked.id, audit)).toBe('unknown');
  });

  it("finds no unknown, expired or other tenant's token", async () => {
    const { tokens, issue, tenant, advance } = setUp();
    const foreign = await setUp().issue();
    const expired = await issue({ expiresInSeconds: 1 });
    advance(1);
    for (const id of ['', 'tk', foreign.id, foreign.hash, expired.id, '__proto__']) {
      expect(await tokens.revoke(tenant, id, audit), id).toBe('unknown');
    }
    expect(await tokens.find(foreign.token)).toBeDefined();
  });

  it('refuses the last unexpired admin token', async () => {
    const { tokens, issue, tenant, advance } = setUp();
    const other = await issue({ role: 'admin', expiresInSeconds: 10 });
    const last = await issue({ role: 'admin' });
    await issue({ role: 'creator' });
    advance(10);
    expect(await tokens.revoke(tenant, last.id, audit)).toBe('last_admin');
    expect(await tokens.find(last.token)).toBeDefined();
    expect(await tokens.revoke(tenant, other.id, audit)).toBe('unknown');
    await issue({ role: 'admin' });
    expect(await tokens.revoke(tenant, last.id, audit)).toBe('revoked');
  });

  it('can be allowed for the last admin token', async () => {
    const { tokens, issue, tenant } = setUp();
    const { id, token } = await issue({ role: 'admin' });
    expect(await tokens.revoke(tenant, id, audit, { canRevokeLastAdmin: true })).toBe('revoked');
    expect(await tokens.find(token)).toBeUndefined();
  });

  it('succeeds for only one of two admins who revoke each other at the same time', async () => {
    for (let round = 0; round < 10; round++) {
      const { tokens, issue, tenant, idsOf } = setUp();
      const admins = [await issue({ role: 'admin' }), await issue({ role: 'admin' })];
      const results = await Promise.all(admins.map(({ id }) => tokens.revoke(tenant, id, audit)));
      expect(results.toSorted()).toEqual(['last_admin', 'revoked']);
      const [kept] = admins.filter((_, index) => results[index] === 'last_admin');
      expect(await idsOf()).toEqual([kept?.id]);
      expect(await tokens.find(kept?.token ?? '')).toBeDefined();
    }
  });

  it('is the last one whose time the repository knows', async () => {
    const { tokens, issue, tenant, advance } = setUp();
    expect(await tokens.lastRevokedAtMs(tenant)).toBe(0);
    const { id } = await issue();
    advance(5);
    await tokens.revoke(tenant, id, audit);
    await issue();
    expect(await tokens.lastRevokedAtMs(tenant)).toBe(START + 5_000);
  });

  it('succeeds for each of several requests for the same token', async () => {
    const { tokens, issue, tenant, idsOf } = setUp();
    await issue({ role: 'admin' });
    const { id } = await issue({ role: 'admin' });
    const results = await Promise.all(Array.from({ length: 4 }, () => tokens.revoke(tenant, id, audit)));
    expect(results).toContain('revoked');
    expect(results).not.toContain('last_admin');
    expect(await idsOf()).toHaveLength(1);
  });
});
