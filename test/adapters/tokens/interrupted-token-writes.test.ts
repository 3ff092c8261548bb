import { GetCommand } from '@aws-sdk/lib-dynamodb';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { UnconfirmedChangeError } from '../../../shared/adapters/dynamodb/errors.ts';
import { logger } from '../../../shared/adapters/logger.ts';
import { createTokenRepository } from '../../../shared/adapters/tokens/token-repository.ts';
import { tokenHash } from '../../../shared/domain/token.ts';
import { useDatabase } from '../../support/dynamodb.ts';
import {
  type KilledRequest,
  type LateRequest,
  withDelayedWrites,
  withInterruption,
  withKilledWorker,
  withLateCopies,
  withLostResponse,
  withThrottling,
} from '../../support/dynamodb-faults.ts';

const { client, connect } = useDatabase();

beforeEach(() => {
  vi.spyOn(logger, 'warn').mockImplementation(() => undefined);
});
afterEach(() => {
  vi.restoreAllMocks();
});

let tenants = 0;

/** A tenant with one admin token. `tokens` is a repository without faults. */
const setUp = async () => {
  const tenant = `tenant${tenants++}`;
  const tokens = createTokenRepository(client, 'tokens');
  const grant = (role: 'admin' | 'creator' = 'admin') => ({ tenant, role, label: 'l', expiresInSeconds: 3_600 });
  const issue = (role?: 'admin' | 'creator') => tokens.issue(grant(role));
  const first = await issue();
  const ids = async () => (await tokens.list(tenant)).map(({ id }) => id);
  return { tenant, tokens, grant, issue, first, ids };
};

const once = () => connect({ maxAttempts: 1 });
const retrying = () => connect({ maxAttempts: 2 });

const sendAll = async (late: readonly LateRequest[]): Promise<void> => {
  for (const { send } of late) await send();
};

describe('issuing a token', () => {
  it.each([
    ['the put of the token', 'PutItemCommand'],
    ['the write of the list', 'UpdateItemCommand'],
  ])('succeeds if the response to %s is lost and the SDK repeats it', async (_, command) => {
    const { tokens, tenant, grant, first, ids } = await setUp();
    const { token, id } = await createTokenRepository(withLostResponse(retrying(), command), 'tokens').issue(grant());
    expect(await tokens.find(token)).toMatchObject({ tenant, role: 'admin' });
    expect(await ids()).toEqual([first.id, id]);
  });

  it('succeeds if every response to the write of the list is lost', async () => {
    const { tokens, grant, first, ids } = await setUp();
    const losing = createTokenRepository(withLostResponse(once(), 'UpdateItemCommand'), 'tokens');
    const { token, id } = await losing.issue(grant());
    expect(await tokens.find(token)).toBeDefined();
    expect(await ids()).toEqual([first.id, id]);
  });

  it('lists the token once if its entry was written, the response lost and the list changed again', async () => {
    const { tokens, grant, issue, first, ids } = await setUp();
    const database = withLostResponse(retrying(), 'UpdateItemCommand', { meanwhile: () => issue('creator') });
    const { token, id } = await createTokenRepository(database, 'tokens').issue(grant());
    expect(await tokens.find(token)).toBeDefined();
    expect(await ids()).toEqual(expect.arrayContaining([first.id, id]));
    expect(await ids()).toHaveLength(3);
  });

  it('fails if another admin revokes the token before it is returned, and does not list it again', async () => {
    const { tenant, tokens, grant, first, ids } = await setUp();
    const database = withLostResponse(retrying(), 'UpdateItemCommand', {
      meanwhile: async () => {
        const [, added] = await tokens.list(tenant);
        await tokens.revoke(tenant, added?.id ?? '');
      },
    });
    const attempt = createTokenRepository(database, 'tokens').issue(grant());
    await expect(attempt).rejects.toMatchObject({ type: 'serviceUnavailable' });
    expect(await ids()).toEqual([first.id]);
  });

  it('reads the list again if another request changes it first', async () => {
    const { grant, issue, ids } = await setUp();
    const database = withInterruption(once(), 'UpdateItemCommand', () => issue());
    await createTokenRepository(database, 'tokens').issue(grant());
    expect(await ids()).toHaveLength(3);
  });

  it('fails with 503 if every attempt conflicts, and leaves no valid token', async () => {
    const { tokens, grant, issue, ids } = await setUp();
    const isOwnAttempt = (count: number) => count <= 10;
    const database = withInterruption(once(), 'UpdateItemCommand', () => issue('creator'), isOwnAttempt);
    const late: LateRequest[] = [];
    const attempt = createTokenRepository(withLateCopies(database, late), 'tokens').issue(grant());
    await expect(attempt).rejects.toMatchObject({ type: 'serviceUnavailable' });
    await sendAll(late);
    const found = await ids();
    expect(found).toHaveLength(11);
    const admins = (await tokens.list(`tenant${tenants - 1}`)).filter(({ role }) => role === 'admin');
    expect(admins).toHaveLength(1);
  });

  it('leaves neither a valid token nor an entry if it is unknown whether the list was written', async () => {
    const { tenant, tokens, grant, first, ids } = await setUp();
    // The reads before the confirming one: of the limit, and of the list.
    const database = withThrottling(withLostResponse(once(), 'UpdateItemCommand'), 'GetItemCommand', 1, 2);
    const late: LateRequest[] = [];
    const attempt = createTokenRepository(withLateCopies(database, late), 'tokens').issue(grant());
    await expect(attempt).rejects.toThrow(UnconfirmedChangeError);
    await sendAll(late);
    expect(await ids()).toEqual([first.id]);
    expect(await tokens.revoke(tenant, first.id)).toBe('last_admin');
  });

  it('is not undone or repeated by late copies of its writes', async () => {
    const { tokens, grant, first, ids } = await setUp();
    const late: LateRequest[] = [];
    const { token, id } = await createTokenRepository(withDelayedWrites(retrying(), late), 'tokens').issue(grant());
    await sendAll(late);
    expect(late.map(({ command }) => command)).toEqual(['PutItemCommand', 'UpdateItemCommand']);
    expect(await tokens.find(token)).toBeDefined();
    expect(await ids()).toEqual([first.id, id]);
  });
});

