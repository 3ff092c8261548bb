import { Ajv2020 } from 'ajv/dist/2020.js';
import { beforeAll, describe, expect, it } from 'vitest';
import * as z from 'zod';
import { type EndpointName, endpointNames, endpoints } from '../../shared/contracts/endpoints.ts';
import { openApiDocument } from '../../shared/contracts/openapi.ts';
import { deliveryStatuses } from '../../shared/contracts/outcomes.ts';
import { deliveryRecord, writeRecords } from '../support/delivery-records.ts';
import { type Client, call, documents, newClient, table, webhook } from './support/api.ts';

const document = openApiDocument();
const ajv = new Ajv2020({ strict: false, allErrors: true, formats: { uri: URL.canParse } });

/** Returns the schema without additional properties, so that a response with an undocumented property fails. */
const closed = (schema: unknown): unknown => {
  if (Array.isArray(schema)) return schema.map(closed);
  if (typeof schema !== 'object' || schema === null) return schema;
  const parts = Object.fromEntries(Object.entries(schema).map(([key, value]) => [key, closed(value)]));
  return 'properties' in parts ? { ...parts, additionalProperties: false } : parts;
};
ajv.addSchema({ $id: 'openapi', components: Object(closed(document.components)) });

const content = z.object({ 'application/json': z.object({ schema: z.object({ $ref: z.string() }) }) });
const operation = z.object({
  requestBody: z.object({ content }).optional(),
  responses: z.record(z.string(), z.object({ content: content.optional() })),
});
const operationOf = (name: EndpointName) => {
  const { method, path } = endpoints[name];
  return operation.parse(Object(document.paths[path])[method.toLowerCase()]);
};

/** Returns how a body violates the schema that a part of the document refers to. */
const violations = (described: z.infer<typeof content> | undefined, body: unknown): unknown => {
  if (!described) return body === '' ? [] : 'has a body without a schema';
  const validate = ajv.compile({ $ref: `openapi${described['application/json'].schema.$ref}` });
  return validate(body) ? [] : validate.errors;
};

const ids = { notificationId: '', tokenId: '' };
const pathOf = (name: EndpointName, query = ''): string =>
  endpoints[name].path.replace('{notificationId}', ids.notificationId).replace('{tokenId}', ids.tokenId) + query;

const extensions = endpointNames.slice(9);

describe('the responses of the extensions', () => {
  let clients: Record<'admin' | 'creator' | 'observer', Client>;
  const statuses = new Map<EndpointName, Set<number>>();

  /** Calls an operation and checks its response against the document. */
  const checked = async (
    name: EndpointName,
    { token, query, body }: { token: string; query?: string; body?: unknown },
  ) => {
    const response = await call(endpoints[name].method, pathOf(name, query), { token, body });
    const described = operationOf(name).responses[response.status];
    expect(described, `${name} ${response.status} is not described: ${response.text}`).toBeDefined();
    expect(violations(described?.content, response.body), `${name} ${response.text}`).toEqual([]);
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
    expect(Object.fromEntries([...statuses].map(([name, seen]) => [name, [...seen].toSorted()]))).toEqual({
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

  it('accept the request bodies that the document accepts, and reject those that it rejects', async () => {
    const accepted = async (name: EndpointName, body: unknown) => {
      const { status } = await call(endpoints[name].method, pathOf(name), { token: clients.admin.token, body });
      return status !== 400;
    };
    const bodies: [EndpointName, unknown[]][] = [
      [
        'update-account',
        [
          {},
          { technical_contacts: [] },
          ...[
            'a..b@example.com',
            '-a@b.example',
            "o'neil@x.example",
            'a@b',
            'x',
            '',
            `${'a'.repeat(250)}@b.example`,
          ].map((address) => ({ technical_contacts: [address] })),
          { technical_contacts: Array.from({ length: 51 }, (_, index) => `a${index}@b.example`) },
          ...['t'.repeat(9), 't'.repeat(10), 't'.repeat(64), 't'.repeat(65), 'with space'].map((webhook_token) => ({
            webhook_token,
          })),
          [],
          { webhook_token: 7 },
        ],
      ],
      [
        'create-token',
        [
          { label: 'a', role: 'observer' },
          { label: 'a', role: 'observer', days: 1 },
          { label: 'a', role: 'observer', days: 3_650 },
          { label: 'a', role: 'observer', days: 3_651 },
          { label: 'a', role: 'observer', days: 1.5 },
          { label: 'a', role: 'observer', days: 0 },
          { label: 'a', role: 'owner' },
          { label: 'a' },
          { role: 'admin' },
          { label: '😀'.repeat(256), role: 'observer' },
        ],
      ],
      [
        'redeliver',
        [
          { since: 0 },
          { since: -1 },
          { since: 1.5 },
          { since: 10_000_000_000_000 },
          { event_id: 'a' },
          { event_id: '' },
          { event_id: 'a'.repeat(512) },
          { event_id: 'a'.repeat(513) },
          { event_id: 'a', since: 0 },
          { since: 0, marker: 'x' },
          { since: 0, marker: '1700000000000' },
          {},
        ],
      ],
    ];
    for (const [name, all] of bodies) {
      for (const body of all) {
        const isValid = violations(operationOf(name).requestBody?.content, body);
        expect([await accepted(name, body), isValid], `${name} ${JSON.stringify(body)}`).toEqual(
          Array.isArray(isValid) && isValid.length === 0 ? [true, []] : [false, isValid],
        );
      }
    }
  });
});
