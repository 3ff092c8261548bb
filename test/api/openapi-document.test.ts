import { readFileSync } from 'node:fs';
import { validate } from '@readme/openapi-parser';
import { Ajv2020 } from 'ajv/dist/2020.js';
import fc from 'fast-check';
import { Webhook } from 'standardwebhooks';
import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { describedFields } from '../../bin/openapi/notification-types.ts';
import { openApiDocument, tags } from '../../bin/openapi/openapi-document.ts';
import { exampleCredentials } from '../../bin/openapi/resources/account.ts';
import { exampleEvent } from '../../bin/openapi/webhook-payload.ts';
import manifest from '../../package.json' with { type: 'json' };
import { parseAccountChanges } from '../../shared/contracts/account.ts';
import { webhookPayload } from '../../shared/contracts/alarm-event.ts';
import { endpointNames, endpoints } from '../../shared/contracts/endpoints.ts';
import { parseNotification } from '../../shared/contracts/notification.ts';
import { fieldsOf, notificationTypeIds } from '../../shared/contracts/notification-types.ts';
import { parseRedelivery } from '../../shared/contracts/redelivery.ts';
import { parseNewToken } from '../../shared/contracts/token.ts';
import { webhookHeaders } from '../../shared/pipeline/transports/webhook.ts';
import {
  bodyViolations,
  type DescribedContent,
  describedOperation,
  describedWebhook,
  schemaViolations,
} from '../support/api-description.ts';
import { entries, validDetails, webhookNotification } from '../support/notifications.ts';

const operations = [...endpointNames.map(describedOperation), describedWebhook()];

/** Calls `visit` with each object below a value of the document, and its path. */
const visitObjects = (value: unknown, visit: (object: Record<string, unknown>, path: string) => void, path = '') => {
  if (typeof value !== 'object' || value === null) return;
  visit(Object(value), path);
  for (const [key, child] of Object.entries(value)) visitObjects(child, visit, `${path}/${key}`);
};

