import { Webhook } from 'standardwebhooks';
import { beforeAll, describe, expect, it } from 'vitest';
import * as z from 'zod';
import { gatewayErrors } from '../../bin/openapi/error-responses.ts';
import { exampleRequest } from '../../bin/openapi/webhook-request.ts';
import { type EndpointName, endpointNames, endpoints } from '../../shared/contracts/endpoints.ts';
import { deliveryStatuses } from '../../shared/contracts/outcomes.ts';
import { maskedRequest } from '../../shared/contracts/webhook-request.ts';
import { bodyViolations, describedOperation, describedWebhook, schemaViolations } from '../support/api-description.ts';
import { deliveryRecord, writeRecords } from '../support/delivery-records.ts';
import { newAlarmEvent } from '../support/events.ts';
import { openSink } from '../support/test-sink.ts';
import { type Client, call, documents, isLocal, newClient, table, webhook } from './support/api.ts';
import { sendEvents } from './support/pipeline.ts';

const ids = { notificationId: '', tokenId: '' };
const pathOf = (name: EndpointName, query = ''): string =>
  endpoints[name].path.replace('{notificationId}', ids.notificationId).replace('{tokenId}', ids.tokenId) + query;

const extensions = endpointNames.slice(9);

describe('the responses of the extensions', () => {
  let clients: Record<'admin' | 'creator' | 'observer', Client>;
  const statuses = new Map<EndpointName, Set<number>>();

  /** Calls an operation. `call` checks its response against the document. */
  const checked = async (
    name: EndpointName,
    { token, query, body }: { token: string; query?: string; body?: unknown },
  ) => {
    const response = await call(endpoints[name].method, pathOf(name, query), { token, body });
    statuses.set(name, (statuses.get(name) ?? new Set()).add(response.status));
    return response;
  };

  beforeAll(async () => {
    const admin = await newClient();
    clients = {
      admin,
      creator: await newClient('creator', admin.tenant),
      observer: await newClient('observer', admin.tenant),
    };
    ids.notificationId = await admin.create(webhook);
    const nowMs = Date.now();
    const record = (index: number, changes: Parameters<typeof deliveryRecord>[2]) =>
      deliveryRecord({ tenant: admin.tenant, notificationId: ids.notificationId }, `e${index}:${nowMs - index}:OK`, {
        ttl: Math.floor(nowMs / 1000) + 86_400,
        ...changes,
      });
    const attempt = { timestamp_ms: nowMs, result: 'transient', reason: 'timeout', duration_ms: 15_000 } as const;
    await writeRecords(documents, table('Deliveries'), [
      ...deliveryStatuses.map((status, index) => record(index, { status })),
      record(10, { status: 'pending', attempts: [] }),
      record(12, { status: 'superseded', event_at_ms: nowMs - 1, newer_event_at_ms: nowMs }),
      record(11, { status: 'failed', last_cause: 'destination', attempts: [attempt], last_reason: 'expired' }),
    ]);
  });

  it('match the OpenAPI document, which describes every status and property', async () => {
    const { admin, creator, observer } = clients;
    const contacts = ["o'neil+a..b@example.com", '-a&b@x.example', 'a@b.example'];
    await checked('update-account', {
      ...admin,
      body: { technical_contacts: contacts, webhook_token: 't'.repeat(64) },
    });
    for (const body of ['{', {}, { technical_contacts: [''] }]) await checked('update-account', { ...admin, body });
    for (const { token } of [admin, creator, observer]) await checked('get-account', { token });
    for (let count = 0; count < 2; count++) await checked('rotate-signing-secret', { ...admin });
    await checked('get-account', { ...admin });
    const created = await checked('create-token', {
      ...admin,
      body: { label: '😀'.repeat(255), role: 'creator', days: 1 },
    });
    await checked('create-token', { ...admin, body: { label: '' } });
    for (const query of ['', '?limit=1', '?limit=0', '?marker=x']) await checked('list-tokens', { ...admin, query });
    for (const tokenId of [Object(created.body).id, Object(created.body).id]) {
      ids.tokenId = tokenId;
      await checked('revoke-token', { ...admin });
    }
    const [own] = Object((await admin.get('/tokens')).body).values;
    ids.tokenId = own.id;
    await checked('revoke-token', { ...admin });
    for (const query of ['', '?limit=3', '?limit=0', '?status=failed', '?status=x', '?alarm_id=', '?marker=x'])
      await checked('list-deliveries', { ...observer, query });
    const { notificationId } = ids;
    for (const body of [{ since: 0 }, { event_id: 'unknown' }, {}, '[]'])
      await checked('redeliver', { ...creator, body });
    ids.notificationId = 'unknown';
    await checked('redeliver', { ...creator, body: { since: 0 } });
    await checked('list-deliveries', { ...observer });
    ids.notificationId = notificationId;
    for (const name of extensions) {
      await checked(name, { token: 'invalid' });
      if (endpoints[name].permission !== 'read')
        await checked(name, { ...observer, ...(endpoints[name].method === 'POST' && { body: {} }) });
    }
    expect(Object.fromEntries([...statuses].map(([name, seen]) => [name, [...seen].toSorted()]))).toMatchObject({
      'update-account': [204, 400, 401, 403],
      'get-account': [200, 401],
      'rotate-signing-secret': [200, 401, 403],
      'create-token': [201, 400, 401, 403],
      'list-tokens': [200, 400, 401, 403],
      'revoke-token': [204, 401, 403, 404],
      'list-deliveries': [200, 400, 401, 404],
      redeliver: [202, 400, 401, 403, 404],
    });
  });
});

