import { GetCommand } from '@aws-sdk/lib-dynamodb';
import { describe, expect, it } from 'vitest';
import { createTokenRepository } from '../../../shared/adapters/tokens/token-repository.ts';
import { MAX_TOKENS, OPERATOR } from '../../../shared/contracts/token.ts';
import { tokenHash } from '../../../shared/domain/token.ts';
import { audit } from '../../support/audit.ts';
import { useDatabase } from '../../support/dynamodb.ts';
import { countRequests, withInterruption, withKilledWorker } from '../../support/dynamodb-faults.ts';
import { testClock } from '../../support/test-clock.ts';

const { client, connect, newTenant } = useDatabase();

const START = Date.UTC(2026, 0, 1);
const setUp = () => {
  const { clock, advance } = testClock(START);
  const tenant = newTenant();
  const tokens = createTokenRepository(client, 'tokens', clock);
  const grant = { tenant, role: 'creator', label: 'ci', expiresInSeconds: 3_600, issuer: OPERATOR } as const;
  const repositoryOn = (database: typeof client) => createTokenRepository(database, 'tokens', clock);
  const issue = (changes: Partial<Parameters<typeof tokens.issue>[0]> = {}, by = tokens) =>
    by.issue({ ...grant, ...changes }, audit);
  /** Revokes a token, by default as the operator. @returns the IDs of the revoked ones, or the type of the error */
  const revoke = (id: string, revoker: string = OPERATOR, by = tokens, issuedSinceMs?: number) =>
    by.revoke({ tenant, id, revoker, issuedSinceMs }, audit).then(
      (revoked) => revoked.map((entry) => entry.id),
      ({ type }) => type,
    );
  const idsOf = async (owner = tenant) => (await tokens.list(owner)).map(({ id }) => id);
  return { advance, tokens, repositoryOn, tenant, issue, revoke, idsOf, caller: { tenant, role: 'creator' } };
};

const storedItem = async (pk: string) =>
  (await client.send(new GetCommand({ TableName: 'tokens', Key: { pk }, ConsistentRead: true }))).Item;

describe('a token', () => {
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
    const { tokens, issue, revoke, tenant, idsOf } = setUp();
    const { id, token } = await issue();
    const ahead = createTokenRepository(client, 'tokens', () => START + 20 * 3_600_000);
    await ahead.issue({ tenant, role: 'observer', label: 'l', expiresInSeconds: 3_600, issuer: OPERATOR }, audit);
    expect(await idsOf()).toContain(id);
    expect(await revoke(id)).toEqual([id]);
    expect(await tokens.find(token)).toBeUndefined();
  });
});

it('the limit of tokens refuses another token at 100 unexpired ones, and names the limit', async () => {
  const { issue, revoke, advance, idsOf } = setUp();
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
  await revoke(id);
  await issue();
  await setUp().issue();
});

describe('revoking a token', () => {
  it('makes it invalid at once, and removes it from the list', async () => {
    const { tokens, issue, revoke, idsOf } = setUp();
    const [revoked, kept] = [await issue(), await issue()];
    expect(await revoke(revoked.id)).toEqual([revoked.id]);
    expect(await storedItem(revoked.hash)).toBeUndefined();
    expect(await tokens.find(kept.token)).toBeDefined();
    expect(await idsOf()).toEqual([kept.id]);
    expect(await revoke(revoked.id)).toBe('notFoundError');
  });

  it("finds no unknown, expired or other tenant's token", async () => {
    const { tokens, issue, revoke, advance } = setUp();
    const foreign = await setUp().issue();
    const expired = await issue({ expiresInSeconds: 1 });
    advance(1);
    for (const id of ['', 'tk', OPERATOR, foreign.id, foreign.hash, expired.id, '__proto__']) {
      expect(await revoke(id), id).toBe('notFoundError');
    }
    expect(await tokens.find(foreign.token)).toBeDefined();
  });

  it('is refused for the last unexpired admin token, except to operators', async () => {
    const { tokens, issue, revoke, advance } = setUp();
    const other = await issue({ role: 'admin', expiresInSeconds: 10 });
    const last = await issue({ role: 'admin' });
    await issue({ role: 'creator' });
    advance(10);
    expect(await revoke(last.id, last.id)).toBe('forbiddenError');
    expect(await tokens.find(last.token)).toBeDefined();
    expect(await revoke(other.id, last.id)).toBe('notFoundError');
    const added = await issue({ role: 'admin' });
    expect(await revoke(last.id, added.id)).toEqual([last.id]);
    expect(await revoke(added.id)).toEqual([added.id]);
    expect(await tokens.find(added.token)).toBeUndefined();
  });

  it('is refused to a token that is unknown, expired or revoked', async () => {
    const { issue, revoke, advance, idsOf } = setUp();
    const [kept, revoked] = [await issue({ role: 'admin' }), await issue({ role: 'admin' })];
    const expired = await issue({ role: 'admin', expiresInSeconds: 1 });
    advance(1);
    await revoke(revoked.id);
    for (const revoker of ['tk', revoked.id, expired.id])
      expect(await revoke(kept.id, revoker)).toBe('unauthorizedError');
    expect(await idsOf()).toContain(kept.id);
  });

  it('is the last one whose time the repository knows', async () => {
    const { tokens, issue, revoke, tenant, advance } = setUp();
    expect(await tokens.lastRevokedAtMs(tenant)).toBe(0);
    const { id } = await issue();
    advance(5);
    await revoke(id);
    await issue();
    expect(await tokens.lastRevokedAtMs(tenant)).toBe(START + 5_000);
  });
});

