import { describe, expect, it } from 'vitest';
import { type Client, newClient, webhook } from './support/api.ts';

const read = async (client: Client) => (await client.get('/account')).body;

describe('the account', () => {
  it('has the attributes of updates, which keep the others, and only for its tenant', async () => {
    const [client, other] = [await newClient(), await newClient()];
    const updates = [
      { technical_contacts: ['a@example.com', 'b@example.com'] },
      { webhook_token: '!-token-of-64~'.padEnd(64, 'x') },
      { escalation_notifications: [await client.create(webhook), 'ntTechnicalContactsEmail'] },
      { summaries: { email_after: 5, sms_after: 3, window_minutes: 5 } },
      { time_zone: 'Europe/Berlin' },
    ];
    for (const update of updates) {
      const { status, text } = await client.put('/account', update);
      expect([status, text]).toEqual([204, '']);
    }
    const updated = await read(client);
    expect(updated).toMatchObject(Object.assign({}, ...updates));
    expect(await read(other)).toMatchObject({ id: other.tenant, technical_contacts: [], time_zone: 'UTC' });

    // A client may send what it read.
    expect((await client.put('/account', updated)).status).toBe(204);
    expect(await read(client)).toEqual(updated);

    expect((await client.put('/account', { escalation_notifications: [], summaries: {} })).status).toBe(204);
    for (const removed of ['escalation_notifications', 'summaries'])
      expect(await read(client)).not.toHaveProperty(removed);
  });

  it('is unchanged by an update with unknown fallback notifications or attributes, which are named', async () => {
    const client = await newClient();
    const deleted = await client.create(webhook);
    await client.delete(`/notifications/${deleted}`);
    const [own, foreign] = [await client.create(webhook), await (await newClient()).create(webhook)];
    for (const unknown of [[deleted, foreign], ['ntOperators'], ['phone']]) {
      const changes = { technical_contacts: ['a@example.com'], escalation_notifications: [own, ...unknown] };
      expect((await client.put('/account', changes)).body).toMatchObject({
        code: 400,
        details: `escalation_notifications: must be IDs of your notifications; unknown: ${unknown.join(', ')}`,
      });
    }
    expect((await client.put('/account', { technicalContacts: ['a@example.com'] })).body).toMatchObject({
      code: 400,
      details: 'technicalContacts: is an unknown attribute (did you mean technical_contacts?)',
    });
    expect(await read(client)).toMatchObject({ technical_contacts: [] });
  });
});
