import { describe, expect, it } from 'vitest';
import { alarmStates } from '../../shared/contracts/alarm-event.ts';
import { notificationTypeIds } from '../../shared/contracts/notification-types.ts';
import { destinationsAt } from '../support/notifications.ts';
import { openSink, payload } from '../support/test-sink.ts';
import { useStarted } from '../support/use-started.ts';
import { isLocal, newClient, newTenant, webhook } from './support/api.ts';
import { inbox } from './support/pipeline.ts';

describe.runIf(isLocal)('testing a notification', () => {
  const client = useStarted(() => newClient('creator'));

  it('sends a test message to a webhook that is not stored, and returns success', async () => {
    const sink = await openSink();
    const response = await client.post('/test-notification', { type: 'webhook', details: { url: `${sink.url}/hook` } });
    expect(response.status).toBe(200);
    expect(response.body).toEqual({ status: 'success', message: 'Success: Webhook successfully executed' });
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

  it('tests a stored notification, ignoring the request body', async () => {
    const sink = await openSink();
    const id = await client.create({ ...webhook, details: { url: sink.url } });
    for (const body of [undefined, '""', 'not json', '{}']) {
      const response = await client.post(`/notifications/${id}/test`, body);
      expect(response.body).toEqual({ status: 'success', message: 'Success: Webhook successfully executed' });
    }
    expect(sink.received).toHaveLength(4);
  });

  it('sends the headers and the body of a webhook request, stored or not', async () => {
    const sink = await openSink();
    const webhook_request = {
      headers: { authorization: 'Bearer 1' },
      body: { state: '{{alert.state}}', digits: '\u0031', n: 0 },
    };
    const body = JSON.stringify({ ...webhook, details: { url: sink.url }, webhook_request }).replace(
      '"n":0',
      '"n":12345678901234567890',
    );
    const id = await client.create(body);
    const responses = [await client.post('/test-notification', body), await client.post(`/notifications/${id}/test`)];
    const shown = {
      method: 'POST',
      url: `${sink.url}/`,
      headers: [
        'authorization',
        'content-type',
        'user-agent',
        'x-monitoring-webhook-token',
        'webhook-id',
        'webhook-timestamp',
      ],
      body: '{"state":"OK","digits":"1","n":12345678901234567890}',
    };
    expect(responses.map(({ status, body: result }) => [status, result])).toEqual(
      Array(2).fill([200, { status: 'success', message: 'Success: Webhook successfully executed', request: shown }]),
    );
    expect(sink.received.map(({ headers, body: received }) => [headers.authorization, received])).toEqual(
      Array(2).fill(['Bearer 1', '{"state":"OK","digits":"1","n":12345678901234567890}']),
    );
    const read = await client.get(`/notifications/${id}`);
    expect(read.text).toContain('"webhook_request":{"headers":{"authorization":"***"},"body":{"state":');
    expect(read.text).toContain('"n":12345678901234567890}');
    const restored = await client.put(`/notifications/${id}`, read.text);
    expect(restored.status).toBe(204);
    await client.post(`/notifications/${id}/test`);
    expect(sink.received[2]?.body).toBe(sink.received[0]?.body);
  });

  it.each(alarmStates)('sends a test message of the state %s, stored or not', async (state) => {
    const sink = await openSink();
    const body = { ...webhook, details: { url: sink.url } };
    const id = await client.create(body);
    await client.post(`/test-notification?state=${state}`, body);
    await client.post(`/notifications/${id}/test?state=${state}`);
    expect(sink.received.map(({ body: received }) => payload.parse(JSON.parse(received)).event_id)).toEqual(
      Array(2).fill(expect.stringMatching(`:${state}$`)),
    );
  });

  it.each(['critical', 'OK&state=OK'])('refuses the state %o', async (state) => {
    const id = await client.create(webhook);
    for (const path of ['/test-notification', `/notifications/${id}/test`]) {
      const { body } = await client.post(`${path}?state=${state}`, webhook);
      expect(body).toMatchObject({ code: 400, details: 'state: must be one of OK, WARNING, CRITICAL' });
    }
  });

  it('returns 200 with the reason when a webhook fails', async () => {
    const sink = await openSink((response) => response.writeHead(404).end('no\nhook'));
    const notFound = await client.post('/test-notification', { type: 'webhook', details: { url: sink.url } });
    expect([notFound.status, notFound.body]).toEqual([
      200,
      {
        status: 'failure',
        message: 'Unexpected status code "404". Expected one of: /2[0-9]{2}/',
        response_text: 'no hook',
      },
    ]);
  });

  it.each(notificationTypeIds.filter((type) => type !== 'technicalContactsEmail'))(
    'tests a notification of type %s',
    async (type) => {
      const sink = await openSink();
      const before = (await inbox()).length;
      const details = destinationsAt(sink.url)[type];
      const response = await client.post('/test-notification', { type, details });
      expect(response.body).toMatchObject({ status: 'success', message: expect.stringMatching(/^Success: /) });
      expect((await inbox()).length + sink.received.length).toBeGreaterThan(before);
    },
  );

  it('tests the default notification by email to the technical contacts, and fails without contacts', async () => {
    expect((await client.post('/notifications/ntTechnicalContactsEmail/test')).body).toEqual({
      status: 'failure',
      message: 'The account has no technical contacts',
    });
    const contact = `${newTenant()}@example.com`.toLowerCase();
    await (await newClient('admin', client.tenant)).put('/account', { technical_contacts: [contact] });
    expect((await client.post('/notifications/ntTechnicalContactsEmail/test')).body).toMatchObject({
      status: 'success',
    });
    const email = (await inbox()).find((message) => message.kind === 'email' && message.to.includes(contact));
    expect(email).toMatchObject({
      text: expect.stringContaining('from "Email All Technical Contacts" of the account'),
    });
  });
});

it('an invalid test request is rejected with 400 for an invalid notification, and with 404 for an unknown one', async () => {
  const client = await newClient('creator');
  const invalid = await client.post('/test-notification', { type: 'webhook', details: { url: 'nowhere' } });
  expect([invalid.status, invalid.text]).toEqual([400, expect.stringContaining('details.url: ')]);
  expect((await client.post('/test-notification', { details: {} })).status).toBe(400);
  expect((await client.post('/notifications/nt01ARZ3NDEKTSV4RRFFQ69G5FAV/test')).status).toBe(404);
  const otherTenants = await (await newClient()).create(webhook);
  expect((await client.post(`/notifications/${otherTenants}/test`)).status).toBe(404);
  // The operators' notification exists for deliveries only.
  expect((await client.post('/notifications/ntOperators/test')).status).toBe(404);
});
