import type { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import { describe, expect, it } from 'vitest';
import { UnconfirmedChangeError } from '../../../shared/adapters/dynamodb/errors.ts';
import { createTokenRepository } from '../../../shared/adapters/tokens/token-repository.ts';
import { OPERATOR } from '../../../shared/contracts/token.ts';
import { ServiceError } from '../../../shared/domain/errors.ts';
import { audit } from '../../support/audit.ts';
import { useDatabase } from '../../support/dynamodb.ts';
import {
  countRequests,
  type KilledRequest,
  type LateRequest,
  withConflicts,
  withDelayedWrites,
  withInterruption,
  withKilledWorker,
  withLateCopies,
  withLostResponse,
} from '../../support/dynamodb-faults.ts';

const { client, connect } = useDatabase();

const TRANSACTION = 'TransactWriteItemsCommand';

let tenants = 0;

/** A tenant with one admin token. `tokens` is a repository without faults. */
const setUp = async () => {
  const tenant = `tenant${tenants++}`;
  const tokens = createTokenRepository(client, 'tokens');
  const grant = (role: 'admin' | 'creator' = 'admin') => ({
    tenant,
    role,
    label: 'l',
    expiresInSeconds: 3_600,
    issuer: OPERATOR,
  });
  const issue = (role?: 'admin' | 'creator') => tokens.issue(grant(role), audit);
  const first = await issue();
  const ids = async () => (await tokens.list(tenant)).map(({ id }) => id);
  /** Revokes a token as the operator, unless another token does. */
  const revoke = (id: string, { repository = tokens, revoker = OPERATOR } = {}) =>
    repository.revoke({ tenant, id, revoker }, audit).then(
      (revoked) => revoked.map((entry) => entry.id),
      (error: unknown) => {
        if (error instanceof ServiceError) return error.type;
        throw error;
      },
    );
  return { tenant, tokens, grant, issue, revoke, first, ids };
};

const once = () => connect({ maxAttempts: 1 });
const retrying = () => connect({ maxAttempts: 2 });

/** Loses the response to every copy of a transaction. */
const withoutResponses = (database: DynamoDBDocumentClient) =>
  withLostResponse(withLostResponse(database, TRANSACTION), TRANSACTION);

const sendAll = async (late: readonly LateRequest[]): Promise<void> => {
  for (const { send } of late) await send();
};

describe('issuing a token', () => {
  it('reads the list and writes one transaction', async () => {
    const { grant } = await setUp();
    const database = connect();
    const counts = countRequests(database);
    await createTokenRepository(database, 'tokens').issue(grant(), audit);
    expect(counts).toEqual({ GetItemCommand: 1, [TRANSACTION]: 1 });
  });

  it.each([
    ['the SDK', retrying],
    ['the repository', once],
  ])('succeeds once if the response is lost and %s repeats the transaction', async (_, database) => {
    const { tokens, tenant, grant, first, ids } = await setUp();
    const { token, id } = await createTokenRepository(withLostResponse(database(), TRANSACTION), 'tokens').issue(
      grant(),
      audit,
    );
    expect(await tokens.find(token)).toMatchObject({ tenant, role: 'admin' });
    expect(await ids()).toEqual([first.id, id]);
  });

  it('lists the token once if the response is lost and the list changes before the repetition', async () => {
    const { tokens, grant, issue, first, ids } = await setUp();
    const database = withLostResponse(retrying(), TRANSACTION, { meanwhile: () => issue('creator') });
    const { token, id } = await createTokenRepository(database, 'tokens').issue(grant(), audit);
    expect(await tokens.find(token)).toBeDefined();
    expect(await ids()).toEqual(expect.arrayContaining([first.id, id]));
    expect(await ids()).toHaveLength(3);
  });

  it('does not restore a token that another admin revokes before the repetition', async () => {
    const { tenant, tokens, grant, revoke, first, ids } = await setUp();
    const database = withLostResponse(retrying(), TRANSACTION, {
      meanwhile: async () => {
        const [, added] = await tokens.list(tenant);
        await revoke(added?.id ?? '');
      },
    });
    const { token } = await createTokenRepository(database, 'tokens').issue(grant(), audit);
    expect(await tokens.find(token)).toBeUndefined();
    expect(await ids()).toEqual([first.id]);
  });

  it('reads the list again if another request changes it first', async () => {
    const { grant, issue, ids } = await setUp();
    const database = withInterruption(once(), TRANSACTION, () => issue());
    await createTokenRepository(database, 'tokens').issue(grant(), audit);
    expect(await ids()).toHaveLength(3);
  });

  it('succeeds if it conflicts with other transactions at first', async () => {
    const { tokens, grant } = await setUp();
    const { token } = await createTokenRepository(withConflicts(once(), TRANSACTION, 2), 'tokens').issue(
      grant(),
      audit,
    );
    expect(await tokens.find(token)).toBeDefined();
  });

  it('fails with 503 if other requests always change the list first, and leaves no token', async () => {
    const { grant, issue, tenant, tokens } = await setUp();
    const isOwnAttempt = (count: number) => count <= 20;
    const database = withInterruption(once(), TRANSACTION, () => issue('creator'), isOwnAttempt);
    const late: LateRequest[] = [];
    const attempt = createTokenRepository(withLateCopies(database, late), 'tokens').issue(grant(), audit);
    await expect(attempt).rejects.toMatchObject({ type: 'serviceUnavailable' });
    await sendAll(late);
    const admins = (await tokens.list(tenant)).filter(({ role }) => role === 'admin');
    expect(admins).toHaveLength(1);
  });

  it('is unconfirmed if all responses are lost: the token is listed, counts as an admin and can be revoked', async () => {
    const { grant, revoke, first, ids } = await setUp();
    const attempt = createTokenRepository(withoutResponses(once()), 'tokens').issue(grant(), audit);
    await expect(attempt).rejects.toThrow(UnconfirmedChangeError);
    const [, unknown = ''] = await ids();
    expect(await revoke(first.id, { revoker: first.id })).toEqual([first.id]);
    expect(await revoke(unknown, { revoker: unknown })).toBe('forbiddenError');
    expect(await revoke(unknown)).toEqual([unknown]);
  });

  it('is not undone or repeated by late copies of its transaction', async () => {
    const { tokens, grant, first, ids } = await setUp();
    const late: LateRequest[] = [];
    const { token, id } = await createTokenRepository(withDelayedWrites(retrying(), late), 'tokens').issue(
      grant(),
      audit,
    );
    await sendAll(late);
    expect(late.map(({ command }) => command)).toEqual([TRANSACTION]);
    expect(await tokens.find(token)).toBeDefined();
    expect(await ids()).toEqual([first.id, id]);
  });
});

describe('a token that was revoked', () => {
  it('stays invalid and unlisted if late copies of all its writes arrive in any order', async () => {
    const { tokens, grant, revoke, first, ids } = await setUp();
    const late: LateRequest[] = [];
    const recording = createTokenRepository(withLateCopies(connect(), late), 'tokens');
    const { id, token } = await recording.issue(grant(), audit);
    await revoke(id, { repository: recording });
    expect(late.map(({ command }) => command)).toEqual([TRANSACTION, TRANSACTION]);
    await sendAll(late);
    await sendAll(late.toReversed());
    expect(await tokens.find(token)).toBeUndefined();
    expect(await ids()).toEqual([first.id]);
  });
});

describe('revoking a token', () => {
  it.each([
    ['the SDK', retrying],
    ['the repository', once],
  ])('succeeds if the response is lost and %s repeats the transaction', async (_, database) => {
    const { tokens, issue, revoke, first, ids } = await setUp();
    const { id, token } = await issue();
    const losing = createTokenRepository(withLostResponse(database(), TRANSACTION), 'tokens');
    expect(await revoke(id, { repository: losing })).toEqual([id]);
    expect(await tokens.find(token)).toBeUndefined();
    expect(await ids()).toEqual([first.id]);
  });

  it('is decided again if the list changes between the read and the transaction', async () => {
    const { tokens, issue, revoke, first } = await setUp();
    const second = await issue();
    const revokeOther = () => revoke(second.id);
    const interrupted = createTokenRepository(withInterruption(once(), TRANSACTION, revokeOther), 'tokens');
    expect(await revoke(first.id, { repository: interrupted, revoker: first.id })).toBe('forbiddenError');
    expect(await tokens.find(first.token)).toBeDefined();
  });
});

const effects: KilledRequest[] = ['lost', 'applied', 'delayed'];

describe.each(effects)('a worker that is killed during a request, which is %s', (effect) => {
  // The read of the list and the transaction, which is sent twice if its outcome is unknown.
  it.each([1, 2, 3])('leaves no valid token that is not listed when issuing: request %i', async (number) => {
    const { tenant, tokens, grant, revoke, first } = await setUp();
    const late: LateRequest[] = [];
    const killed = createTokenRepository(withKilledWorker(once(), number, effect, late), 'tokens');
    const issued = await killed.issue(grant(), audit).then(
      ({ id }) => id,
      () => undefined,
    );
    await sendAll(late);
    const listed = (await tokens.list(tenant)).map(({ id }) => id);
    expect(listed[0]).toBe(first.id);
    if (issued !== undefined) expect(listed).toContain(issued);
    // The tenant can continue: whatever is listed can be revoked, and new tokens can be issued.
    await tokens.issue(grant(), audit);
    for (const id of listed) expect(await revoke(id)).toEqual([id]);
    expect(await tokens.list(tenant)).toHaveLength(1);
  });

  it.each([1, 2])('leaves the token as it was or revoked, never half: request %i', async (number) => {
    const { tokens, issue, revoke, first, ids } = await setUp();
    const { id, token } = await issue();
    const late: LateRequest[] = [];
    const killed = createTokenRepository(withKilledWorker(once(), number, effect, late), 'tokens');
    await expect(revoke(id, { repository: killed })).rejects.toThrow();
    await sendAll(late);
    expect(await ids()).toContain(first.id);
    const isListed = (await ids()).includes(id);
    expect((await tokens.find(token)) !== undefined).toBe(isListed);
    expect(await revoke(id)).toEqual(isListed ? [id] : 'notFoundError');
    expect(await ids()).toEqual([first.id]);
    expect(await revoke(first.id, { revoker: first.id })).toBe('forbiddenError');
  });
});
