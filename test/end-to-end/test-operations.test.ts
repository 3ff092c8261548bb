import { beforeAll, describe, expect, it } from 'vitest';
import { createAccountRepository } from '../../shared/adapters/accounts/account-repository.ts';
import { openSink, payload } from '../support/test-sink.ts';
import { type Client, documents, isLocal, newClient, newTenant, table, webhook } from './support/api.ts';
import { inbox } from './support/pipeline.ts';

describe.runIf(isLocal)('testing a notification', () => {
  let client: Client;
  beforeAll(async () => {
    client = await newClient('creator');
  });

  it('sends a test message to a webhook before it is created, and says that it arrived', async () => {
    const sink = await openSink();
    const answer = await client.post('/test-notification', { type: 'webhook', details: { url: `${sink.url}/hook` } });
    expect(answer.status).toBe(200);
    expect(answer.body).toEqual({ status: 'success', message: 'Success: Webhook successfully executed' });
    const [received] = sink.received;
    expect(received?.path).toBe('/hook');
    expect(received?.headers['x-monitoring-webhook-token']).toMatch(/^[\w-]{10,64}$/);
    const body: unknown = JSON.parse(received?.body ?? '');
    expect(Object.keys(Object(body))).toEqual([
      'event_id',
      'log_entry_id',
      'details',
      'entity',
      'check',
      'alarm',
      'tenant_id',
    ]);
    expect(payload.parse(body).event_id).toContain(client.tenant);
    expect((await client.get('/notifications')).body).toMatchObject({ metadata: { count: 1 } });
  });

  it('tests an existing notification, whatever body comes with the request', async () => {
    const sink = await openSink();
    const id = await client.create({ ...webhook, details: { url: sink.url } });
    for (const body of [undefined, '""', 'not json', '{}']) {
      const answer = await client.post(`/notifications/${id}/test`, body);
      expect(answer.body).toEqual({ status: 'success', message: 'Success: Webhook successfully executed' });
    }
    expect(sink.received).toHaveLength(4);
  });

  it('says why a webhook failed, and that is still a 200', async () => {
    const sink = await openSink((response) => response.writeHead(404).end('secret answer'));
    const refused = await client.post('/test-notification', { type: 'webhook', details: { url: sink.url } });
    expect([refused.status, refused.body]).toEqual([
      200,
      { status: 'failure', message: 'Unexpected status code "404". Expected one of: /2[0-9]{2}/' },
    ]);
    const closed = await client.post('/test-notification', {
      type: 'webhook',
      details: { url: 'http://127.0.0.1:1/' },
    });
    expect(closed.body).toEqual({ status: 'failure', message: expect.stringMatching(/^ECONNREFUSED /) });
    const literal = await client.post('/test-notification', {
      type: 'webhook',
      details: { url: 'http://169.254.169.254/latest' },
    });
    expect(literal.body).toEqual({ status: 'failure', message: expect.stringMatching(/^EGRESS_REFUSED /) });
  });

  it('does not follow a redirect', async () => {
    const target = await openSink();
    const sink = await openSink((response) => response.writeHead(302, { location: target.url }).end());
    const answer = await client.post('/test-notification', { type: 'webhook', details: { url: sink.url } });
    expect(answer.body).toMatchObject({ status: 'failure', message: expect.stringContaining('"302"') });
    expect(target.received).toHaveLength(0);
  });

  it.each([
    ['email', { address: 'someone@example.com' }],
    ['sms', { phone_number: '+4915112345678' }],
    ['incidentpager', { service_key: 'abc123' }],
    ['incidentrouter', { api_key: '7b9c1d1e-3f5a-4c2b-8d6e-0a1b2c3d4e5f', routing_key: 'team' }],
    ['atomfeed', { category: 'tests' }],
    ['managed', undefined],
  ])('tests a notification of type %s by its own sender', async (type, details) => {
    const before = (await inbox()).length;
    const answer = await client.post('/test-notification', { type, details });
    expect(answer.body).toMatchObject({ status: 'success', message: expect.stringMatching(/^Success: /) });
    expect((await inbox()).length).toBeGreaterThan(before);
  });

  it('tests the default notification: by mail to the technical contacts, and a failure where there are none', async () => {
    expect((await client.post('/notifications/ntTechnicalContactsEmail/test')).body).toEqual({
      status: 'failure',
      message: 'The account has no technical contacts',
    });
    const contact = `${newTenant()}@example.com`.toLowerCase();
    await createAccountRepository(documents, table('Accounts')).setTechnicalContacts(client.tenant, [contact]);
    expect((await client.post('/notifications/ntTechnicalContactsEmail/test')).body).toMatchObject({
      status: 'success',
    });
    expect((await inbox()).some((one) => one.kind === 'email' && one.to.includes(contact))).toBe(true);
  });
});

describe('testing what cannot be tested', () => {
  it('answers 400 for what could not be created, and 404 for an unknown notification', async () => {
    const client = await newClient('creator');
    const invalid = await client.post('/test-notification', { type: 'webhook', details: { url: 'nowhere' } });
    expect([invalid.status, invalid.text]).toEqual([400, expect.stringContaining('details.url: ')]);
    expect((await client.post('/test-notification', { details: {} })).status).toBe(400);
    expect((await client.post('/notifications/nt01ARZ3NDEKTSV4RRFFQ69G5FAV/test')).status).toBe(404);
    const foreign = await (await newClient()).create(webhook);
    expect((await client.post(`/notifications/${foreign}/test`)).status).toBe(404);
  });
});
