import { describe, expect, it } from 'vitest';
import { createAccountAdministration } from '../../../shared/adapters/accounts/account-administration.ts';
import { createAccountRepository } from '../../../shared/adapters/accounts/account-repository.ts';
import type { Audit } from '../../../shared/adapters/audits/audit-log.ts';
import { limitNames } from '../../../shared/contracts/tenant-limits.ts';
import { audit } from '../../support/audit.ts';
import { useDatabase } from '../../support/dynamodb.ts';
import { countRequests, withRejections } from '../../support/dynamodb-faults.ts';
import { tenantLimits } from '../../support/tenant-limits.ts';
import { testClock } from '../../support/test-clock.ts';

const { client, connect, newTenant } = useDatabase();

const START = Date.UTC(2026, 0, 1, 23, 59, 59);

const setUp = (database = client) => {
  const { clock, advance } = testClock(START);
  const accounts = {
    ...createAccountRepository(database, 'accounts', clock),
    ...createAccountAdministration(database, 'accounts', clock),
  };
  return { advance, accounts };
};

/** An audit, and the attributes that its entries name. */
const recordChanges = () => {
  const recorded: unknown[] = [];
  const recording: Audit = (change) => {
    recorded.push(change.changed);
    return audit(change);
  };
  return { recorded, recording };
};

describe('the webhook credentials of a tenant', () => {
  it('are created on first use: a token of 10 to 64 characters and a secret of 24 to 64 random bytes', async () => {
    const { token, secrets } = await setUp().accounts.webhookCredentials(newTenant());
    expect(token).toMatch(/^[\w-]{10,64}$/);
    expect(secrets).toEqual([expect.stringMatching(/^whsec_[A-Za-z0-9+/]+=*$/)]);
    const bytes = Buffer.from(secrets[0]?.slice('whsec_'.length) ?? '', 'base64').length;
    expect(bytes).toBeGreaterThanOrEqual(24);
    expect(bytes).toBeLessThanOrEqual(64);
  });

  it('are cached for a minute', async () => {
    const database = connect();
    const counts = countRequests(database);
    const { accounts, advance } = setUp(database);
    const tenant = newTenant();
    await accounts.webhookCredentials(tenant);
    advance(59);
    await accounts.webhookCredentials(tenant);
    expect(counts).toEqual({ GetItemCommand: 1, UpdateItemCommand: 1 });
    advance(1);
    await accounts.webhookCredentials(tenant);
    expect(counts).toEqual({ GetItemCommand: 2, UpdateItemCommand: 1 });
  });
});

it.each([true, false])(
  'turning the emails of an account off and on changes it once if two operators do it at the same time (off: %s)',
  async (isOff) => {
    const tenant = newTenant();
    const [{ accounts }, later] = [setUp(), setUp()];
    later.advance(5);
    if (!isOff) await accounts.setEmailOff(tenant, true, audit);
    const change = (of: typeof accounts) => of.setEmailOff(tenant, isOff, audit);
    expect((await Promise.all([change(accounts), change(later.accounts)])).toSorted()).toEqual([false, true]);
    expect(await change(later.accounts)).toBe(false);
    expect((await accounts.describe(tenant)).emailOffSinceMs !== undefined).toBe(isOff);
  },
);

describe('the limits of a tenant', () => {
  it.each(limitNames)('have the override of %s until the setting is restored', async (name) => {
    const [tenant, other] = [newTenant(), newTenant()];
    const { accounts } = setUp();
    const limit = async (of: string) => {
      const [sender, api] = [
        setUp().accounts.limit(name, tenantLimits),
        setUp().accounts.currentLimit(name, tenantLimits),
      ];
      expect(await api(of)).toBe(await sender(of));
      return api(of);
    };
    expect(await limit(tenant)).toBe(tenantLimits[name]);
    await accounts.changeLimits(tenant, { [name]: 100 }, audit);
    expect(await accounts.describe(tenant)).toMatchObject({ limits: { [name]: 100 } });
    expect([await limit(tenant), await limit(other)]).toEqual([100, tenantLimits[name]]);
    await accounts.changeLimits(tenant, { [name]: undefined }, audit);
    expect(await limit(tenant)).toBe(tenantLimits[name]);
  });

  it('are cached for a minute, with the webhook credentials', async () => {
    const tenant = newTenant();
    await setUp().accounts.webhookCredentials(tenant);
    const database = connect();
    const counts = countRequests(database);
    const { accounts, advance } = setUp(database);
    const limitOf = accounts.limit('smsPerTenantPerDay', tenantLimits);
    await Promise.all([limitOf(tenant), accounts.webhookCredentials(tenant)]);
    await setUp().accounts.changeLimits(tenant, { smsPerTenantPerDay: 7 }, audit);
    advance(59);
    expect(await limitOf(tenant)).toBe(5);
    expect(counts).toEqual({ GetItemCommand: 1 });
    advance(1);
    expect(await limitOf(tenant)).toBe(7);
  });

  it('are read again after a read that failed', async () => {
    const failing = withRejections(connect(), 'GetItemCommand', 1);
    const limitOf = setUp(failing).accounts.limit('smsPerTenantPerDay', tenantLimits);
    await expect(limitOf(newTenant())).rejects.toThrow();
    expect(await limitOf(newTenant())).toBe(5);
  });
});