describe('a token that was revoked', () => {
  it('stays invalid and unlisted if late copies of all its writes arrive', async () => {
    const { tenant, tokens, grant, first, ids } = await setUp();
    const late: LateRequest[] = [];
    const recording = createTokenRepository(withLateCopies(connect(), late), 'tokens');
    const { id, token } = await recording.issue(grant());
    await recording.revoke(tenant, id);
    expect(late.map(({ command }) => command)).toEqual([
      'PutItemCommand',
      'UpdateItemCommand',
      'UpdateItemCommand',
      'UpdateItemCommand',
      'UpdateItemCommand',
    ]);
    await sendAll(late);
    // In this order, the last copy is that of the put, which no copy of the revocation follows.
    await sendAll(late.toReversed());
    expect(await tokens.find(token)).toBeUndefined();
    expect(await ids()).toEqual([first.id]);
    const { Item } = await client.send(new GetCommand({ TableName: 'tokens', Key: { pk: tokenHash(token) } }));
    expect(Item?.ttl).toBeLessThanOrEqual(Date.now() / 1_000);
  });
});

describe('revoking a token', () => {
  it.each([1, 2, 3])('succeeds if the response to write %i is lost', async (number) => {
    for (const database of [once(), retrying()]) {
      const { tenant, tokens, issue, first, ids } = await setUp();
      const { id, token } = await issue();
      const losing = createTokenRepository(withLostResponse(database, 'UpdateItemCommand', { number }), 'tokens');
      // If the SDK does not repeat the expiry of the token, the revocation fails, and the caller repeats it.
      const revoked = await losing.revoke(tenant, id).catch(() => losing.revoke(tenant, id));
      expect(revoked).toBe('revoked');
      expect(await tokens.find(token)).toBeUndefined();
      expect(await ids()).toEqual([first.id]);
    }
  });

  it('is decided again if the list changes between the read and the write', async () => {
    const { tenant, tokens, issue, first } = await setUp();
    const second = await issue();
    const revokeOther = () => tokens.revoke(tenant, second.id);
    const interrupted = createTokenRepository(withInterruption(once(), 'UpdateItemCommand', revokeOther), 'tokens');
    expect(await interrupted.revoke(tenant, first.id)).toBe('last_admin');
    expect(await tokens.find(first.token)).toBeDefined();
  });

  it('does not count an admin token whose revocation was interrupted', async () => {
    const { tenant, tokens, issue, first, ids } = await setUp();
    const second = await issue();
    // Requests: the list, the other admins, the mark, the expiry.
    const killed = createTokenRepository(withKilledWorker(once(), 4, 'lost', []), 'tokens');
    await expect(killed.revoke(tenant, second.id)).rejects.toThrow('killed');
    expect(await tokens.find(second.token)).toBeDefined();
    expect(await ids()).toEqual([first.id, second.id]);
    expect(await tokens.revoke(tenant, first.id)).toBe('last_admin');
    expect(await tokens.revoke(tenant, second.id)).toBe('revoked');
    expect(await tokens.find(second.token)).toBeUndefined();
  });

  it('does not count an admin token that is listed but was never valid', async () => {
    const { tenant, tokens, grant, first, ids } = await setUp();
    // The issue fails, and so does the removal of its entry.
    const losing = withLostResponse(once(), 'UpdateItemCommand');
    const database = withThrottling(losing, 'GetItemCommand', Number.POSITIVE_INFINITY, 2);
    await expect(createTokenRepository(database, 'tokens').issue(grant())).rejects.toThrow(UnconfirmedChangeError);
    expect(await ids()).toHaveLength(2);
    expect(await tokens.revoke(tenant, first.id)).toBe('last_admin');
  });

  it('fails if the table is throttled, and keeps the token', async () => {
    const { tenant, tokens, issue } = await setUp();
    const { id, token } = await issue();
    const throttled = createTokenRepository(withThrottling(once(), 'UpdateItemCommand'), 'tokens');
    await expect(throttled.revoke(tenant, id)).rejects.toMatchObject({
      name: 'ProvisionedThroughputExceededException',
    });
    expect(await tokens.find(token)).toBeDefined();
  });
});