describe('revoking a token with those that tokens issued since a time', () => {
  const admin = { role: 'admin' } as const;

  it('revokes every one, whichever token issued it, except the revoker’s own', async () => {
    const { tokens, issue, revoke, advance, idsOf } = setUp();
    const [owner, stolen] = [await issue(admin), await issue(admin)];
    const earlier = await issue({ issuer: stolen.id });
    advance(1);
    const byThief = await issue({ ...admin, issuer: stolen.id });
    const hidden = await issue({ ...admin, issuer: byThief.id });
    const byOwner = await issue({ issuer: owner.id });
    const own = await issue({ ...admin, issuer: owner.id });
    const byOperator = await issue();
    await revoke(byThief.id);
    const revoked = await revoke(stolen.id, own.id, tokens, START + 1_000);
    expect(revoked).toEqual([hidden.id, byOwner.id, stolen.id]);
    expect(new Set(await idsOf())).toEqual(new Set([owner, earlier, own, byOperator].map(({ id }) => id)));
    for (const { token } of [stolen, hidden, byOwner]) expect(await tokens.find(token)).toBeUndefined();
  });

  it('takes an ID that is not listed, and finds nothing only if nothing is left', async () => {
    const { tokens, issue, revoke } = setUp();
    const owner = await issue(admin);
    const hidden = await issue({ issuer: owner.id });
    expect(await revoke('tk', owner.id, tokens, 0)).toEqual([hidden.id]);
    expect(await revoke('tk', owner.id, tokens, 0)).toBe('notFoundError');
    expect(await revoke(owner.id, owner.id, tokens, 0)).toBe('forbiddenError');
    const other = await issue(admin);
    expect(await revoke(owner.id, owner.id, tokens, 0)).toEqual([owner.id]);
    expect(await revoke(other.id, OPERATOR, tokens, START + 1)).toBe('badRequest');
  });

  it('continues after a crash, and no revoked token issues another one meanwhile', async () => {
    const { tokens, tenant, issue, revoke, repositoryOn, idsOf } = setUp();
    const [owner, stolen] = [await issue(admin), await issue(admin)];
    const issued = [stolen];
    while (issued.length < 60) issued.push(await issue({ ...admin, issuer: issued.at(-1)?.id ?? '' }));
    const last = issued.at(-1) ?? stolen;
    // The worker is killed after the first transaction.
    const killed = repositoryOn(withKilledWorker(connect({ maxAttempts: 1 }), 3, 'lost', []));
    const request = { tenant, id: stolen.id, revoker: owner.id, issuedSinceMs: 0 };
    await expect(killed.revoke(request, audit)).rejects.toThrow('killed');
    expect(await tokens.find(last.token)).toBeDefined();
    await expect(issue({ issuer: last.id })).rejects.toMatchObject({ type: 'unauthorizedError' });
    expect(await revoke(stolen.id, owner.id, tokens, 0)).toEqual([...issued.slice(50), stolen].map(({ id }) => id));
    expect(await idsOf()).toEqual([owner.id]);
  });

  describe('if it also revokes the revoker’s own token and crashes after the first transaction', () => {
    const crash = async () => {
      const given = setUp();
      const { issue, tenant, repositoryOn } = given;
      const [owner, other] = [await issue(admin), await issue(admin)];
      const issued = [];
      while (issued.length < 98) issued.push(await issue({ ...admin, issuer: owner.id }));
      const killed = repositoryOn(withKilledWorker(connect({ maxAttempts: 1 }), 3, 'lost', []));
      const request = { tenant, id: owner.id, revoker: owner.id, issuedSinceMs: 0 };
      await expect(killed.revoke(request, audit)).rejects.toThrow('killed');
      const left = issued.slice(49);
      const callersOf = async (some: readonly { token: string }[]) =>
        (await Promise.all(some.map(({ token }) => given.tokens.find(token)))).filter(Boolean).length;
      expect(await callersOf(left)).toBe(49);
      return { ...given, owner, other, left, callersOf };
    };

    it('is completed by a repetition, for which the own token is still valid', async () => {
      const { tokens, revoke, owner, other, left, callersOf, idsOf } = await crash();
      expect(await callersOf([owner])).toBe(1);
      expect(await revoke(owner.id, owner.id, tokens, 0)).toEqual([...left, owner].map(({ id }) => id));
      expect(await callersOf([...left, owner])).toBe(0);
      expect(await idsOf()).toEqual([other.id]);
      expect(await revoke(owner.id, owner.id, tokens, 0)).toBe('unauthorizedError');
    });

    it('is completed by the next revocation of any token, and by the repetition of that if it crashes too', async () => {
      const { tenant, issue, revoke, repositoryOn, owner, other, left, callersOf, idsOf } = await crash();
      const unrelated = await issue();
      const killed = repositoryOn(withKilledWorker(connect({ maxAttempts: 1 }), 3, 'lost', []));
      await expect(killed.revoke({ tenant, id: unrelated.id, revoker: other.id }, audit)).rejects.toThrow('killed');
      expect(await callersOf([...left, owner, unrelated])).toBe(2);
      expect(await revoke(unrelated.id, other.id)).toEqual([owner.id, unrelated.id]);
      expect(await callersOf([owner, unrelated])).toBe(0);
      expect(await idsOf()).toEqual([other.id]);
    });

    it('lets revoked tokens neither issue nor revoke others, nor the repetition revoke what is newer', async () => {
      const { tokens, issue, revoke, owner, other, left, idsOf } = await crash();
      const newer = await issue({ ...admin, issuer: other.id });
      for (const { id } of [owner, ...left.slice(0, 1)]) {
        await expect(issue({ issuer: id })).rejects.toMatchObject({ type: 'unauthorizedError' });
        expect(await revoke(other.id, id, tokens, 0)).toBe('unauthorizedError');
      }
      expect(await revoke(owner.id, owner.id, tokens, 0)).toHaveLength(50);
      expect(new Set(await idsOf())).toEqual(new Set([other.id, newer.id]));
    });
  });

  it('ends although tokens are issued in a loop, and leaves only what a token issued that was not revoked', async () => {
    const { issue, revoke, repositoryOn, idsOf } = setUp();
    const [owner, stolen, other] = [await issue(admin), await issue(admin), await issue(admin)];
    for (let count = 0; count < 60; count++) await issue({ issuer: stolen.id });
    const late: string[] = [];
    const issueMore = async () => {
      await issue({ ...admin, issuer: stolen.id }).catch(() => undefined);
      late.push((await issue({ issuer: other.id })).id);
    };
    const database = withInterruption(connect(), 'TransactWriteItemsCommand', issueMore, (count) => count % 2 === 1);
    expect(await revoke(stolen.id, owner.id, repositoryOn(database), 0)).toHaveLength(63);
    // The first one was there when the tokens were revoked, the second one while they were deleted.
    expect(new Set(await idsOf())).toEqual(new Set([owner.id, other.id, late[1]]));
  });
});

