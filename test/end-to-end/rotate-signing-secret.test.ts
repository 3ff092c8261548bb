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
});
