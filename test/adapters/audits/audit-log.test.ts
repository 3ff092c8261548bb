import { describe, expect, it } from 'vitest';
import { type AuditRange, createAuditLog, createAuditReader } from '../../../shared/adapters/audits/audit-log.ts';
import { createTokenRepository } from '../../../shared/adapters/tokens/token-repository.ts';
import type { ChangeContext } from '../../../shared/contracts/audit.ts';
import { auditRecord } from '../../../shared/domain/audit.ts';
import { DAY_MS } from '../../../shared/domain/time.ts';
import { useDatabase } from '../../support/dynamodb.ts';
import { testClock } from '../../support/test-clock.ts';

const { client, newTenant } = useDatabase();

const START_MS = Date.UTC(2026, 0, 1);
const RETENTION_DAYS = 90;
const all: AuditRange = { fromMs: 0, toMs: 9_999_999_999_999, isReverse: false };
const context: ChangeContext = { actor: { type: 'token', id: 'tk1', label: 'console' }, request_id: 'r' };

const setUp = (tenant = newTenant()) => {
  const { clock, wait } = testClock(START_MS);
  const log = createAuditLog(client, { AUDITS_TABLE: 'audits', AUDIT_RETENTION_DAYS: RETENTION_DAYS }, clock);
  const reader = createAuditReader(client, 'audits', clock);
  const list = async (range: Partial<AuditRange> = {}, start: string | null = null, pageSize = 2) =>
    Array.fromAsync(reader.list(tenant, { ...all, ...range, start, pageSize }));
  const idsOf = async (...request: Parameters<typeof list>) =>
    (await list(...request)).map(({ target_id }) => target_id);
  return {
    tenant,
    log,
    list,
    idsOf,
    by: log.by({ tenant, context }),
    advance: wait,
    /** Records the changes of a to e, a second apart. */
    recordFive: async () => {
      for (const target_id of ['a', 'b', 'c', 'd', 'e']) {
        await log.record({ tenant, context }, { action: 'test-notification', target_id });
        wait(1_000);
      }
    },
  };
};

describe('an audit entry', () => {
  it('is listed with its time and its context', async () => {
    const { log, tenant, list } = setUp();
    const person = { ...context, ip_address: '192.0.2.1', who: 'jane', why: 'rotation' };
    await log.record({ tenant, context: person }, { action: 'update-account', target_id: tenant, changed: ['x'] });
    expect((await list()).map(auditRecord)).toEqual([
      {
        id: expect.stringMatching(/^au[0-9A-Z]{26}$/),
        timestamp: START_MS,
        action: 'update-account',
        target_id: tenant,
        changed: ['x'],
        actor: { type: 'token', id: 'tk1', label: 'console' },
        request_id: 'r',
        ip_address: '192.0.2.1',
        who: 'jane',
        why: 'rotation',
      },
    ]);
  });

  it('does not show the IAM principal of an operator', async () => {
    const { log, tenant, list } = setUp();
    const operator = { actor: { type: 'operator', principal: 'arn:aws:iam::1:user/jo' } } as const;
    await log.record({ tenant, context: operator }, { action: 'test-new-notification' });
    const [stored] = await list();
    expect(stored).toMatchObject(operator);
    expect(stored && auditRecord(stored)).toMatchObject({
      target_id: null,
      changed: [],
      actor: { type: 'operator', id: null, label: null },
      request_id: null,
      ip_address: null,
      who: null,
      why: null,
    });
  });

  it('is not listed after the retention, although DynamoDB deletes it late', async () => {
    const { recordFive, idsOf, advance } = setUp();
    await recordFive();
    advance(RETENTION_DAYS * DAY_MS - 3_000);
    expect(await idsOf()).toEqual(['d', 'e']);
    expect(await idsOf({ isReverse: true }, null, 1)).toEqual(['e', 'd']);
    advance(DAY_MS);
    expect(await idsOf()).toEqual([]);
  });

  it('belongs to one tenant', async () => {
    const [own, other] = [setUp('one'), setUp('audit#one')];
    await own.recordFive();
    expect(await other.idsOf()).toEqual([]);
    const stack = createAuditReader(client, 'audits').list(undefined, { ...all, start: null, pageSize: 9 });
    expect(await Array.fromAsync(stack)).toEqual([]);
  });
});

describe('a list of audit entries', () => {
  it('includes the first and the last ms of a range', async () => {
    const { recordFive, idsOf } = setUp();
    await recordFive();
    const range = { fromMs: START_MS + 1_000, toMs: START_MS + 3_000 };
    expect(await idsOf(range)).toEqual(['b', 'c', 'd']);
    expect(await idsOf({ fromMs: range.fromMs + 1, toMs: range.toMs - 1 })).toEqual(['c']);
    expect(await idsOf({ fromMs: range.toMs, toMs: range.fromMs })).toEqual([]);
  });

  it('starts with an entry, whether it still exists or not, and any other text is a position', async () => {
    const { recordFive, list, idsOf } = setUp();
    await recordFive();
    const third = (await list())[2]?.id ?? '';
    expect(await idsOf({}, third)).toEqual(['c', 'd', 'e']);
    expect(await idsOf({ isReverse: true }, third)).toEqual(['c', 'b', 'a']);
    expect(await idsOf({}, `${third}0`)).toEqual(['d', 'e']);
    expect(await idsOf({}, 'z'.repeat(5_000))).toEqual([]);
    expect(await idsOf({ isReverse: true }, '\ud800')).toHaveLength(5);
    expect(await idsOf({ isReverse: true }, 'a')).toEqual([]);
  });
});

it('a change leaves none if it is refused', async () => {
  const { tenant, by, list } = setUp();
  const tokens = createTokenRepository(client, 'tokens');
  const request = { tenant, id: 'tk-unknown', revoker: 'operator' };
  await expect(tokens.revoke(request, by)).rejects.toMatchObject({ type: 'notFoundError' });
  expect(await list()).toEqual([]);
});
