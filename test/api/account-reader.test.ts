import { UpdateCommand } from '@aws-sdk/lib-dynamodb';
import { describe, expect, it, vi } from 'vitest';
import { createAccountAdministration } from '../../shared/adapters/accounts/account-administration.ts';
import { createEmailStops } from '../../shared/adapters/accounts/email-stops.ts';
import { createCounters, dailyCounter } from '../../shared/adapters/dynamodb/counters.ts';
import { logger } from '../../shared/adapters/logger.ts';
import { readNotificationCount } from '../../shared/adapters/notifications/notification-counter.ts';
import { createNotificationRepository } from '../../shared/adapters/notifications/notification-repository.ts';
import { createTokenRepository } from '../../shared/adapters/tokens/token-repository.ts';
import { createAccountReader } from '../../shared/api/account-reader.ts';
import type { NotificationAttributes } from '../../shared/contracts/notification.ts';
import { audit } from '../support/audit.ts';
import { useDatabase } from '../support/dynamodb.ts';
import { countRequests } from '../support/dynamodb-faults.ts';
import { webhookNotification } from '../support/notifications.ts';
import { tenantLimits } from '../support/tenant-limits.ts';
import { testClock } from '../support/test-clock.ts';

const { client, connect } = useDatabase();

const START = Date.UTC(2026, 0, 1, 12);
let tenants = 0;

const setUp = (database = client) => {
  const { clock, wait } = testClock(START);
  const accounts = createAccountAdministration(database, 'accounts', clock);
  const counters = createCounters(database, 'accounts');
  const tokens = createTokenRepository(database, 'tokens', clock);
  const count = (tenant: string) => readNotificationCount(database, 'notifications', tenant);
  const stops = createEmailStops(database, 'accounts', clock);
  const notifications = createNotificationRepository(database, 'notifications');
  const read = createAccountReader(
    { accounts, counters, tokens, stops, notifications, countNotifications: count },
    tenantLimits,
    clock,
  );
  const advance = (hours: number) => wait(hours * 3_600_000);
  const tenant = `tenant${tenants++}`;
  const create = (changes: Partial<NotificationAttributes> = {}) =>
    notifications.create({ tenant, attributes: webhookNotification(changes), audit });
  return { tenant, accounts, counters, tokens, stops, create, read, advance };
};

