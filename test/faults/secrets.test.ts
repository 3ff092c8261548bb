// The simulation looks for secrets in logs only, and its destinations have few of them, and no headers of their own.

import { ScanCommand } from '@aws-sdk/lib-dynamodb';
import { expect, it } from 'vitest';
import * as z from 'zod';
import { localDeployment, outputNames } from '../../bin/ops/deployment.ts';
import { openSession } from '../../bin/ops/session.ts';
import { exportTenant } from '../../bin/ops/tenant/export.ts';
import { createAccountAdministration } from '../../shared/adapters/accounts/account-administration.ts';
import { createAccountRepository } from '../../shared/adapters/accounts/account-repository.ts';
import type { ReceivedResponse } from '../support/api.ts';
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
/** The record of a failed alert has it, for its escalation. */
const statusText = 'private status';
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
  const administration = createAccountAdministration(harness.documents, harness.table('Accounts'));
  await administration.update(client.tenant, { technical_contacts: [contact] }, auditIn(harness.table('Audits')));
  const destinations = [
    webhookTo(healthySink.url),
    webhookTo(goneSink.url),
    webhookTo('http://127.0.0.1:1'),
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
  const tested = [...destinations, webhookTo('http://169.254.169.254')];
  const tests = await Promise.all(tested.map((destination) => client.post('/test-notification', destination)));
  expect(tests.every(({ status }) => status === 200)).toBe(true);

  const rejection = { status: 400, type: 'MessageRejected', message: `Address blacklisted: ${email} ${contact}` };
  const optedOut = { status: 400, type: 'OptedOut', message: `${phone} opted out` };
  const acceptEmail = harness.injectFault(rejection, ({ service }) => service === 'ses');
  const acceptSms = harness.injectFault(optedOut, ({ service }) => service === 'sns');
  const details = { state: 'CRITICAL', status: statusText };
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
    'secret answer',
    'Address blacklisted',
    '127.0.0.1:',
  ];
  expect(written.logs.length).toBeGreaterThan(1_000);
  expect(Items.length).toBeGreaterThanOrEqual(ids.length);
  expect(audits.length).toBeGreaterThanOrEqual(ids.length + tests.length);
  for (const [source, text] of Object.entries(written)) {
    for (const secret of secretsToFind) expect(text.includes(secret), `${secret} in the ${source}`).toBe(false);
    // Records say that the response repeated secrets. Admins and creators see the history.
    for (const shown of ['(not shown: it contains a secret)', label, statusText])
      expect(text.includes(shown), source).toBe(source === 'delivery records');
  }
});

const MARKER = 'marker-5f1d0c';
const headers = { Authorization: `Bearer ${MARKER}`, 'X-Key': MARKER };

const exportedText = async (withSecrets: boolean): Promise<string> => {
  const { ready, plan } = harness.stack;
  const outputs = Object.fromEntries(outputNames.map((name) => [name, plan.output(name)]));
  const address = { port: Number(new URL(ready.base_url).port), endpoint: ready.aws_endpoint, outputs };
  const session = openSession(localDeployment(address), true);
  const lines: unknown[] = [];
  await exportTenant(session, client.tenant, {
    withSecrets,
    nowMs: 0,
    write: async (line) => void lines.push(line),
  });
  return JSON.stringify(lines);
};

it('the value of a header is only in the requests to the receiver', async () => {
  /** Returns all that it received. */
  const echo = await openSink((response, request) =>
    response.writeHead(410, { 'x-echo': MARKER }).end(JSON.stringify(request)),
  );
  const inboxUrl = `${harness.stack.ready.inbox_url}/webhooks/${client.tenant}`;
  const texts: string[] = [];
  const answered = async (pending: Promise<ReceivedResponse>): Promise<ReceivedResponse> => {
    const response = await pending;
    texts.push(response.text, JSON.stringify([...response.headers]));
    return response;
  };
  const webhookTo = (url: string, body: unknown = '{{alert.text}}') => ({
    label: 'Echo',
    type: 'webhook',
    details: { url },
    webhook_request: { headers, body },
  });
  const destinations = [
    webhookTo(echo.url),
    webhookTo(inboxUrl),
    webhookTo('http://127.0.0.1:1'),
    webhookTo(`${echo.url}/large`, '{{details}}'.repeat(1_000)),
  ];
  const created = await Promise.all(destinations.map((each) => answered(client.post('/notifications', each))));
  const ids = created.map((response) => response.headers.get('location')?.split('/').at(-1) ?? '');
  const [id] = ids;
  for (const each of destinations) await answered(client.post('/test-notification', each));
  expect(texts.join()).toContain('"response_text":');
  const masked = await answered(client.get(`/notifications/${id}`));
  expect(masked.body).toMatchObject({ webhook_request: { headers: { Authorization: '***', 'X-Key': '***' } } });

  const event = newAlarmEvent(client.tenant, ids, { log_entry_id: 'l'.repeat(3_000) });
  await harness.sendEvents([event]);
  await harness.drainQueue('Delivery-webhook');
  await harness.deadLetter('webhook', (body) => body.includes(event.event_id));
  const invalid = { headers: { 'X-Key': `${MARKER}\n` } };
  const changes = [{ webhook_request: invalid }, { details: { url: 'https://other.example' } }, masked.body];
  const statuses = [];
  for (const change of changes) statuses.push((await answered(client.put(`/notifications/${id}`, change))).status);
  expect(statuses).toEqual([400, 400, 204]);
  expect(
    (await answered(client.post('/notifications', { ...webhookTo(echo.url), webhook_request: invalid }))).status,
  ).toBe(400);
  for (const path of [
    '/notifications',
    `/notifications?id=${id}`,
    '/account',
    '/audits',
    '/failures',
    ...ids.map((each) => `/notifications/${each}/deliveries`),
  ])
    await answered(client.get(path));
  await answered(client.post(`/notifications/${id}/test`));
  await answered(client.post(`/notifications/${id}/redeliver`, { since: 0 }));
  await harness.drainQueue('Delivery-webhook');

  const received = echo.received.filter((request) => request.headers.authorization === headers.Authorization);
  expect(received.map((request) => request.headers['x-key'])).toEqual(echo.received.map(() => MARKER));
  expect(received.length).toBeGreaterThanOrEqual(4);
  const inbox = async (path: string) => (await fetch(`${harness.stack.ready.inbox_url}${path}`)).text();
  const messages = z.array(z.object({ id: z.number() })).parse(JSON.parse(await inbox('/')));
  const records = await harness.documents.send(new ScanCommand({ TableName: harness.table('Deliveries') }));
  const found = {
    responses: texts.join('\n'),
    'logs and metrics': harness.lines.join('\n'),
    records: JSON.stringify(records.Items),
    messages: JSON.stringify([...harness.stack.queues.values()].map(({ messages }) => messages)),
    'dead letters': JSON.stringify(await harness.deadLetter('webhook', () => true)),
    export: await exportedText(false),
    'export with secrets': await exportedText(true),
    inbox: (await Promise.all(messages.map((message) => inbox(`/messages/${message.id}`)))).join('\n'),
  };
  for (const [source, text] of Object.entries(found)) {
    expect(text.length, source).toBeGreaterThan(100);
    expect(text.includes(MARKER), source).toBe(false);
  }
});