describe('the OpenAPI document', () => {
  it('is published as openapi.json (npm run --silent openapi > openapi.json)', () => {
    const published = readFileSync(new URL('../../openapi.json', import.meta.url), 'utf8');
    expect(published).toBe(`${JSON.stringify(openApiDocument(), null, 2)}\n`);
  });

  it('is valid', async () => {
    // The parser resolves references in place.
    const result = await validate(JSON.parse(JSON.stringify(openApiDocument('https://api.example.com'))));
    expect(result).toMatchObject({ valid: true });
  });

  it('contains every operation with the errors that each of them can return', () => {
    const { paths } = openApiDocument();
    const described = Object.entries(paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
    );
    expect(described.toSorted()).toEqual(
      endpointNames.map((name) => `${endpoints[name].method} ${endpoints[name].path}`).toSorted(),
    );
    for (const name of endpointNames) {
      const { responses, requestBody } = describedOperation(name);
      const always = ['400', '401', '403', ...(requestBody ? ['413'] : []), '429', '431', '500', '503'];
      expect(Object.keys(responses), name).toEqual(expect.arrayContaining(always));
      for (const status of ['429', '503']) expect(responses[status]?.headers, name).toBeDefined();
    }
  });

  it('marks exactly the operations in addition to the nine of the interface as extensions', () => {
    const marks = endpointNames.map((name) => {
      const { description, 'x-extension': mark } = describedOperation(name);
      return [name, description.startsWith('Extension of the interface. '), mark === true];
    });
    expect(marks).toEqual(endpointNames.map((name, index) => [name, index >= 9, index >= 9]));
  });

  it('lists each operation under one tag, because a page of documentation repeats it under each of them', () => {
    for (const name of endpointNames) expect(describedOperation(name).tags, name).toHaveLength(1);
  });

  it('has the version of the package', () => {
    expect(openApiDocument().info.version).toBe(manifest.version);
  });

  it('states the limits of a page', () => {
    expect(describedOperation('list-notifications').parameters).toMatchObject([
      { name: 'limit', schema: { type: 'integer', minimum: 1, maximum: 1000, default: 50 } },
      { name: 'marker' },
      { name: 'id' },
    ]);
  });

  it('describes every tag, operation, parameter, header, response, schema and property', () => {
    const undescribed: string[] = [];
    const { paths, components } = openApiDocument();
    const isDescribed = (value: unknown): boolean => Boolean(Object(value).description || Object(value).$ref);
    for (const root of [{ paths }, { webhooks: openApiDocument().webhooks }, { components }]) {
      visitObjects(root, (object, path) => {
        if (/\/(examples|example)\//.test(path)) return;
        const isOperation = typeof object.operationId === 'string';
        const isParameter = typeof object.in === 'string';
        const isNamed =
          /(?<!\/properties)\/(responses|headers|schemas)\/[^/]+$/.test(path) || /\/requestBody$/.test(path);
        if ((isOperation || isParameter || isNamed) && !isDescribed(object)) undescribed.push(path);
        for (const [name, property] of Object.entries(Object(object.properties))) {
          if (!isDescribed(property)) undescribed.push(`${path}/properties/${name}`);
        }
      });
    }
    expect(undescribed).toEqual([]);
    const used = new Set<string>(operations.flatMap(({ tags: names }) => names));
    expect(used).toEqual(new Set(tags.map(({ name }) => name)));
    for (const { description } of tags) expect(description).not.toBe('');
  });

  it('has an example of every body and parameter, each valid by its schema', () => {
    const failures: string[] = [];
    const checkBody = (where: string, content: DescribedContent | undefined): void => {
      if (!content) return;
      const { schema, examples } = content['application/json'];
      const values = Object.entries(examples);
      if (values.length === 0) failures.push(`${where} has no example`);
      for (const [name, example] of values) {
        failures.push(...schemaViolations(schema, Object(example).value).map((text) => `${where} ${name} ${text}`));
      }
    };
    for (const { operationId, parameters, requestBody, responses } of operations) {
      checkBody(operationId, requestBody?.content);
      for (const [status, { content }] of Object.entries(responses)) checkBody(`${operationId} ${status}`, content);
      for (const { name, schema, example } of parameters) {
        failures.push(...schemaViolations(schema, example).map((text) => `${operationId} ${name} ${text}`));
      }
    }
    expect(failures).toEqual([]);
  });

  it('selects the schema of a notification by its type', () => {
    const { schemas } = z
      .object({ schemas: z.record(z.string(), z.unknown()) })
      .parse(JSON.parse(JSON.stringify(openApiDocument().components)));
    for (const name of ['Notification', 'NewNotification', 'Destination']) {
      const { discriminator, oneOf } = Object(schemas[name]);
      expect(discriminator.propertyName).toBe('type');
      expect(Object.keys(discriminator.mapping)).toEqual(notificationTypeIds);
      expect(Object.values(discriminator.mapping)).toEqual(oneOf.map(({ $ref }: { $ref: string }) => $ref));
      for (const [type, reference] of Object.entries(discriminator.mapping)) {
        expect(schemas[String(reference).split('/').at(-1) ?? '']).toMatchObject({
          properties: { type: { const: type } },
        });
      }
    }
  });
});

describe('the description of the webhook', () => {
  it('has headers whose example is the signature of its payload', () => {
    const { webhook_signing_secrets: secrets } = exampleCredentials;
    const { parameters } = describedWebhook();
    const headers = Object.fromEntries(parameters.map(({ name, example }) => [name, String(example)]));
    const body = JSON.stringify(webhookPayload(exampleEvent));
    const id = headers['webhook-id']?.replace('msg_', '') ?? '';
    const sent = webhookHeaders(
      { token: exampleCredentials.webhook_token, secrets },
      id,
      Number(headers['webhook-timestamp']) * 1000,
      body,
    );
    expect({ 'content-type': 'application/json', ...headers }).toEqual(sent);
    const [secret = ''] = secrets;
    // The library rejects old timestamps, so it verifies the signature only.
    expect(new Webhook(secret).sign(sent['webhook-id'] ?? '', new Date(1_795_295_520_000), body)).toBe(
      headers['webhook-signature'],
    );
  });
});

describe.each(notificationTypeIds)('the schema of the details of %s', (type) => {
  const fields = Object.entries(fieldsOf(type));
  const described = describedFields(type);

  it('describes exactly its fields', () => {
    expect(Object.keys(described)).toEqual(fields.map(([name]) => name));
  });

  it.each(fields)('agrees with the parser on values of %s', (name, { allows }) => {
    const { format } = described[name] ?? {};
    if (!format) throw new Error(`There is no format of ${name}.`);
    const isValid = new Ajv2020({ strict: false, formats: { uri: true, uuid: true, e164: true } }).compile(
      z.toJSONSchema(format),
    );
    const value = fc.oneof(
      fc.emailAddress(),
      fc.webUrl(),
      fc.uuid(),
      fc.constantFrom(
        '.',
        '..',
        '...',
        'a.b',
        'a b',
        '+12025550123',
        '+1',
        'HTTP://a.example',
        'ftp://a.example',
        'a@b',
      ),
      fc.stringMatching(/^\+?[0-9]{1,16}$/),
      fc.stringMatching(/^[\w.-]{1,40}$/),
      fc.string({ minLength: 1 }),
    );
    const isUrl = fieldsOf(type)[name]?.rule.includes('URL') === true;
    fc.assert(
      fc.property(value, (text) => {
        // A pattern cannot express all rules for URLs, so the schema also accepts some that the parser rejects.
        if (allows(text) || !isUrl) expect(isValid(text), text).toBe(allows(text));
        else if (isValid(text)) expect(text).toMatch(/^https?:/i);
      }),
      { numRuns: 500 },
    );
  });
});

describe('the schema of a request body', () => {
  const contacts = (...technical_contacts: string[]) => ({ technical_contacts });
  const token = { label: 'a', role: 'observer' };

  it.each([
    [
      'update-account',
      parseAccountChanges,
      [
        ...[{}, [], contacts(), { webhook_token: 7 }, contacts(...Array(51).fill('a@b.example'))],
        ...['a..b@c.example', '-a@b.example', "o'n@x.example", 'a@b', 'x', '', `${'a'.repeat(250)}@b.example`].map(
          (address) => contacts(address),
        ),
        ...[9, 10, 64, 65].map((length) => ({ webhook_token: 't'.repeat(length) })),
        { webhook_token: 'with a space' },
      ],
    ],
    [
      'create-token',
      parseNewToken,
      [
        ...[
          token,
          { ...token, role: 'owner' },
          { label: 'a' },
          { role: 'admin' },
          { ...token, label: '😀'.repeat(256) },
        ],
        ...[0, 1, 1.5, 3_650, 3_651].map((days) => ({ ...token, days })),
      ],
    ],
    [
      'redeliver',
      parseRedelivery,
      [
        ...[
          {},
          { event_id: 'a', since: 0 },
          { status: 'pending' },
          { status: 'failed' },
          { status: 'pending', since: 0 },
          { since: 0, marker: 'x' },
          { since: 0, marker: '1700000000000' },
        ],
        ...[-1, 0, 1, 1.5, 999_999_999_999, 1_000_000_000_000, 10_000_000_000_000].map((since) => ({ since })),
        ...[0, 1, 512, 513].map((length) => ({ event_id: 'a'.repeat(length) })),
      ],
    ],
  ] as const)('accepts what the parser of %s accepts, and rejects what it rejects', (name, parse, bodies) => {
    const content = describedOperation(name).requestBody?.content;
    for (const body of bodies) {
      const isValid = bodyViolations(content, body).length === 0;
      expect([JSON.stringify(body), isValid]).toEqual([JSON.stringify(body), parse(body).success]);
    }
  });
});

describe('the schema NewNotification', () => {
  const isValid = (body: unknown): boolean =>
    schemaViolations({ $ref: '#/components/schemas/NewNotification' }, body).length === 0;
  const { url } = validDetails.webhook;

  it.each([
    ['all attributes', { metadata: { team: 'storage' } }],
    ['a label of 255 characters', { label: '😀'.repeat(255) }],
    ['256 entries in details', { details: { url, ...entries(255, 'v') } }],
    ['details with a key of 255 characters', { details: { url, ['k'.repeat(255)]: 'v' } }],
    ['details with a value of 4,096 characters', { details: { url, other: '😀'.repeat(4096) } }],
    ['256 entries in metadata', { metadata: entries(256, 'v') }],
    ['metadata with a value of 255 characters', { metadata: { team: 'v'.repeat(255) } }],
    ['no details for a type without fields', { type: 'managed', details: undefined }],
  ])('accepts what the parser accepts: %s', (_, changes) => {
    const body: unknown = JSON.parse(JSON.stringify({ ...webhookNotification(), ...changes }));
    expect([isValid(body), parseNotification(body).success]).toEqual([true, true]);
  });

  it.each([
    ['no label', { label: undefined }],
    ['an empty label', { label: '' }],
    ['a label of 256 characters', { label: 'a'.repeat(256) }],
    ['an unknown type', { type: 'pigeon' }],
    ['no details', { details: undefined }],
    ['details without a required field', { details: {} }],
    ['the details of another type', { type: 'email' }],
    ['an invalid field of the type', { details: { url: 'ftp://files.example.com' } }],
    ['257 entries in details', { details: { url, ...entries(256, 'v') } }],
    ['details with an empty key', { details: { url, '': 'v' } }],
    ['details with a key of 256 characters', { details: { url, ['k'.repeat(256)]: 'v' } }],
    ['details with a value of 4,097 characters', { details: { url, other: 'v'.repeat(4097) } }],
    ['257 entries in metadata', { metadata: entries(257, 'v') }],
    ['metadata with a key of 256 characters', { metadata: { ['k'.repeat(256)]: 'v' } }],
    ['metadata with a value of 256 characters', { metadata: { team: 'v'.repeat(256) } }],
    ['metadata with a number', { metadata: { team: 7 } }],
  ])('rejects what the parser rejects: %s', (_, changes) => {
    const body: unknown = JSON.parse(JSON.stringify({ ...webhookNotification(), ...changes }));
    expect([isValid(body), parseNotification(body).success]).toEqual([false, false]);
  });
});
