import { describe, expect, it } from 'vitest';
import { newAlarmEvent } from '../support/events.ts';
import type { InboxMessage } from '../support/pipeline.ts';
import { type Client, call, isLocal, newClient, newTenant } from './support/api.ts';
import { sendEvents, sent } from './support/pipeline.ts';

type Email = Extract<InboxMessage, { kind: 'email' }>;

const isEmailTo =
  (address: string) =>
  (message: InboxMessage): message is Email =>
    message.kind === 'email' && message.to.includes(address);

/** Waits for a number of emails to an address. @returns all of them, newest first */
const emailsTo = async (address: string, count: number): Promise<Email[]> =>
  (await sent(count, isEmailTo(address))).filter(isEmailTo(address));

/** Returns the link in the header of an email, or else the last one in its text. */
const linkIn = ({ headers, text }: Email): string =>
  headers['list-unsubscribe']?.replace(/^<|>$/g, '') ?? text.match(/https?:\S+/g)?.at(-1) ?? '';

const send = (url: string, body: string, headers: Record<string, string> = {}): Promise<Response> =>
  fetch(url, { method: 'POST', headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers }, body });

/** Stops emails as a mail service does when a person clicks its button. */
const stop = (email: Email): Promise<Response> => send(linkIn(email), 'List-Unsubscribe=One-Click');

const historyOf = async (client: Client, id: string): Promise<unknown> =>
  (await client.get(`/notifications/${id}/deliveries`)).body;

const setUp = async (tenant?: string) => {
  const client = await newClient('admin', tenant);
  const address = `${newTenant()}@example.com`;
  const details = { address };
  const id = await client.create({ label: 'On call', type: 'email', details });
  return { client, address, details, id, test: () => client.post(`/notifications/${id}/test`) };
};

describe.runIf(isLocal)('the recipient of emails', () => {
  it('stops those of a tenant with one click', async () => {
    const { client, address, details, id, test } = await setUp();
    expect((await test()).body).toMatchObject({ status: 'success' });
    const [email] = await emailsTo(address, 1);
    if (!email) expect.fail('There is no email.');
    expect(email.headers['list-unsubscribe-post']).toBe('List-Unsubscribe=One-Click');
    expect(email.html).toContain('Stop emails from this account to you');

    // Mail services open links before their recipients do.
    expect(await (await fetch(linkIn(email))).text()).toContain(client.tenant);
    expect((await test()).body).toMatchObject({ status: 'success' });

    expect((await stop(email)).status).toBe(200);
    expect((await stop(email)).status).toBe(200);
    const refused = {
      status: 'failure',
      message: 'Not sent: the recipient has opted out of the emails of the account',
    };
    expect((await test()).body).toMatchObject(refused);
    // Adding the address again, in another notification and in another spelling, does not resume them.
    for (const again of [details, { address: address.toUpperCase() }, { address: address.replace('@', '+1@') }])
      expect((await client.post('/test-notification', { type: 'email', details: again })).body).toMatchObject(refused);

    await sendEvents([newAlarmEvent(client.tenant, [id])]);
    await expect
      .poll(() => historyOf(client, id), { timeout: 60_000 })
      .toMatchObject({ values: [{ status: 'failed', reason: 'opted_out', attempts: [] }] });
    expect(await emailsTo(address, 2)).toHaveLength(2);
    const stopped = { reason: 'opted_out', since: expect.any(Number) };
    const { body: notification } = await client.get(`/notifications/${id}`);
    expect(notification).toMatchObject({ details, stopped });
    expect(JSON.stringify((await client.get('/notifications')).body)).not.toContain('stopped');
    const strict = { prefer: 'handling=strict' };
    const request = { token: client.token, body: notification, headers: strict };
    expect((await call('PUT', `/notifications/${id}`, request)).status).toBe(204);
    expect((await client.get('/audits?reverse=true')).body).toMatchObject({
      values: expect.arrayContaining([
        expect.objectContaining({
          action: 'opt-out',
          actor: { type: 'recipient', id: null, label: null },
          ip_address: null,
        }),
      ]),
    });
  });
});
