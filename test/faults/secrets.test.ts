// The simulation looks for secrets in logs only, and its destinations have few of them.
import { ScanCommand } from '@aws-sdk/lib-dynamodb';
import { expect, it } from 'vitest';
import { createAccountRepository } from '../../shared/adapters/accounts/account-repository.ts';
import { auditIn } from '../support/audit.ts';
import { newAlarmEvent, TRACE_ID, traceFields } from '../support/events.ts';
import { openSink } from '../support/test-sink.ts';
import { useStarted } from '../support/use-started.ts';
import { throttled, useFaultyStack } from './support.ts';

const harness = useFaultyStack();
const client = useStarted(() => harness.newClient());

const email = 'secret-recipient@example.com';
const contact = 'secret-contact@example.com';
const phone = '+12025550199';
const serviceKey = 'SecretServiceKey0123456789abcdef';
const apiKey = '7b9c1d1e-3f5a-4c2b-8d6e-0a1b2c3d4e5f';
const userinfo = 'secretuser:secretpassword';
/** The history of a notice shows it. */
const label = 'private label';

it('logs, delivery records, audit entries and dead-letter attributes contain no recipient, key, token, address or body', async () => {
  const healthySink = await openSink();
  /** Repeats secrets of the request. */
  const goneSink = await openSink((response, { headers, body }) => {
    const { authorization = '', 'x-monitoring-webhook-token': received } = headers;
    const decoded = Buffer.from(authorization.slice('Basic '.length), 'base64').toString();
    const key = /"service_key":"\w+"/.exec(body)?.[0];
    response.writeHead(410).end(`secret answer ${authorization} ${decoded} ${received} ${key}`);
  });
  const webhookTo = (url: string) => ({
    type: 'webhook',
    details: { url: `${url.replace('//', `//${userinfo}@`)}/secret-path?key=secret-query` },
  });
  const accounts = createAccountRepository(harness.documents, harness.table('Accounts'));
  await accounts.update(client.tenant, { technical_contacts: [contact] }, auditIn(harness.table('Audits')));
  const destinations = [
    webhookTo(healthySink.url),
    webhookTo(goneSink.url),
    webhookTo('http://127.0.0.1:1'),
    webhookTo('http://169.254.169.254'),
    { type: 'email', details: { address: email } },
    { type: 'sms', details: { phone_number: phone } },
    { type: 'incidentpager', details: { service_key: serviceKey } },
    { type: 'incidentpager', details: { service_key: serviceKey, service_endpoint: `${goneSink.url}/secret-path` } },
    { type: 'incidentrouter', details: { api_key: apiKey, routing_key: 'secret-routing-key' } },
    { type: 'atomfeed', details: { category: 'secret-category' } },
    { type: 'technicalContactsEmail' },
    { type: 'managed' },
  ];
  const ids = await Promise.all(
    destinations.map((destination) => client.create({ label, ...destination, metadata: { a: 'secret-metadata' } })),
  );
  const tests = await Promise.all(destinations.map((destination) => client.post('/test-notification', destination)));
  expect(tests.every(({ status }) => status === 200)).toBe(true);

  const rejection = { status: 400, type: 'MessageRejected', message: `Address blacklisted: ${email} ${contact}` };
  const optedOut = { status: 400, type: 'OptedOut', message: `${phone} opted out` };
  const acceptEmail = harness.injectFault(rejection, ({ service }) => service === 'ses');
  const acceptSms = harness.injectFault(optedOut, ({ service }) => service === 'sns');
  const details = { state: 'CRITICAL', status: 'secret-status' };
  const event = { ...newAlarmEvent(client.tenant, ids), ...traceFields, details };
  const malformed = { ...event, tenant_id: 'secret- tenant', details: { state: email }, alarm: { id: { apiKey } } };
  await harness.sendEvents([event, `{"secret-invalid-event": "${email}"`, malformed]);
  await harness.deadLetter('email', (body) => body.includes(event.event_id));
  await harness.deadLetter('webhook', (body) => body.includes(event.event_id));
  await harness.deadLetter('sms', (body) => body.includes(event.event_id));
  await harness.deadLetter('AlarmEvents', (body) => body.includes('secret-invalid-event'));
  await harness.deadLetter('AlarmEvents', (body) => body.includes('secret- tenant'));
  await harness.delivery(client.tenant, ids[0] ?? '', 'delivered');
  for (const queue of ['webhook', 'incidentpager', 'incidentrouter', 'atomfeed', 'managed'])
    await harness.drainQueue(`Delivery-${queue}`);
  acceptEmail();
  acceptSms();
  await client.get('/notifications/secret-id?x=secret-query');

  const webhookToken = 'secret-webhook-token';
  const createOnce = (body: unknown) =>
    harness.call('POST', '/notifications', {
      token: client.token,
      body,
      headers: { 'Idempotency-Key': 'secret-idempotency-key' },
    });
  const changeAccount = async () => [
    await client.put('/account', { webhook_token: webhookToken, technical_contacts: [contact] }),
    await client.post('/account/rotate-signing-secret'),
    await client.post('/tokens', { label: 'secret-token-label', role: 'creator' }),
    await client.delete('/tokens/secret-id'),
    await createOnce({ label, ...destinations[1] }),
    await client.post(`/notifications/${ids[1]}/redeliver`, { event_id: event.event_id, marker: 'secret-marker' }),
  ];
  const changed = await changeAccount();
  expect(changed.map(({ status }) => status)).toEqual([204, 200, 201, 404, 201, 400]);
  const issuedToken = String(Object(changed[2]?.body).token);
  const rejected = await client.put('/account', { webhook_token: `${webhookToken} invalid` });
  expect([rejected.status, rejected.text.includes(webhookToken)]).toEqual([400, false]);
  const recover = harness.injectFault(throttled, ({ service }) => service === 'dynamodb');
  const failed = await changeAccount();
  recover();
  expect(failed.map(({ status }) => status)).toEqual([503, 503, 503, 503, 503, 400]);
  expect(failed.some(({ text }) => text.includes('secret-'))).toBe(false);
  expect((await createOnce({ label, ...destinations[0] })).status).toBe(422);
  expect((await client.get('/account')).text).toContain(webhookToken);

  const { token, secrets } = await accounts.webhookCredentials(client.tenant);
  const { Items = [] } = await harness.documents.send(new ScanCommand({ TableName: harness.table('Deliveries') }));
  const { Items: audits = [] } = await harness.documents.send(new ScanCommand({ TableName: harness.table('Audits') }));
  const attributes = [...harness.stack.queues.values()].flatMap(({ messages }) =>
    messages.map((message) => [...message.attributes]),
  );
  const written = {
    logs: harness.lines.join('\n'),
    'delivery records': JSON.stringify(Items),
    'audit entries': JSON.stringify(audits),
    'dead-letter attributes': JSON.stringify(attributes),
  };
  expect(traceFields.tracestate).toContain('secret-');
  for (const text of [written.logs, written['delivery records']]) expect(text).toContain(TRACE_ID);
  const secretsToFind = [
    email,
    contact,
    phone,
    serviceKey,
    apiKey,
    token,
    client.token,
    issuedToken,
    ...secrets,
    ...secrets.map((secret) => secret.slice(6)),
    'secret-',
    'secretuser',
    'secretpassword',
    Buffer.from(userinfo).toString('base64'),
    'Address blacklisted',
    '127.0.0.1:',
  ];
  expect(written.logs.length).toBeGreaterThan(1_000);
  expect(Items.length).toBeGreaterThanOrEqual(ids.length);
  expect(audits.length).toBeGreaterThanOrEqual(ids.length + tests.length);
  for (const [source, text] of Object.entries(written)) {
    for (const secret of secretsToFind) expect(text.includes(secret), `${secret} in the ${source}`).toBe(false);
    // Records have the texts of responses, of which admins and creators see the history.
    for (const shown of ['secret answer', label])
      expect(text.includes(shown), source).toBe(source === 'delivery records');
  }
});