describe('reading an account', () => {
  it('shows contacts that emails cannot reach, unusable fallback notifications, and emails that are off', async () => {
    const { tenant, accounts, stops, create, read } = setUp();
    const details = { address: 'fallback@example.com' };
    const id = await create({ type: 'email', details });
    const contacts = ['one@example.com', 'two+x@example.com'];
    const ids = [id, 'ntDeleted'];
    await accounts.update(tenant, { technical_contacts: contacts, escalation_notifications: ids }, audit);
    const unstopped = await read({ tenant, role: 'observer' });
    expect(unstopped).toMatchObject({ unusable_escalations: [{ id: 'ntDeleted', reason: 'deleted' }] });
    expect([unstopped.stopped_contacts, unstopped.email_off]).toEqual([undefined, undefined]);

    await stops.complain({ tenant, address: 'two@example.com' }, START);
    await stops.bounce({ tenant, ...details }, START);
    await accounts.setEmailOff(tenant, true, audit);
    expect(await read({ tenant, role: 'observer' })).toMatchObject({
      stopped_contacts: [{ address: 'two+x@example.com', reason: 'complained', since: START }],
      unusable_escalations: [
        { id, reason: 'bounced' },
        { id: 'ntDeleted', reason: 'deleted' },
      ],
      email_off: { since: START },
    });
    const muted = await create({ muted_until: Date.now() + 60_000 });
    await accounts.update(tenant, { escalation_notifications: [muted] }, audit);
    await accounts.setEmailOff(tenant, false, audit);
    expect((await read({ tenant, role: 'observer' })).unusable_escalations).toEqual([{ id: muted, reason: 'muted' }]);
    expect((await read({ tenant, role: 'observer' })).email_off).toBeUndefined();
  });

  it('reads the stops of all contacts and fallback notifications at once', async () => {
    const database = connect();
    const { tenant, accounts, create, read } = setUp(database);
    const contacts = Array.from({ length: 50 }, (_, number) => `${number}@example.com`);
    const details = { address: 'fallback@example.com' };
    const id = await create({ type: 'email', details });
    await accounts.update(tenant, { technical_contacts: contacts, escalation_notifications: [id] }, audit);
    const requests = countRequests(database);
    await read({ tenant, role: 'observer' });
    // The account, the number of notifications, and the list of tokens.
    expect(requests.GetItemCommand).toBe(3);
    // The counters, the fallback notification, and the stops.
    expect(requests.BatchGetItemCommand).toBe(3);
  });

  it('is shown without stops if they cannot be read, which is logged', async () => {
    const warn = vi.spyOn(logger, 'warn').mockImplementation(() => undefined);
    const { tenant, accounts, stops, read } = setUp();
    await accounts.update(tenant, { technical_contacts: ['one@example.com'] }, audit);
    await stops.complain({ tenant, address: 'one@example.com' }, START);
    vi.spyOn(stops, 'findAll').mockRejectedValue(new Error('No stops.'));
    const account = await read({ tenant, role: 'observer' });
    expect(account).toMatchObject({ id: tenant, technical_contacts: ['one@example.com'] });
    expect(account.stopped_contacts).toBeUndefined();
    expect(warn).toHaveBeenCalledWith('stops of emails not read', expect.objectContaining({ error: 'Error' }));
    vi.restoreAllMocks();
  });

  it('does not call a fallback notification deleted that this version cannot read', async () => {
    vi.spyOn(logger, 'error').mockImplementation(() => undefined);
    const { tenant, accounts, create, read } = setUp();
    const id = await create();
    await client.send(
      new UpdateCommand({
        TableName: 'notifications',
        Key: { pk: `notification#${tenant}`, sk: id },
        UpdateExpression: 'SET #type = :unknown',
        ExpressionAttributeNames: { '#type': 'type' },
        ExpressionAttributeValues: { ':unknown': 'telepathy' },
      }),
    );
    await accounts.update(tenant, { escalation_notifications: [id, 'ntDeleted'] }, audit);
    const { unusable_escalations } = await read({ tenant, role: 'observer' });
    expect(unusable_escalations).toEqual([{ id: 'ntDeleted', reason: 'deleted' }]);
    vi.restoreAllMocks();
  });

  it('returns each limit, and how much of it is used on the UTC day', async () => {
    const { tenant, counters, tokens, create, read, advance } = setUp();
    const amounts = { tests: 1, redeliveries: 2, email: 3, sms: 4, managed: 5 } as const;
    for (const name of ['tests', 'redeliveries', 'email', 'sms', 'managed'] as const) {
      await counters.take(dailyCounter(name, tenant, START), { amount: amounts[name], limit: 100 });
    }
    await create();
    await tokens.issue({ tenant, role: 'observer', label: 'l', expiresInSeconds: 3_600, issuer: 'operator' }, audit);
    const { limits, usage } = await read({ tenant, role: 'observer' });
    expect(limits).toEqual({
      notifications: 1,
      tests_per_day: 2,
      redeliveries_per_day: 3,
      emails_per_day: 4,
      sms_per_day: 5,
      managed_per_day: 6,
      email_summaries_per_day: 4,
      sms_summaries_per_day: 5,
      tokens: 100,
    });
    expect(usage).toEqual({
      email_summaries_per_day: 0,
      sms_summaries_per_day: 0,
      notifications: 1,
      tests_per_day: 1,
      redeliveries_per_day: 2,
      emails_per_day: 3,
      sms_per_day: 4,
      managed_per_day: 5,
      tokens: 1,
      day_ends_at: Date.UTC(2026, 0, 2),
    });
    advance(12);
    expect((await read({ tenant, role: 'observer' })).usage).toMatchObject({
      tests_per_day: 0,
      redeliveries_per_day: 0,
      notifications: 1,
      tokens: 0,
      day_ends_at: Date.UTC(2026, 0, 3),
    });
  });

  it('creates no credentials for a role other than admin, and writes nothing', async () => {
    const database = connect();
    const requests = countRequests(database);
    const { tenant, accounts, read } = setUp(database);
    for (const role of ['observer', 'creator', 'unknown']) {
      const account = await read({ tenant, role });
      expect(Object.keys(JSON.parse(JSON.stringify(account)))).toEqual([
        'id',
        'technical_contacts',
        'time_zone',
        'limits',
        'usage',
      ]);
    }
    expect(requests.UpdateItemCommand).toBeUndefined();
    expect(await accounts.describe(tenant)).toMatchObject({ token: undefined, secrets: [] });
  });
});
