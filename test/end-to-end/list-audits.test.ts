import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import type { AuditedEndpoint } from '../../shared/contracts/audit.ts';
import { endpointNames, endpoints } from '../../shared/contracts/endpoints.ts';
import { newAlarmEvent } from '../support/events.ts';
import { openSink } from '../support/test-sink.ts';
import { until } from '../support/until.ts';
import { type Client, isLocal, newClient, webhook } from './support/api.ts';
import { collectionsOf } from './support/collections.ts';
import { deliveries, sendEvents } from './support/pipeline.ts';

const { follow } = collectionsOf(
  z.looseObject({
    id: z.string(),
    timestamp: z.number(),
    actor: z.looseObject({ type: z.string() }),
    action: z.string(),
    target_id: z.string().nullable(),
    changed: z.array(z.string()),
  }),
);

const MARKER = 'marker-of-a-value';
const attributes = { ...webhook, label: MARKER, metadata: { [MARKER]: MARKER } };

const audits = async (client: Client) =>
  (await follow(client, '/audits')).filter(({ actor }) => actor.type === 'token');

const changes = async (client: Client) =>
  (await audits(client)).map(({ action, target_id, changed }) => [action, target_id, changed]);

describe.runIf(isLocal)('the audit', () => {
  it('has one entry for every operation that is not a read, without a value', async () => {
    const client = await newClient();
    const sink = await openSink((response) => response.writeHead(410).end());
    const id = await client.create({ ...attributes, details: { url: `${sink.url}/${MARKER}` } });
    const event = newAlarmEvent(client.tenant, [id]);
    await sendEvents([event]);
    await until(
      async () => (await deliveries(client.tenant, id)).some(({ status }) => status === 'failed') || undefined,
    );
    await client.put(`/notifications/${id}`, { ...attributes, label: `${MARKER} 2`, details: { url: sink.url } });
    await client.post(`/notifications/${id}/signing-secret`);
    await client.delete(`/notifications/${id}/signing-secret`);
    await client.post(`/notifications/${id}/test`);
    await client.post('/test-notification', { type: 'webhook', details: { url: sink.url } });
    await client.post(`/notifications/${id}/redeliver`, { event_id: event.event_id });
    await client.delete(`/notifications/${id}`);
    await client.put('/account', { technical_contacts: [`${MARKER}@example.com`], webhook_token: MARKER });
    await client.post('/account/rotate-signing-secret');
    const { body } = await client.post('/tokens', { label: MARKER, role: 'observer' });
    const tokenId = String(Object(body).id);
    await client.delete(`/tokens/${tokenId}`);

    const expected: Record<AuditedEndpoint, [string | null, string[]]> = {
      'create-notification': [id, ['label', 'type', 'details', 'metadata']],
      'update-notification': [id, ['label', 'details']],
      'create-signing-secret': [id, ['signing_secret']],
      'delete-signing-secret': [id, ['signing_secret']],
      'test-notification': [id, []],
      'test-new-notification': [null, []],
      redeliver: [id, []],
      'delete-notification': [id, []],
      'update-account': [client.tenant, ['technical_contacts', 'webhook_token']],
      'rotate-signing-secret': [client.tenant, ['webhook_signing_secrets']],
      'create-token': [tokenId, ['label', 'role', 'expires_at']],
      'revoke-token': [tokenId, []],
    };
    expect(Object.keys(expected).toSorted()).toEqual(
      endpointNames.filter((name) => endpoints[name].method !== 'GET').toSorted(),
    );
    expect(await changes(client)).toEqual(
      Object.entries(expected).map(([action, [target, changed]]) => [action, target, changed]),
    );
    expect((await client.get('/audits')).text).not.toContain(MARKER);
  });
});

describe('the audit', () => {
  it('names the token, the request, and the query parameters _who and _why', async () => {
    const client = await newClient();
    const { headers } = await client.post('/notifications?_who=jane&_why=New%20rota%0a', webhook);
    const [token] = await collectionsOf(z.looseObject({ id: z.string() })).follow(client, '/tokens');
    expect(await audits(client)).toMatchObject([
      {
        id: expect.stringMatching(/^au/),
        target_id: headers.get('location')?.split('/').at(-1),
        actor: { type: 'token', id: token?.id, label: 'test' },
        request_id: expect.stringMatching(/./),
        ip_address: expect.stringMatching(/^[\d.:a-f]+$/),
        who: 'jane',
        why: 'New rota\ufffd',
      },
    ]);
  });

  it('has no entry for requests that are refused, and for updates that change nothing', async () => {
    const client = await newClient();
    const observer = await newClient('observer', client.tenant);
    const id = await client.create(webhook);
    const before = await audits(client);
    const statuses = [
      await client.post('/notifications', { ...webhook, label: '' }),
      await client.put(`/notifications/${id}`, { type: 'sms' }),
      await client.put('/notifications/ntTechnicalContactsEmail', { label: 'x' }),
      await client.delete('/notifications/nt01M7W08F9Z4XGJJRVYEZQFE9R1'),
      await client.post('/notifications/nt01M7W08F9Z4XGJJRVYEZQFE9R1/test'),
      await client.post(`/notifications/${id}/redeliver`, { event_id: 'unknown' }),
      await client.delete('/tokens/tk01M7ZZ2AQ9MC8P6P3KH5Y23K83'),
      await observer.post('/notifications', webhook),
      await client.put(`/notifications/${id}`, {}),
      await client.put(`/notifications/${id}`, webhook),
      await client.put('/account', {}),
      await client.post(`/notifications/${id}/redeliver`, { since: 0 }),
    ].map(({ status }) => status);
    expect(statuses).toEqual([400, 400, 403, 404, 404, 404, 404, 403, 204, 204, 204, 202]);
    expect(await audits(client)).toEqual(before);
  });
});
