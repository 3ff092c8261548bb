import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { type Client, newClient } from './support/api.ts';

const account = z.object({ webhook_signing_secrets: z.array(z.string()) });
const rotation = z.strictObject({ webhook_signing_secret: z.string() });

const secretsOf = async (client: Client) => account.parse((await client.get('/account')).body).webhook_signing_secrets;

const rotate = async (client: Client): Promise<string> => {
  const { status, body } = await client.post('/account/rotate-signing-secret');
  expect(status).toBe(200);
  return rotation.parse(body).webhook_signing_secret;
};

describe('rotating the signing secret', () => {
  it('returns a new secret, which signs together with the replaced one', async () => {
    const client = await newClient();
    const [first] = await secretsOf(client);
    const second = await rotate(client);
    expect(second).toMatch(/^whsec_[\w+/]{43}=$/);
    expect(await secretsOf(client)).toEqual([second, first]);
    const third = await rotate(client);
    expect(await secretsOf(client)).toEqual([third, second]);
  });

  it('creates the first secret of an account', async () => {
    const client = await newClient();
    const secret = await rotate(client);
    expect(await secretsOf(client)).toEqual([secret]);
  });

  it('ignores a body', async () => {
    const client = await newClient();
    expect((await client.post('/account/rotate-signing-secret', '{not json')).status).toBe(200);
  });

  it('succeeds while the account is updated', async () => {
    const client = await newClient();
    const [first] = await secretsOf(client);
    const contacts = { technical_contacts: ['a@example.com'] };
    const [secret, update] = await Promise.all([rotate(client), client.put('/account', contacts)]);
    expect(update.status).toBe(204);
    expect((await client.get('/account')).body).toMatchObject({
      ...contacts,
      webhook_signing_secrets: [secret, first],
    });
  });

  it('never lets the first secret stop signing because of two rotations at the same time that both succeed', async () => {
    const client = await newClient();
    const [first = ''] = await secretsOf(client);
    const responses = await Promise.all(Array.from({ length: 2 }, () => client.post('/account/rotate-signing-secret')));
    const secrets = await secretsOf(client);
    const succeeded = responses.filter(({ status }) => status === 200);
    expect(responses.every(({ status }) => status === 200 || status === 503)).toBe(true);
    // Rotations that overlap conflict. If the machine runs them one after the other, both succeed.
    if (succeeded.length === 1) expect(secrets).toContain(first);
    for (const { body } of succeeded) expect(secrets).toContain(rotation.parse(body).webhook_signing_secret);
  });

  it('is refused to creators and observers, and changes only the account of the caller', async () => {
    const admin = await newClient();
    const before = await secretsOf(admin);
    for (const role of ['creator', 'observer'] as const) {
      const client = await newClient(role, admin.tenant);
      expect((await client.post('/account/rotate-signing-secret')).status).toBe(403);
    }
    await rotate(await newClient());
    expect(await secretsOf(admin)).toEqual(before);
  });
});
