import type { AwsCall } from 'local-aws/aws-service.ts';
import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { createAccountRepository } from '../../shared/adapters/accounts/account-repository.ts';
import type { Client } from '../support/api.ts';
import { throttled, useFaultyStack } from './support.ts';

const TOKEN_CACHE_SECONDS = 40;

const harness = useFaultyStack({ tokenCacheSeconds: String(TOKEN_CACHE_SECONDS) });

const created = z.object({ id: z.string(), token: z.string() });
const page = z.object({ values: z.array(z.object({ id: z.string() })) });

const create = async (client: Client, role = 'observer') =>
  created.parse((await client.post('/tokens', { label: 'l', role })).body);
const listIds = async (client: Client) => page.parse((await client.get('/tokens')).body).values.map(({ id }) => id);
const statusWith = async (token: string): Promise<number> => (await harness.call('GET', '/account', { token })).status;

/** Returns whether a call writes the list of a tenant's tokens. */
const writesList =
  (tenant: string) =>
  ({ action, body }: AwsCall): boolean =>
    action === 'TransactWriteItems' && body.includes(`"tenant#${tenant}"`);

describe('a revoked token', () => {
  it('stops working within tokenCacheSeconds, even where it was cached', async () => {
    const client = await harness.newClient();
    const { id, token } = await create(client);
    expect(await statusWith(token)).toBe(200);
    expect((await client.delete(`/tokens/${id}`)).status).toBe(204);
    // The function that cached the token accepts it; a function that reads it does not.
    expect(await statusWith(token)).toBe(200);
    expect((await harness.call('GET', '/notifications', { token })).status).toBe(401);
    await harness.stack.advance(TOKEN_CACHE_SECONDS * 1_000);
    expect(await statusWith(token)).toBe(401);
  });

  it('keeps working, and stays listed, if DynamoDB throttles the revocation', async () => {
    const client = await harness.newClient();
    const { id, token } = await create(client);
    const recover = harness.injectFault(throttled, writesList(client.tenant));
    expect((await client.delete(`/tokens/${id}`)).status).toBe(503);
    recover();
    expect([await statusWith(token), await listIds(client)]).toEqual([200, expect.arrayContaining([id])]);
    expect((await client.delete(`/tokens/${id}`)).status).toBe(204);
    expect(await listIds(client)).not.toContain(id);
  });

  it('is revoked completely if the function is killed after the transaction', async () => {
    const client = await harness.newClient();
    const { id, token } = await create(client);
    const crashed = harness.crashOnce({
      caller: 'revoke-token',
      service: 'dynamodb',
      action: 'TransactWriteItems',
      when: 'after',
    });
    expect((await client.delete(`/tokens/${id}`)).status).toBeGreaterThanOrEqual(500);
    await crashed;
    expect([await statusWith(token), await listIds(client)]).toEqual([401, [expect.not.stringContaining(id)]]);
    expect((await client.delete(`/tokens/${id}`)).status).toBe(404);
  });
});

describe('a token whose list cannot be written', () => {
  it('is not issued: the request returns 503, and later ones succeed', async () => {
    const client = await harness.newClient();
    const recover = harness.injectFault(throttled, writesList(client.tenant));
    expect((await client.post('/tokens', { label: 'l', role: 'admin' })).status).toBe(503);
    recover();
    expect(await listIds(client)).toHaveLength(1);
    expect(await statusWith((await create(client)).token)).toBe(200);
    expect(await listIds(client)).toHaveLength(2);
  });
});

describe('the logs', () => {
  it('contain no token, secret or contact of the account, whatever fails', async () => {
    const client = await harness.newClient();
    const { tenant } = client;
    const contact = 'secret-contact@example.com';
    const webhookToken = 'secret-webhook-token';
    const rejectedToken = 'secret rejected token';
    const label = 'secret-label';
    const exercise = async () => {
      const { body } = await client.post('/tokens', { label, role: 'admin' });
      const { id = 'unknown', token = '' } = created.partial().parse(body);
      const { text } = await client.put('/account', { webhook_token: rejectedToken });
      expect(text).not.toContain(rejectedToken);
      await client.put('/account', { technical_contacts: [contact], webhook_token: webhookToken });
      await client.post('/account/rotate-signing-secret');
      await client.get('/account');
      await client.get('/tokens');
      await client.delete(`/tokens/${id}`);
      await client.delete(`/tokens/${client.token}`);
      return token;
    };
    const tokens = [await exercise()];
    const faults = ['TransactWriteItems', 'GetItem'].map(
      (action) => (call: AwsCall) =>
        call.service === 'dynamodb' && call.action === action && call.body.includes(tenant),
    );
    for (const matches of faults) {
      const recover = harness.injectFault({ status: 500, type: 'InternalServerError', message: contact }, matches);
      await exercise();
      recover();
    }
    tokens.push(await exercise());

    const accounts = createAccountRepository(harness.documents, harness.table('Accounts'));
    const { secrets, retired } = await accounts.describe(tenant);
    const values = [...secrets, ...retired.map(({ secret }) => secret)];
    expect(values.length).toBe(2);
    const logs = harness.lines.join('\n');
    expect(logs).toContain('request failed');
    const confidential = [
      client.token,
      ...tokens,
      ...values,
      ...values.map((secret) => secret.slice('whsec_'.length)),
      'whsec_',
      'mnt_',
      contact,
      webhookToken,
      rejectedToken,
      label,
    ];
    for (const value of confidential) {
      expect(value).not.toBe('');
      expect(logs.includes(value), value).toBe(false);
    }
  });
});