describe('a write to the list of tokens', () => {
  const TRANSACTION = 'TransactWriteItemsCommand';

  it('costs a read and a transaction', async () => {
    const { issue, repositoryOn } = setUp();
    const database = connect();
    const counts = countRequests(database);
    await issue({}, repositoryOn(database));
    expect(counts).toEqual({ GetItemCommand: 1, [TRANSACTION]: 1 });
  });

  it('reads the list again if another request changes it first', async () => {
    const { issue, repositoryOn, idsOf } = setUp();
    await issue({}, repositoryOn(withInterruption(connect(), TRANSACTION, () => issue())));
    expect(await idsOf()).toHaveLength(2);
  });

  it('fails with 503 if other requests always change the list first, and leaves no token', async () => {
    const { issue, repositoryOn, tokens, tenant } = setUp();
    const database = withInterruption(
      connect(),
      TRANSACTION,
      () => issue(),
      () => true,
    );
    await expect(issue({ role: 'admin' }, repositoryOn(database))).rejects.toMatchObject({
      type: 'serviceUnavailable',
    });
    expect((await tokens.list(tenant)).filter(({ role }) => role === 'admin')).toEqual([]);
  });

  it('decides again about a revocation if the list changes between the read and the transaction', async () => {
    const { issue, revoke, repositoryOn, tokens } = setUp();
    const [first, second] = [await issue({ role: 'admin' }), await issue({ role: 'admin' })];
    const database = withInterruption(connect(), TRANSACTION, () => revoke(second.id));
    expect(await revoke(first.id, first.id, repositoryOn(database))).toBe('forbiddenError');
    expect(await tokens.find(first.token)).toBeDefined();
  });
});