describe('the responses of the operations of the interface', () => {
  it('match the OpenAPI document, whose examples of new notifications are accepted', async () => {
    const [admin, observer] = [await newClient(), await newClient('observer')];
    const { requestBody } = describedOperation('create-notification');
    for (const [name, example] of Object.entries(requestBody?.content['application/json'].examples ?? {})) {
      const { value } = z.object({ value: z.looseObject({ webhook_request: z.unknown().optional() }) }).parse(example);
      const id = await admin.create(value);
      const masked = value.webhook_request === undefined ? {} : { webhook_request: maskedRequest(exampleRequest) };
      expect((await admin.get(`/notifications/${id}`)).body, name).toEqual({ id, ...value, ...masked });
    }
    const [id, unknown] = [await admin.create(webhook), '/notifications/unknown'];
    const own = `/notifications/${id}`;
    const statuses = [
      await admin.post('/notifications', { label: '' }),
      await call('POST', '/notifications', { token: admin.token, body: '{' }),
      await observer.post('/notifications', webhook),
      await call('POST', '/notifications', { body: webhook }),
      await admin.get('/notifications?limit=2'),
      await admin.get('/notifications?limit=0'),
      await admin.get(unknown),
      await admin.put(own, { label: 'Renamed' }),
      await admin.put(own, { type: 'sms' }),
      await admin.put(unknown, {}),
      await admin.put('/notifications/ntTechnicalContactsEmail', { label: 'Renamed' }),
      await admin.post('/notifications/ntTechnicalContactsEmail/test'),
      await admin.post(`${unknown}/test`),
      await admin.post('/test-notification', { type: 'managed' }),
      await admin.post('/test-notification', { type: 'email', details: {} }),
      await admin.delete(own),
      await admin.delete(own),
      await admin.delete('/notifications/ntTechnicalContactsEmail'),
      await observer.get('/notification_types'),
      await observer.get('/notification_types/sms'),
      await observer.get('/notification_types/pigeon'),
      await observer.get('/unknown'),
    ].map(({ status }) => status);
    expect(statuses).toEqual([
      ...[400, 400, 403, 401, 200, 400, 404],
      ...[204, 400, 404, 403, 200, 404, 200, 400],
      ...[204, 404, 403, 200, 200, 404, 404],
    ]);
  });
});

describe('the gateway', () => {
  it.each([
    [400, 'GET', '/notifications/%zz', {}, undefined],
    [413, 'POST', '/notifications', {}, 'a'.repeat(10 * 1024 * 1024 + 1)],
    [431, 'GET', '/notifications', { padding: 'a'.repeat(11_000) }, undefined],
  ] as const)(
    'returns the error that the OpenAPI document describes: %i',
    async (status, method, path, headers, body) => {
      const response = await call(method, path, { headers, body });
      expect([response.status, response.body]).toEqual([status, { message: gatewayErrors[status].message }]);
    },
  );
});

describe.runIf(isLocal)('a webhook', () => {
  const { parameters, requestBody } = describedWebhook();
  const account = z.object({ webhook_signing_secrets: z.array(z.string()) });

  it.each([
    ['with one signing secret', 1],
    ['after a rotation of the signing secret', 2],
  ])('has exactly the headers and the body that the OpenAPI document describes, %s', async (_, secretCount) => {
    const client = await newClient();
    const sink = await openSink();
    const readSecrets = async () => account.parse((await client.get('/account')).body).webhook_signing_secrets;
    await readSecrets();
    for (let count = 1; count < secretCount; count++) await client.post('/account/rotate-signing-secret');
    const secrets = await readSecrets();
    expect(secrets).toHaveLength(secretCount);
    await sendEvents([newAlarmEvent(client.tenant, [await client.create({ ...webhook, details: { url: sink.url } })])]);
    const [request] = await sink.wait(1);
    const { host, connection, 'content-length': length, 'content-type': type, ...headers } = request?.headers ?? {};
    expect(type).toBe('application/json');
    expect(Object.keys(headers).toSorted()).toEqual(parameters.map(({ name }) => name).toSorted());
    for (const { name, schema } of parameters)
      expect([name, schemaViolations(schema, headers[name])]).toEqual([name, []]);
    expect(headers['webhook-signature']?.toString().split(' ')).toHaveLength(secretCount);
    const body = request?.body ?? '';
    expect(bodyViolations(requestBody?.content, JSON.parse(body))).toEqual([]);
    for (const secret of secrets) {
      expect(new Webhook(secret).verify(body, Object(headers))).toMatchObject({ tenant_id: client.tenant });
    }
  });
});
