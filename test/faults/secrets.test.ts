import { ScanCommand } from '@aws-sdk/lib-dynamodb';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createAccountRepository } from '../../shared/adapters/accounts/account-repository.ts';
import type { Client } from '../support/api.ts';
import { newAlarmEvent } from '../support/events.ts';
import { openSink } from '../support/test-sink.ts';
import { type FaultyStack, startFaultyStack } from './support.ts';

let world: FaultyStack;
let client: Client;
beforeAll(async () => {
  world = await startFaultyStack();
  client = await world.newClient();
});
afterAll(() => world.stack.stop());

const email = 'secret-recipient@example.com';
const contact = 'secret-contact@example.com';
const phone = '+12025550199';
const serviceKey = 'SecretServiceKey1';
const apiKey = '7b9c1d1e-3f5a-4c2b-8d6e-0a1b2c3d4e5f';
const userinfo = 'secretuser:secretpassword';

it('logs, records and the failureReasons of dead letters hold no recipient, key, token, address or body, whatever fails', async () => {
  const fine = await openSink();
  const gone = await openSink((response) => response.writeHead(410).end('secret answer'));
  const hook = (url: string) => ({
    type: 'webhook',
    details: { url: `${url.replace('//', `//${userinfo}@`)}/secret-path?key=secret-query` },
  });
  const accounts = createAccountRepository(world.documents, world.table('Accounts'));
  await accounts.setTechnicalContacts(client.tenant, [contact]);
  const wanted = [
    hook(fine.url),
    hook(gone.url),
    hook('http://127.0.0.1:1'),
    hook('http://169.254.169.254'),
    { type: 'email', details: { address: email } },
    { type: 'sms', details: { phone_number: phone } },
    { type: 'incidentpager', details: { service_key: serviceKey } },
    { type: 'incidentpager', details: { service_key: serviceKey, service_endpoint: `${gone.url}/secret-path` } },
    { type: 'incidentrouter', details: { api_key: apiKey, routing_key: 'secret-routing-key' } },
    { type: 'atomfeed', details: { category: 'secret-category' } },
    { type: 'technicalContactsEmail' },
    { type: 'managed' },
  ];
  const ids = await Promise.all(
    wanted.map((destination) =>
      client.create({ label: 'secret-label', ...destination, metadata: { a: 'secret-metadata' } }),
    ),
  );
  const tests = await Promise.all(wanted.map((destination) => client.post('/test-notification', destination)));
  expect(tests.every(({ status }) => status === 200)).toBe(true);

  const rejection = { status: 400, type: 'MessageRejected', message: `Address blacklisted: ${email} ${contact}` };
  const optedOut = { status: 400, type: 'OptedOut', message: `${phone} opted out` };
  const mendMail = world.failing(rejection, ({ service }) => service === 'ses');
  const mendTexts = world.failing(optedOut, ({ service }) => service === 'sns');
  const event = { ...newAlarmEvent(client.tenant, ids), details: { state: 'CRITICAL', status: 'secret-status' } };
  await world.sendEvents([event, `{"secret-poison": "${email}"`]);
  await world.deadLetter('email', (body) => body.includes(event.event_id));
  await world.deadLetter('webhook', (body) => body.includes(event.event_id));
  await world.deadLetter('sms', (body) => body.includes(event.event_id));
  await world.deadLetter('AlarmEvents', (body) => body.includes('secret-poison'));
  await world.delivery(client.tenant, ids[0] ?? '', 'delivered');
  for (const queue of ['webhook', 'incidentpager', 'incidentrouter', 'atomfeed', 'managed'])
    await world.drained(`Delivery-${queue}`);
  mendMail();
  mendTexts();
  await client.get('/notifications/secret-id?x=secret-query');

  const { token, secrets } = await accounts.webhookCredentials(client.tenant);
  const { Items = [] } = await world.documents.send(new ScanCommand({ TableName: world.table('Deliveries') }));
  const attributes = [...world.stack.queues.values()].flatMap(({ messages }) =>
    messages.map((message) => [...message.attributes]),
  );
  const written = {
    logs: world.lines.join('\n'),
    records: JSON.stringify(Items),
    'failureReasons of dead letters': JSON.stringify(attributes),
  };
  const never = [
    email,
    contact,
    phone,
    serviceKey,
    apiKey,
    token,
    client.token,
    ...secrets,
    ...secrets.map((secret) => secret.slice(6)),
    'secret-',
    'secretuser',
    'secretpassword',
    'secret answer',
    'Address blacklisted',
    '127.0.0.1:',
  ];
  expect(written.logs.length).toBeGreaterThan(1_000);
  expect(Items.length).toBeGreaterThanOrEqual(ids.length);
  for (const [where, text] of Object.entries(written)) {
    for (const secret of never) expect(text.includes(secret), `${secret} in the ${where}`).toBe(false);
  }
});
