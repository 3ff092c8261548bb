import { Webhook } from 'standardwebhooks';
import { afterAll, describe, expect, it } from 'vitest';
import { createAccountRepository } from '../../shared/adapters/account-repository.ts';
import { webhookHeaders } from '../../shared/adapters/sender/webhook.ts';
import { startDatabase } from '../support/dynamodb.ts';

const { client, stop } = await startDatabase();
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

  it('keeps each of several old ones for its own 24 hours', async () => {
    const { time, rotate, credentials } = setUp('two');
    const [first] = (await credentials()).secrets;
    const second = await rotate();
    time.now += HOUR;
    const third = await rotate();
    expect((await credentials()).secrets).toEqual([third, second, first]);
    time.now += 23 * HOUR;
    expect((await credentials()).secrets).toEqual([third, second]);
    time.now += HOUR;
    const fourth = await rotate();
    expect((await credentials()).secrets).toEqual([fourth, third]);
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
    const ended = await Promise.allSettled([rotate(), rotate(), rotate()]);
    const done = ended.filter(({ status }) => status === 'fulfilled').length;
    expect((await credentials()).secrets).toHaveLength(1 + done);
  });
});
