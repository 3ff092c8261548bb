import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createTokenRepository, type IssuedToken } from '../../../shared/adapters/tokens/token-repository.ts';
import { OPERATOR } from '../../../shared/contracts/token.ts';
import { audit } from '../../support/audit.ts';
import { useDatabase } from '../../support/dynamodb.ts';
import { withInterruption, withKilledWorker } from '../../support/dynamodb-faults.ts';
import { runs } from '../../support/quick-run.ts';

const { client, connect } = useDatabase();

const START = Date.UTC(2026, 0, 1);
const TRANSACTION = 'TransactWriteItemsCommand';
let tenants = 0;

const setUp = () => {
  const tenant = `tenant${tenants++}`;
  let now = START;
  const clock = () => now;
  const repository = (database = client) => createTokenRepository(database, 'tokens', clock);
  const tokens = repository();
  const issue = (issuer: string = OPERATOR, by = tokens) => {
    now++;
    return by.issue({ tenant, role: 'admin', label: 'l', expiresInSeconds: 3_600, issuer }, audit);
  };
  /** @returns the IDs of the revoked tokens */
  const revoke = async (id: string, { issuedSinceMs, revoker = OPERATOR, by = tokens }: RevokeOptions = {}) =>
    (await by.revoke({ tenant, id, revoker, issuedSinceMs }, audit)).map((entry) => entry.id);
  const validIds = async () => (await tokens.list(tenant)).map(({ id }) => id);
  return { tenant, repository, tokens, issue, revoke, validIds, now: clock };
};
type RevokeOptions = {
  issuedSinceMs?: number;
  revoker?: string;
  by?: ReturnType<typeof createTokenRepository>;
};

const unauthorized = { type: 'unauthorizedError' };

describe('issuing a token', () => {
  it('is refused to a token that is unknown or was revoked', async () => {
    const { issue, revoke, validIds } = setUp();
    const first = await issue();
    const { id } = await issue(first.id);
    await revoke(id);
    for (const issuer of [id, 'tk']) await expect(issue(issuer)).rejects.toMatchObject(unauthorized);
    expect(await validIds()).toEqual([first.id]);
  });

  it('is refused to a token that is revoked between the read of the list and the transaction', async () => {
    const { issue, revoke, validIds, repository } = setUp();
    const { id } = await issue();
    const interrupted = repository(withInterruption(connect({ maxAttempts: 1 }), TRANSACTION, () => revoke(id)));
    await expect(issue(id, interrupted)).rejects.toMatchObject(unauthorized);
    expect(await validIds()).toEqual([]);
  });
});

describe('revoking a token with what it issued', () => {
  it('finds what it issued through tokens that were revoked, even if it was revoked itself', async () => {
    const { tokens, issue, revoke, validIds } = setUp();
    const [other, root] = [await issue(), await issue()];
    const child = await issue(root.id);
    const grandchild = await issue(child.id);
    await revoke(child.id, { revoker: grandchild.id });
    await revoke(root.id, { revoker: grandchild.id });
    expect(await validIds()).toEqual([other.id, grandchild.id]);
    await expect(revoke(root.id)).rejects.toMatchObject({ type: 'notFoundError' });
    expect(await revoke(root.id, { issuedSinceMs: 0 })).toEqual([grandchild.id]);
    expect(await tokens.find(grandchild.token)).toBeUndefined();
    await expect(revoke(root.id, { issuedSinceMs: 0 })).rejects.toMatchObject({ type: 'notFoundError' });
  });

  it('revokes the revoker, too, if the token issued it, but not the last admin token', async () => {
    const { issue, revoke, validIds } = setUp();
    const root = await issue();
    const { id: revoker } = await issue(root.id);
    const all = { issuedSinceMs: 0, revoker };
    await expect(revoke(root.id, all)).rejects.toMatchObject({ type: 'forbiddenError' });
    const other = await issue();
    expect(await revoke(root.id, all)).toEqual([root.id, revoker]);
    expect(await validIds()).toEqual([other.id]);
  });

  it('revokes more tokens than fit into a transaction: none of them can issue another one meanwhile', async () => {
    const { tokens, issue, revoke, validIds, repository } = setUp();
    const root = await issue();
    const issued: IssuedToken[] = [];
    while (issued.length < 55) issued.push(await issue(issued.at(-1)?.id ?? root.id));
    const last = issued.at(-1) ?? root;
    // The worker is killed after the first transaction.
    const killed = repository(withKilledWorker(connect({ maxAttempts: 1 }), 3, 'lost', []));
    await expect(revoke(root.id, { issuedSinceMs: 0, by: killed })).rejects.toThrow();
    expect(await tokens.find(last.token)).toBeDefined();
    expect((await validIds()).length).toBeLessThan(issued.length);
    for (const { id } of [root, last]) await expect(issue(id)).rejects.toMatchObject(unauthorized);
    expect((await revoke(root.id, { issuedSinceMs: 0 })).at(-1)).toBe(last.id);
    expect(await validIds()).toEqual([]);
    expect(await tokens.find(last.token)).toBeUndefined();
  });

  it('leaves exactly the tokens of other lineages, whatever was issued and revoked before', async () => {
    const step = fc.record({ isRevocation: fc.boolean(), which: fc.nat() });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 3, maxLength: 15 }), fc.nat(), async (steps, which) => {
        const { tokens, issue, revoke, validIds } = setUp();
        const all = [await issue()];
        const issuerOf = new Map([[all[0]?.id, OPERATOR]]);
        const pick = async (index: number) => {
          const valid = await validIds();
          return valid[index % (valid.length + 1)] ?? OPERATOR;
        };
        for (const { isRevocation, which: index } of steps) {
          const id = await pick(index);
          if (isRevocation && id !== OPERATOR) await revoke(id);
          if (isRevocation) continue;
          const issued = await issue(id);
          all.push(issued);
          issuerOf.set(issued.id, id);
        }
        const before = await validIds();
        const { id: revoked = '' } = all[which % all.length] ?? {};
        const isOfLineage = (id: string | undefined): boolean =>
          id !== undefined && (id === revoked || isOfLineage(issuerOf.get(id)));
        await revoke(revoked, { issuedSinceMs: 0 }).catch(() => undefined);
        expect(await validIds()).toEqual(before.filter((id) => !isOfLineage(id)));
        for (const { id, token } of all) {
          expect((await tokens.find(token)) !== undefined).toBe(before.includes(id) && !isOfLineage(id));
        }
      }),
      { numRuns: runs(15) },
    );
  });
});

describe('the list of tokens', () => {
  it('names the issuer of each token', async () => {
    const { tenant, tokens, issue } = setUp();
    const { id } = await issue();
    await issue(id);
    expect((await tokens.list(tenant)).map(({ issuer }) => issuer)).toEqual([OPERATOR, id]);
  });
});