const effects: KilledRequest[] = ['lost', 'applied', 'delayed'];

describe.each(effects)('a worker that is killed during a request, which is %s', (effect) => {
  // Reads of the limit and the list, the put and the write of the list.
  it.each([1, 2, 3, 4, 5])('leaves at most a listed token when issuing: request %i', async (number) => {
    const { tenant, tokens, grant, first } = await setUp();
    const late: LateRequest[] = [];
    const killed = createTokenRepository(withKilledWorker(once(), number, effect, late), 'tokens');
    const issued = await killed.issue(grant()).then(
      ({ id }) => id,
      () => undefined,
    );
    await sendAll(late);
    const listed = (await tokens.list(tenant)).map(({ id }) => id);
    expect(listed[0]).toBe(first.id);
    if (issued !== undefined) expect(listed).toContain(issued);
    // The tenant can continue: whatever is listed can be revoked, and new tokens can be issued.
    await tokens.issue(grant());
    for (const id of listed) expect(await tokens.revoke(tenant, id)).toBe('revoked');
    expect(await tokens.list(tenant)).toHaveLength(1);
  });

  // The list, the other admins, the mark, the expiry, the list and its write.
  it.each([1, 2, 3, 4, 5, 6])('leaves a revocation that a repeated one completes: request %i', async (number) => {
    const { tenant, tokens, issue, first, ids } = await setUp();
    const { id, token } = await issue();
    const late: LateRequest[] = [];
    const killed = createTokenRepository(withKilledWorker(once(), number, effect, late), 'tokens');
    await expect(killed.revoke(tenant, id)).rejects.toThrow();
    await sendAll(late);
    expect(await ids()).toContain(first.id);
    const isListed = (await ids()).includes(id);
    expect(await tokens.revoke(tenant, id)).toBe(isListed ? 'revoked' : 'unknown');
    expect(await tokens.find(token)).toBeUndefined();
    expect(await ids()).toEqual([first.id]);
    expect(await tokens.revoke(tenant, first.id)).toBe('last_admin');
  });
});
