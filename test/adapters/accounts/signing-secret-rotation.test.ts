import { GetCommand } from '@aws-sdk/lib-dynamodb';
import { Webhook } from 'standardwebhooks';
import { describe, expect, it } from 'vitest';
import {
  ConcurrentRotationError,
  createAccountAdministration,
} from '../../../shared/adapters/accounts/account-administration.ts';
import { createAccountRepository } from '../../../shared/adapters/accounts/account-repository.ts';
import { webhookHeaders } from '../../../shared/pipeline/transports/webhook.ts';
import { audit } from '../../support/audit.ts';
import { useDatabase } from '../../support/dynamodb.ts';
import { withInterruption } from '../../support/dynamodb-faults.ts';

const { client, connect } = useDatabase();

const TRANSACTION = 'TransactWriteItemsCommand';
const HOUR_MS = 3_600_000;

/** An account with its own clock. Every access uses a new repository, as a sender without a cache does. */
const setUp = (tenant: string) => {
  const time = { now: Date.now() };
  const accounts = () => createAccountAdministration(client, 'accounts', () => time.now);
  return {
    time,
    rotate: () => accounts().rotateSecret(tenant, audit),
    /** Rotates the secret over a connection with faults. */
    rotateOn: (database: typeof client, options = {}) =>
      createAccountAdministration(database, 'accounts').rotateSecret(tenant, audit, options),
    credentials: () => createAccountRepository(client, 'accounts', () => time.now).webhookCredentials(tenant),
  };
};

/** Returns whether a receiver with only this secret accepts the signature. */
const isVerifiedWith = (secret: string, credentials: { token: string; secrets: string[] }): boolean => {
  const headers = webhookHeaders(credentials, 'id', Date.now(), '{}');
  try {
    new Webhook(secret).verify('{}', headers);
    return true;
  } catch {
    return false;
  }
};

describe('rotating a signing secret', () => {
  it('signs with the new secret immediately, and also with the previous one for 24 hours', async () => {
    const { time, rotate, credentials } = setUp('one');
    const [old = ''] = (await credentials()).secrets;
    const secret = await rotate();
    expect((await credentials()).secrets).toEqual([secret, old]);
    time.now += 24 * HOUR_MS - 1;
    const last = await credentials();
    expect([isVerifiedWith(secret, last), isVerifiedWith(old, last)]).toEqual([true, true]);
    time.now += 1;
    const after = await credentials();
    expect(after.secrets).toEqual([secret]);
    expect([isVerifiedWith(secret, after), isVerifiedWith(old, after)]).toEqual([true, false]);
  });

  it('signs with only the newest of several previous secrets', async () => {
    const { time, rotate, credentials } = setUp('two');
    await credentials();
    const second = await rotate();
    time.now += HOUR_MS;
    const third = await rotate();
    expect((await credentials()).secrets).toEqual([third, second]);
    time.now += 24 * HOUR_MS - 1;
    expect((await credentials()).secrets).toEqual([third, second]);
    time.now += 1;
    expect((await credentials()).secrets).toEqual([third]);
  });

  it('removes expired secrets from the account', async () => {
    const { time, rotate } = setUp('six');
    for (let rotation = 0; rotation < 5; rotation++) {
      await rotate();
      time.now += 25 * HOUR_MS;
    }
    const { Item } = await client.send(new GetCommand({ TableName: 'accounts', Key: { pk: 'account#six' } }));
    expect(Item?.retired_secrets).toHaveLength(1);
  });

  it('does not replace the first secret that a sender creates concurrently', async () => {
    const { credentials, rotateOn } = setUp('nine');
    const database = withInterruption(connect(), TRANSACTION, credentials);
    await expect(rotateOn(database)).rejects.toThrow(ConcurrentRotationError);
    expect((await credentials()).secrets).toHaveLength(1);
  });

  it('is applied after concurrent changes of other attributes', async () => {
    const { credentials, rotateOn } = setUp('thirteen');
    const [old] = (await credentials()).secrets;
    const change = () =>
      createAccountAdministration(client, 'accounts').update(
        'thirteen',
        { technical_contacts: ['a@example.com'] },
        audit,
      );
    const database = withInterruption(connect(), TRANSACTION, change, (count) => count <= 3);
    const secret = await rotateOn(database);
    expect((await credentials()).secrets).toEqual([secret, old]);
  });

  it('creates the first secret of an account', async () => {
    const { rotate, credentials } = setUp('four');
    const secret = await rotate();
    expect((await credentials()).secrets).toEqual([secret]);
  });
});
