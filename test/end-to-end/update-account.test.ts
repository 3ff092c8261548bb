import { describe, expect, it } from 'vitest';
import { type Client, newClient, webhook } from './support/api.ts';

const read = async (client: Client) => (await client.get('/account')).body;

describe('updating the account', () => {
  it('changes the given fields and keeps the others', async () => {
    const client = await newClient();
    const contacts = { technical_contacts: ['a@example.com', 'b@example.com'] };
    const response = await client.put('/account', contacts);
    expect([response.status, response.text]).toEqual([204, '']);
    expect(await read(client)).toMatchObject(contacts);
    const token = { webhook_token: '!-token-of-64~'.padEnd(64, 'x') };
    expect((await client.put('/account', token)).status).toBe(204);
    expect(await read(client)).toMatchObject({ ...contacts, ...token });
    await client.put('/account', { technical_contacts: ['c@example.com'], webhook_token: '0123456789' });
    expect(await read(client)).toMatchObject({ technical_contacts: ['c@example.com'], webhook_token: '0123456789' });
  });

  it('sets and removes the fallback notifications, which are returned only if there are some', async () => {
    const client = await newClient();
    const ids = [await client.create(webhook), 'ntTechnicalContactsEmail'];
    expect(await read(client)).not.toHaveProperty('escalation_notifications');
    expect((await client.put('/account', { escalation_notifications: ids })).status).toBe(204);
    expect(await read(client)).toMatchObject({ escalation_notifications: ids });
    expect((await client.put('/account', { escalation_notifications: [] })).status).toBe(204);
    expect(await read(client)).not.toHaveProperty('escalation_notifications');
  });

  it('returns 400 with the IDs of fallback notifications that the account does not have, and changes nothing', async () => {
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
    expect(await read(client)).toMatchObject({ technical_contacts: [] });
  });

  it('accepts what GET returns, and names misspelled attributes', async () => {
    const client = await newClient();
    await client.put('/account', {
      escalation_notifications: [await client.create(webhook)],
      summaries: { sms_after: 2 },
    });
    const account = await read(client);
    expect((await client.put('/account', account)).status).toBe(204);
    expect(await read(client)).toEqual(account);
    expect((await client.put('/account', { technicalContacts: ['a@example.com'] })).body).toMatchObject({
      code: 400,
      details: 'technicalContacts: is an unknown attribute (did you mean technical_contacts?)',
    });
  });

  it('sets and removes the settings of summaries, which are returned only if they are set', async () => {
    const client = await newClient();
    expect(await read(client)).not.toHaveProperty('summaries');
    expect((await client.put('/account', { summaries: { email_after: 5 } })).status).toBe(204);
    expect(await read(client)).toMatchObject({ summaries: { email_after: 5, sms_after: 3, window_minutes: 5 } });
    expect((await client.put('/account', { summaries: {} })).status).toBe(204);
    expect(await read(client)).not.toHaveProperty('summaries');
  });

  it('sets the time zone of emails, which is UTC by default, and leaves an audit entry', async () => {
    const client = await newClient();
    expect(await read(client)).toMatchObject({ time_zone: 'UTC' });
    expect((await client.put('/account', { time_zone: 'UTC' })).status).toBe(204);
    expect((await client.put('/account', { time_zone: 'Europe/Berlin' })).status).toBe(204);
    expect(await read(client)).toMatchObject({ time_zone: 'Europe/Berlin' });
    const rejected = await client.put('/account', { time_zone: 'Berlin' });
    expect([rejected.status, rejected.body]).toMatchObject([400, { details: expect.stringMatching(/^time_zone: /) }]);
    expect((await client.put('/account', { time_zone: 'UTC' })).status).toBe(204);
    expect(await read(client)).toMatchObject({ time_zone: 'UTC' });
    const { text } = await client.get('/audits');
    expect(text.match(/"changed":\["time_zone"\]/g)).toHaveLength(2);
  });
});
