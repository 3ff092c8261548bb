import { describe, expect, it } from 'vitest';
import { createAccountRepository } from '../../../shared/adapters/accounts/account-repository.ts';
import { ConcurrentChangeError } from '../../../shared/adapters/dynamodb/versioned-item.ts';
import { useDatabase } from '../../support/dynamodb.ts';
import { countRequests, withLostResponse } from '../../support/dynamodb-faults.ts';

const { client, connect } = useDatabase();

const START = Date.UTC(2026, 0, 1, 23, 59, 59);
let tenants = 0;
const newTenant = (): string => `tenant${tenants++}`;

const setUp = (database = client) => {
  let now = START;
  const advance = (seconds: number) => {
    now += seconds * 1_000;
  };
  return { advance, accounts: createAccountRepository(database, 'accounts', () => now) };
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

  it('are created once, even if twenty senders need them at the same time', async () => {
    const tenant = newTenant();
    const used = await Promise.all(Array.from({ length: 20 }, () => setUp().accounts.webhookCredentials(tenant)));
    expect(new Set(used.map((credentials) => JSON.stringify(credentials))).size).toBe(1);
  });

  it('are the same for later senders', async () => {
    const tenant = newTenant();
    const first = await setUp().accounts.webhookCredentials(tenant);
    expect(await setUp().accounts.webhookCredentials(tenant)).toEqual(first);
  });

  it('differ between tenants', async () => {
    const { accounts } = setUp();
    const [first, second] = await Promise.all([newTenant(), newTenant()].map(accounts.webhookCredentials));
    expect(first?.token).not.toBe(second?.token);
    expect(first?.secrets).not.toEqual(second?.secrets);
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

  it('do not change the technical contacts', async () => {
    const { accounts } = setUp();
    const tenant = newTenant();
    await accounts.setTechnicalContacts(tenant, ['a@example.com']);
    await accounts.webhookCredentials(tenant);
    expect(await accounts.technicalContacts(tenant)).toEqual(['a@example.com']);
  });
});

describe('the technical contacts of a tenant', () => {
  it('are empty by default', async () => {
    expect(await setUp().accounts.technicalContacts(newTenant())).toEqual([]);
  });

  it('are the last ones set, without duplicates', async () => {
    const { accounts } = setUp();
    const tenant = newTenant();
    await accounts.setTechnicalContacts(tenant, ['old@example.com']);
    await accounts.setTechnicalContacts(tenant, ['b@example.com', 'a@example.com', 'b@example.com']);
    expect(await accounts.technicalContacts(tenant)).toEqual(['b@example.com', 'a@example.com']);
  });
});

describe('a change to an account', () => {
  const repeating = (meanwhile?: () => Promise<unknown>) =>
    setUp(withLostResponse(connect({ maxAttempts: 2 }), 'UpdateItemCommand', meanwhile && { meanwhile })).accounts;

  it('succeeds if the response is lost and the SDK repeats the write', async () => {
    const tenant = newTenant();
    await repeating().setTechnicalContacts(tenant, ['a@example.com']);
    await repeating().update(tenant, { webhook_token: 'token-of-operator' });
    expect(await setUp().accounts.describe(tenant)).toMatchObject({
      contacts: ['a@example.com'],
      token: 'token-of-operator',
    });
  });

  it('does not overwrite a newer change if the SDK repeats its write seconds later', async () => {
    const tenant = newTenant();
    const { accounts } = setUp();
    await accounts.setTechnicalContacts(tenant, ['first@example.com']);
    // The newer change restores the earlier value, so only the version differs.
    const older = repeating(() => accounts.setTechnicalContacts(tenant, ['first@example.com']));
    await expect(older.setTechnicalContacts(tenant, ['older@example.com'])).rejects.toThrow(ConcurrentChangeError);
    expect(await accounts.technicalContacts(tenant)).toEqual(['first@example.com']);
    const olderToken = repeating(() => accounts.update(tenant, { webhook_token: 'newer-token' }));
    await expect(olderToken.update(tenant, { webhook_token: 'older-token' })).rejects.toThrow(ConcurrentChangeError);
    expect(await accounts.describe(tenant)).toMatchObject({ token: 'newer-token' });
  });

  it('creates credentials once, even if the write is repeated', async () => {
    const tenant = newTenant();
    const used = await repeating().webhookCredentials(tenant);
    expect(await setUp().accounts.webhookCredentials(tenant)).toEqual(used);
  });
});
