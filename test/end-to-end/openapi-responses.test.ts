import { Webhook } from 'standardwebhooks';
import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { gatewayErrors } from '../../bin/openapi/error-responses.ts';
import { exampleRequest } from '../../bin/openapi/examples.ts';
import { maskedRequest } from '../../shared/contracts/webhook-request.ts';
import { bodyViolations, describedOperation, describedWebhook, schemaViolations } from '../support/api-description.ts';
import { newAlarmEvent } from '../support/events.ts';
import { openSink } from '../support/test-sink.ts';
import { call, isLocal, newClient, webhook } from './support/api.ts';
import { sendEvents } from './support/pipeline.ts';

// The tests of each endpoint compare its responses with the document.
it('the examples of new notifications in the OpenAPI document are accepted', async () => {
  const admin = await newClient();
  const { requestBody } = describedOperation('create-notification');
  for (const [name, example] of Object.entries(requestBody?.content['application/json'].examples ?? {})) {
    const { value } = z.object({ value: z.looseObject({ webhook_request: z.unknown().optional() }) }).parse(example);
    const id = await admin.create(value);
    const masked = value.webhook_request === undefined ? {} : { webhook_request: maskedRequest(exampleRequest) };
    expect((await admin.get(`/notifications/${id}`)).body, name).toEqual({ id, ...value, ...masked });
  }
});

it.each([
  [400, 'GET', '/notifications/%zz', {}, undefined],
  [413, 'POST', '/notifications', {}, 'a'.repeat(10 * 1024 * 1024 + 1)],
  [431, 'GET', '/notifications', { padding: 'a'.repeat(11_000) }, undefined],
] as const)(
  'the gateway returns the error that the OpenAPI document describes: %i',
  async (status, method, path, headers, body) => {
    const response = await call(method, path, { headers, body });
    expect([response.status, response.body]).toEqual([status, { message: gatewayErrors[status].message }]);
  },
);

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
