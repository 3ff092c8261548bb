import { describe, expect, it } from 'vitest';
import { createAccountRepository } from '../../shared/adapters/accounts/account-repository.ts';
import { UnconfirmedChangeError } from '../../shared/adapters/dynamodb/errors.ts';
import { ConcurrentChangeError } from '../../shared/adapters/dynamodb/versioned-item.ts';
import { createAccountUpdate } from '../../shared/api/account-update.ts';
import { useDatabase } from '../support/dynamodb.ts';
import { countRequests, withInterruption, withLostResponse, withThrottling } from '../support/dynamodb-faults.ts';

const { client, connect } = useDatabase();

const accounts = createAccountRepository(client, 'accounts');
let tenants = 0;
const newTenant = (): string => `tenant${tenants++}`;
const both = { technical_contacts: ['a@example.com'], webhook_token: '0123456789' };

const updateWith = (database: typeof client) => createAccountUpdate(createAccountRepository(database, 'accounts'));

describe('an update of the account', () => {
  it('changes all its fields in one write', async () => {
    const tenant = newTenant();
    const database = connect();
    const requests = countRequests(database);
    await updateWith(database)(tenant, both);
    expect(requests).toEqual({ GetItemCommand: 1, UpdateItemCommand: 1 });
    expect(await accounts.describe(tenant)).toMatchObject({ contacts: ['a@example.com'], token: '0123456789' });
  });

  it('makes no request without fields', async () => {
    const database = connect();
    const requests = countRequests(database);
    await updateWith(database)(newTenant(), {});
    expect(requests).toEqual({});
  });

  it('is applied after a concurrent one', async () => {
    const tenant = newTenant();
    const other = () => accounts.update(tenant, { webhook_token: 'other-token' });
    const database = withInterruption(connect(), 'UpdateItemCommand', other, (count) => count <= 9);
    await updateWith(database)(tenant, { technical_contacts: ['a@example.com'] });
    expect(await accounts.describe(tenant)).toMatchObject({ contacts: ['a@example.com'], token: 'other-token' });
  });

  it('is applied after a sender creates the first credentials, which are kept', async () => {
    const tenant = newTenant();
    const database = withInterruption(connect(), 'UpdateItemCommand', () => accounts.webhookCredentials(tenant));
    await updateWith(database)(tenant, { technical_contacts: ['a@example.com'] });
    const { secrets, contacts } = await accounts.describe(tenant);
    expect([secrets, contacts]).toEqual([(await accounts.webhookCredentials(tenant)).secrets, ['a@example.com']]);
  });

  it('succeeds if its response is lost, with or without a repetition by the SDK', async () => {
    for (const maxAttempts of [1, 2]) {
      const tenant = newTenant();
      await updateWith(withLostResponse(connect({ maxAttempts }), 'UpdateItemCommand'))(tenant, both);
      expect(await accounts.describe(tenant)).toMatchObject({ contacts: ['a@example.com'], token: '0123456789' });
    }
  });

  it('fails with 503 if ten attempts conflict', async () => {
    let attempts = 0;
    const update = createAccountUpdate({
      update: async () => {
        attempts++;
        throw new ConcurrentChangeError('account');
      },
    });
    await expect(update(newTenant(), both)).rejects.toMatchObject({ type: 'serviceUnavailable' });
    expect(attempts).toBe(10);
  });

  it('is not repeated if it is unknown whether it was applied', async () => {
    const losing = withLostResponse(connect({ maxAttempts: 1 }), 'UpdateItemCommand');
    const update = updateWith(withThrottling(losing, 'GetItemCommand', 1, 1));
    await expect(update(newTenant(), both)).rejects.toThrow(UnconfirmedChangeError);
  });
});
