import { GetCommand } from '@aws-sdk/lib-dynamodb';
import { Webhook } from 'standardwebhooks';
import { describe, expect, it } from 'vitest';
import {
  ConcurrentRotationError,
  createAccountRepository,
} from '../../../shared/adapters/accounts/account-repository.ts';
import { UnconfirmedChangeError } from '../../../shared/adapters/dynamodb/errors.ts';
import { webhookHeaders } from '../../../shared/pipeline/transports/webhook.ts';
import { audit } from '../../support/audit.ts';
import { useDatabase } from '../../support/dynamodb.ts';
import { withInterruption, withLostResponse, withThrottling } from '../../support/dynamodb-faults.ts';

const { client, connect } = useDatabase();

const TRANSACTION = 'TransactWriteItemsCommand';
const HOUR_MS = 3_600_000;

/** An account with its own clock. Every access uses a new repository, as a sender without a cache does. */
const setUp = (tenant: string) => {
  const time = { now: Date.now() };
  const accounts = () => createAccountRepository(client, 'accounts', () => time.now);
  return {
    time,
    rotate: () => accounts().rotateSecret(tenant, audit),
    /** Rotates the secret over a connection with faults. */
    rotateOn: (database: typeof client, options = {}) =>
      createAccountRepository(database, 'accounts').rotateSecret(tenant, audit, options),
    credentials: () => accounts().webhookCredentials(tenant),
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

  it.each([
    ['the SDK', 2],
    ['the repository', 1],
  ])('returns the stored secret when the response is lost and %s repeats the write', async (repeater, maxAttempts) => {
    const { credentials, rotateOn } = setUp(repeater);
    const [old] = (await credentials()).secrets;
    const secret = await rotateOn(withLostResponse(connect({ maxAttempts }), TRANSACTION));
    expect((await credentials()).secrets).toEqual([secret, old]);
  });

  it('keeps the previous secret when the write fails', async () => {
    const { credentials, rotateOn } = setUp('eleven');
    const { secrets } = await credentials();
    const database = withThrottling(connect({ maxAttempts: 1 }), 'GetItemCommand');
    await expect(rotateOn(database)).rejects.toMatchObject({
      name: 'ProvisionedThroughputExceededException',
    });
    expect((await credentials()).secrets).toEqual(secrets);
  });

  it('is unconfirmed when all responses are lost, and was applied once', async () => {
    const { credentials, rotateOn } = setUp('twelve');
    const [old] = (await credentials()).secrets;
    const losing = withLostResponse(connect({ maxAttempts: 1 }), TRANSACTION);
    const database = withLostResponse(losing, TRANSACTION);
    await expect(rotateOn(database)).rejects.toThrow(UnconfirmedChangeError);
    const { secrets } = await credentials();
    expect([secrets.length, secrets[1]]).toEqual([2, old]);
  });

  it('is applied once, before that of another operator who replaces the secret before the SDK repeats it', async () => {
    const { credentials, rotate, rotateOn } = setUp('eight');
    await credentials();
    let newest = '';
    const database = withLostResponse(connect({ maxAttempts: 2 }), TRANSACTION, {
      meanwhile: async () => {
        newest = await rotate();
      },
    });
    const secret = await rotateOn(database);
    expect((await credentials()).secrets).toEqual([newest, secret]);
  });

  it('does not replace the first secret that a sender creates concurrently', async () => {
    const { credentials, rotateOn } = setUp('nine');
    const database = withInterruption(connect(), TRANSACTION, credentials);
    await expect(rotateOn(database)).rejects.toThrow(ConcurrentRotationError);
    expect((await credentials()).secrets).toHaveLength(1);
  });

  it('can join a concurrent rotation, so that the previous secret keeps signing', async () => {
    const { credentials, rotate, rotateOn } = setUp('fifteen');
    const [old] = (await credentials()).secrets;
    let winner = '';
    const database = withInterruption(connect(), TRANSACTION, async () => {
      winner = await rotate();
    });
    const joined = await rotateOn(database, { canJoin: true });
    expect(joined).toBe(winner);
    expect((await credentials()).secrets).toEqual([winner, old]);
  });

  it('is applied after concurrent changes of other attributes', async () => {
    const { credentials, rotateOn } = setUp('thirteen');
    const [old] = (await credentials()).secrets;
    const change = () =>
      createAccountRepository(client, 'accounts').update('thirteen', { technical_contacts: ['a@example.com'] }, audit);
    const database = withInterruption(connect(), TRANSACTION, change, (count) => count <= 3);
    const secret = await rotateOn(database);
    expect((await credentials()).secrets).toEqual([secret, old]);
  });

  it('is applied once if its response is lost and other attributes change before the SDK repeats it', async () => {
    const { credentials, rotateOn } = setUp('fourteen');
    const [old] = (await credentials()).secrets;
    const database = withLostResponse(connect({ maxAttempts: 2 }), TRANSACTION, {
      meanwhile: () =>
        createAccountRepository(client, 'accounts').update(
          'fourteen',
          { technical_contacts: ['a@example.com'] },
          audit,
        ),
    });
    const secret = await rotateOn(database);
    expect((await credentials()).secrets).toEqual([secret, old]);
  });

  it('keeps the webhook token and the contacts', async () => {
    const accounts = createAccountRepository(client, 'accounts');
    await accounts.update('three', { technical_contacts: ['a@example.com'] }, audit);
    const { token } = await accounts.webhookCredentials('three');
    await accounts.rotateSecret('three', audit);
    expect(await accounts.describe('three')).toMatchObject({ token, contacts: ['a@example.com'] });
  });

  it('creates the first secret of an account', async () => {
    const { rotate, credentials } = setUp('four');
    const secret = await rotate();
    expect((await credentials()).secrets).toEqual([secret]);
  });

  it('succeeds for one of two concurrent operators', async () => {
    const { rotate, credentials, rotateOn } = setUp('five');
    await credentials();
    let winner = '';
    const database = withInterruption(connect(), TRANSACTION, async () => {
      winner = await rotate();
    });
    const loser = rotateOn(database);
    await expect(loser).rejects.toThrow(ConcurrentRotationError);
    const { secrets } = await credentials();
    expect([secrets.length, secrets[0]]).toEqual([2, winner]);
  });
});
