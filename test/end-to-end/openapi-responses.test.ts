import { Webhook } from 'standardwebhooks';
import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { gatewayErrors } from '../../bin/openapi/error-responses.ts';
import { exampleRequest } from '../../bin/openapi/webhook-request.ts';
import { deliveryStatuses } from '../../shared/contracts/outcomes.ts';
import { maskedRequest } from '../../shared/contracts/webhook-request.ts';
import { bodyViolations, describedOperation, describedWebhook, schemaViolations } from '../support/api-description.ts';
import { deliveryRecord, writeRecords } from '../support/delivery-records.ts';
import { newAlarmEvent } from '../support/events.ts';
import { openSink } from '../support/test-sink.ts';
import { call, documents, isLocal, newClient, table, webhook } from './support/api.ts';
import { sendEvents } from './support/pipeline.ts';

describe('the responses of the extensions', () => {
  it('match the OpenAPI document for each role, and each status of a delivery', async () => {
    const admin = await newClient();
    const id = await admin.create(webhook);
    const nowMs = Date.now();
    const record = (index: number, changes: Parameters<typeof deliveryRecord>[2]) =>
      deliveryRecord({ tenant: admin.tenant, notificationId: id }, `e${index}:${nowMs - index}:OK`, {
        ttl: Math.floor(nowMs / 1000) + 86_400,
        ...changes,
      });
    const attempt = { timestamp_ms: nowMs, result: 'transient', reason: 'timeout', duration_ms: 15_000 } as const;
    const records = [
      ...deliveryStatuses.map((status, index) => record(index, { status })),
      record(10, { status: 'pending', attempts: [] }),
      record(12, { status: 'superseded', event_at_ms: nowMs - 1, newer_event_at_ms: nowMs }),
      record(11, { status: 'failed', last_cause: 'destination', attempts: [attempt], last_reason: 'expired' }),
    ];
    await writeRecords(documents, table('Deliveries'), records);
    for (const role of ['admin', 'creator', 'observer'] as const) {
      const client = await newClient(role, admin.tenant);
      expect((await client.get('/account')).status).toBe(200);
      const { values } = Object((await client.get(`/notifications/${id}/deliveries`)).body);
      expect(values).toHaveLength(records.length);
    }
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
