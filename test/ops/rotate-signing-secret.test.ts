import { GetCommand } from '@aws-sdk/lib-dynamodb';
import { Webhook } from 'standardwebhooks';
import { afterAll, describe, expect, it } from 'vitest';
import {
  ConcurrentChangeError,
  createAccountRepository,
  UnconfirmedChangeError,
} from '../../shared/adapters/accounts/account-repository.ts';
import { webhookHeaders } from '../../shared/pipeline/transports/webhook.ts';
import { startDatabase } from '../support/dynamodb.ts';
import { withInterruption, withLostResponse, withThrottling } from '../support/dynamodb-faults.ts';

const { client, connect, stop } = await startDatabase();
afterAll(stop);

const HOUR = 3_600_000;

/** An account at a time of its own; each look at it is a sender that has read nothing before. */
const setUp = (tenant: string) => {
  const time = { now: Date.now() };
  const accounts = () => createAccountRepository(client, 'accounts', () => time.now);
  return {
    time,
    rotate: () => accounts().rotateSecret(tenant),
    credentials: () => accounts().webhookCredentials(tenant),
  };
};

/** Whether a receiver that knows this secret alone takes what the sender signs. */
const isTakenBy = (secret: string, credentials: { token: string; secrets: string[] }): boolean => {
  const headers = webhookHeaders(credentials, 'id', Date.now(), '{}');
  try {
    new Webhook(secret).verify('{}', headers);
    return true;
  } catch {
    return false;
  }
};

describe('a signing secret that is rotated', () => {
  it('signs at once, and the old one beside it for 24 hours', async () => {
    const { time, rotate, credentials } = setUp('one');
    const [old = ''] = (await credentials()).secrets;
    const secret = await rotate();
    expect((await credentials()).secrets).toEqual([secret, old]);
    time.now += 24 * HOUR - 1;
    const last = await credentials();
    expect([isTakenBy(secret, last), isTakenBy(old, last)]).toEqual([true, true]);
    time.now += 1;
    const after = await credentials();
    expect(after.secrets).toEqual([secret]);
    expect([isTakenBy(secret, after), isTakenBy(old, after)]).toEqual([true, false]);
  });

  it('signs together with the newest of several old ones alone', async () => {
    const { time, rotate, credentials } = setUp('two');
    await credentials();
    const second = await rotate();
    time.now += HOUR;
    const third = await rotate();
    expect((await credentials()).secrets).toEqual([third, second]);
    time.now += 24 * HOUR - 1;
    expect((await credentials()).secrets).toEqual([third, second]);
    time.now += 1;
    expect((await credentials()).secrets).toEqual([third]);
  });

  it('drops expired old ones from the account', async () => {
    const { time, rotate } = setUp('six');
    for (let rotation = 0; rotation < 5; rotation++) {
      await rotate();
      time.now += 25 * HOUR;
    }
    const { Item } = await client.send(new GetCommand({ TableName: 'accounts', Key: { pk: 'account#six' } }));
    expect(Item?.retired_secrets).toHaveLength(1);
  });

  it('is the one that is stored where the answer of the write was lost and the SDK repeats it', async () => {
    const { credentials } = setUp('seven');
    const [old] = (await credentials()).secrets;
    const database = withLostResponse(connect({ maxAttempts: 2 }), 'UpdateItemCommand');
    const secret = await createAccountRepository(database, 'accounts').rotateSecret('seven');
    expect((await credentials()).secrets).toEqual([secret, old]);
  });

  it('is the one that is stored where every response to the write was lost', async () => {
    const { credentials } = setUp('ten');
    const [old] = (await credentials()).secrets;
    const database = withLostResponse(connect({ maxAttempts: 1 }), 'UpdateItemCommand');
    const secret = await createAccountRepository(database, 'accounts').rotateSecret('ten');
    expect((await credentials()).secrets).toEqual([secret, old]);
  });

  it('stays the old one where the write failed and was not applied', async () => {
    const { credentials } = setUp('eleven');
    const { secrets } = await credentials();
    const database = withThrottling(connect({ maxAttempts: 1 }), 'UpdateItemCommand');
    await expect(createAccountRepository(database, 'accounts').rotateSecret('eleven')).rejects.toMatchObject({
      name: 'ProvisionedThroughputExceededException',
    });
    expect((await credentials()).secrets).toEqual(secrets);
  });

  it('is not known where every response was lost and the account cannot be read', async () => {
    const { credentials } = setUp('twelve');
    await credentials();
    const losing = withLostResponse(connect({ maxAttempts: 1 }), 'UpdateItemCommand');
    const database = withThrottling(losing, 'GetItemCommand', 1, 1);
    await expect(createAccountRepository(database, 'accounts').rotateSecret('twelve')).rejects.toThrow(
      UnconfirmedChangeError,
    );
  });

  it('is not reported as the new one where another operator replaced it before the repetition', async () => {
    const { credentials, rotate } = setUp('eight');
    await credentials();
    let newest = '';
    const database = withLostResponse(connect({ maxAttempts: 2 }), 'UpdateItemCommand', {
      meanwhile: async () => {
        newest = await rotate();
      },
    });
    await expect(createAccountRepository(database, 'accounts').rotateSecret('eight')).rejects.toThrow(
      ConcurrentChangeError,
    );
    const { secrets } = await credentials();
    expect([secrets.length, secrets[0]]).toEqual([2, newest]);
  });

  it('does not replace one that a sender has made for its first webhook meanwhile', async () => {
    const { credentials } = setUp('nine');
    const database = withInterruption(connect(), 'UpdateItemCommand', credentials);
    await expect(createAccountRepository(database, 'accounts').rotateSecret('nine')).rejects.toThrow(
      ConcurrentChangeError,
    );
    expect((await credentials()).secrets).toHaveLength(1);
  });

  it('leaves the webhook token and the contacts as they were', async () => {
    const accounts = createAccountRepository(client, 'accounts');
    await accounts.setTechnicalContacts('three', ['a@example.com']);
    const { token } = await accounts.webhookCredentials('three');
    await accounts.rotateSecret('three');
    expect(await accounts.describe('three')).toMatchObject({ token, contacts: ['a@example.com'] });
  });

  it('is the first one of an account that had none', async () => {
    const { rotate, credentials } = setUp('four');
    const secret = await rotate();
    expect((await credentials()).secrets).toEqual([secret]);
  });

  it('is replaced once where two operators rotate at the same time', async () => {
    const { rotate, credentials } = setUp('five');
    await credentials();
    let winner = '';
    const database = withInterruption(connect(), 'UpdateItemCommand', async () => {
      winner = await rotate();
    });
    const loser = createAccountRepository(database, 'accounts').rotateSecret('five');
    await expect(loser).rejects.toThrow('Somebody else changed the account at the same time');
    const { secrets } = await credentials();
    expect([secrets.length, secrets[0]]).toEqual([2, winner]);
  });
});