describe('the shadow mode of a tenant', () => {
  const from_ms = START + 1_000;

  it.each([
    ['a minute without shadow mode', undefined, 1],
    ['a delivery with one that is planned', { from_ms: START + 3_600_000, until_ms: START + 7_200_000 }, 3],
  ])('costs, with the limits, summaries and time zone, one read for %s', async (_, shadow, reads) => {
    const tenant = newTenant();
    const database = connect();
    const { accounts } = setUp(database);
    await setUp().accounts.setShadow(tenant, shadow, audit);
    const counts = countRequests(database);
    const limitOf = accounts.limit('emailsPerTenantPerDay', tenantLimits);
    for (let delivery = 0; delivery < 3; delivery++) {
      await accounts.isShadowed(tenant, START);
      await accounts.summaries(tenant);
      await accounts.timeZone(tenant);
      await limitOf(tenant);
    }
    expect(counts).toEqual({ GetItemCommand: reads });
  });

  it('still applies to the events of a period that is over, after it started again and was removed', async () => {
    const tenant = newTenant();
    const { accounts, advance } = setUp();
    const shadow = { from_ms: START, until_ms: START + 5_000 };
    await accounts.setShadow(tenant, shadow, audit);
    expect(await accounts.describe(tenant)).toMatchObject({ shadow });
    advance(9);
    expect(await accounts.describe(tenant)).toMatchObject({ shadow: undefined });
    for (const again of [{ from_ms: START + 60_000, until_ms: START + 120_000 }, undefined]) {
      await accounts.setShadow(tenant, again, audit);
      expect(await setUp().accounts.isShadowed(tenant, START + 4_999)).toBe(true);
      expect(await setUp().accounts.isShadowed(tenant, START + 5_000)).toBe(false);
    }
    advance(31 * 86_400);
    await accounts.setShadow(tenant, undefined, audit);
    expect(await setUp().accounts.isShadowed(tenant, START)).toBe(false);
  });

  it('starts within a minute, and ends at once: it is cached only while it is off', async () => {
    const tenant = newTenant();
    const { accounts, advance } = setUp();
    expect(await accounts.isShadowed(tenant, from_ms)).toBe(false);
    await setUp().accounts.setShadow(tenant, { from_ms, until_ms: from_ms + 3_600_000 }, audit);
    advance(59);
    expect(await accounts.isShadowed(tenant, from_ms)).toBe(false);
    advance(1);
    expect(await accounts.isShadowed(tenant, from_ms)).toBe(true);
    await setUp().accounts.setShadow(tenant, { from_ms, until_ms: from_ms }, audit);
    expect(await accounts.isShadowed(tenant, from_ms)).toBe(false);
  });
});

describe('a change to an account', () => {
  const TRANSACTION = 'TransactWriteItemsCommand';
  const both = { technical_contacts: ['a@example.com'], webhook_token: '0123456789' };

  it('writes and records the attributes that differ, in one transaction', async () => {
    const tenant = newTenant();
    const { accounts } = setUp();
    const { recorded, recording } = recordChanges();
    const database = connect();
    const requests = countRequests(database);
    await setUp(database).accounts.update(tenant, both, recording);
    expect(requests).toEqual({ GetItemCommand: 1, [TRANSACTION]: 1 });
    for (const changes of [{}, { time_zone: 'UTC' }, both, { ...both, webhook_token: 'other-token' }]) {
      await accounts.update(tenant, changes, recording);
    }
    expect(recorded).toEqual([['technical_contacts', 'webhook_token'], ['webhook_token']]);
    expect(await accounts.describe(tenant)).toMatchObject({ contacts: ['a@example.com'], token: 'other-token' });
  });

  it('removes the fallback notifications with an empty list, and records that once', async () => {
    const tenant = newTenant();
    const { accounts } = setUp();
    const { recorded, recording } = recordChanges();
    for (const escalation_notifications of [[], ['a', 'b'], ['a', 'b'], [], []]) {
      await accounts.update(tenant, { escalation_notifications }, recording);
    }
    expect(recorded).toEqual([['escalation_notifications'], ['escalation_notifications']]);
    expect((await accounts.describe(tenant)).fallbackNotifications).toEqual([]);
  });
});
