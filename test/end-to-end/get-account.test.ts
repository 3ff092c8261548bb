import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { newClient } from './support/api.ts';

const account = z.looseObject({
  id: z.string(),
  webhook_token: z.string(),
  usage: z.looseObject({ day_ends_at: z.number() }),
});

describe('reading the account', () => {
  it('shows a new account with its limits and an empty usage', async () => {
    const client = await newClient();
    const requestedAtMs = Date.now();
    const { status, body } = await client.get('/account');
    expect(status).toBe(200);
    const { usage, ...shown } = account.parse(body);
    expect(shown).toMatchObject({
      id: client.tenant,
      technical_contacts: [],
      webhook_token: expect.stringMatching(/^[\w-]{10,64}$/),
      webhook_signing_secrets: [expect.stringMatching(/^whsec_[\w+/]{43}=$/)],
      limits: { tokens: 100 },
    });
    expect(usage).toMatchObject({ notifications: 0, tests_per_day: 0, redeliveries_per_day: 0, tokens: 1 });
    expect(usage.day_ends_at % 86_400_000).toBe(0);
    expect(usage.day_ends_at).toBeGreaterThan(requestedAtMs);
    expect(usage.day_ends_at).toBeLessThanOrEqual(Date.now() + 86_400_000);
  });

  it('shows each tenant only its own account', async () => {
    const [first, second] = [await newClient(), await newClient()];
    await first.put('/account', { technical_contacts: ['first@example.com'] });
    const { text } = await second.get('/account');
    expect(text).not.toContain('first@example.com');
    expect(account.parse(JSON.parse(text)).id).toBe(second.tenant);
    expect(account.parse((await first.get('/account')).body).webhook_token).not.toBe(
      account.parse(JSON.parse(text)).webhook_token,
    );
  });
});
