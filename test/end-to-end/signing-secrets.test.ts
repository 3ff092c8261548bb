import { Webhook } from 'standardwebhooks';
import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { openSink } from '../support/test-sink.ts';
import { newClient } from './support/api.ts';

const secret = z.string().regex(/^whsec_[\w+/]{43}=$/);

describe('a signing secret of a webhook', () => {
  it('signs its tests beside the account, is shown once, survives an update, and is deleted', async () => {
    const client = await newClient();
    const sink = await openSink();
    const id = await client.create({ label: 'l', type: 'webhook', details: { url: sink.url } });
    const path = `/notifications/${id}/signing-secret`;
    const { status, body } = await client.post(path);
    expect(status).toBe(200);
    const own = z.strictObject({ secret }).parse(body).secret;
    expect((await client.get(`/notifications/${id}`)).text).not.toContain('secret');
    await client.put(`/notifications/${id}`, { label: 'm' });
    await client.post(`/notifications/${id}/test`);
    const [received] = sink.received;
    const headers = Object.fromEntries(
      Object.entries(received?.headers ?? {}).map(([name, value]) => [name, String(value)]),
    );
    expect(() => new Webhook(own).verify(received?.body ?? '', headers)).not.toThrow();
    expect(headers['webhook-signature']?.split(' ')).toHaveLength(2);
    expect(headers).toHaveProperty('x-monitoring-webhook-token');
    const other = await newClient();
    const responses = [await client.delete(path), await client.delete(path), await other.delete(path)];
    expect(responses.map((response) => response.status)).toEqual([204, 204, 404]);
  });

  it('is refused for other types, the default notification, and notifications of other tenants', async () => {
    const [client, other] = [await newClient(), await newClient()];
    const email = await client.create({ label: 'l', type: 'email', details: { address: 'a@example.com' } });
    const webhook = await other.create({ label: 'l', type: 'webhook', details: { url: 'https://example.com/' } });
    const statusOf = async (id: string) => (await client.post(`/notifications/${id}/signing-secret`)).status;
    expect([await statusOf(email), await statusOf('ntTechnicalContactsEmail'), await statusOf(webhook)]).toEqual([
      400, 403, 404,
    ]);
  });
});
