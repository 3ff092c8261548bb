import { readFileSync } from 'node:fs';
import { createConfig, lintFromString } from '@redocly/openapi-core';
import { describe, expect, it } from 'vitest';
import { openApiDocument } from '../../bin/openapi/openapi-document.ts';
import { accountChangesBody, parseAccountChanges } from '../../shared/contracts/account.ts';
import { endpointNames, endpoints, knownParameters } from '../../shared/contracts/endpoints.ts';
import { changesBody, parseNotification } from '../../shared/contracts/notification.ts';
import { parseRedelivery } from '../../shared/contracts/redelivery.ts';
import { account } from '../../shared/contracts/responses/account.ts';
import { attributes } from '../../shared/contracts/responses/notifications.ts';
import { parseNewToken } from '../../shared/contracts/token.ts';
import {
  bodyViolations,
  type DescribedContent,
  describedOperation,
  describedWebhook,
  schemaViolations,
} from '../support/api-description.ts';
import { entries, validDetails, webhookNotification } from '../support/notifications.ts';

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

  it('is valid by the recommended rules of redocly, except that it names no license', async () => {
    const config = await createConfig({ extends: ['recommended'] });
    const source = JSON.stringify(openApiDocument());
    const problems = await lintFromString({ source, absoluteRef: 'openapi.json', config });
    // Choosing a license is the decision of the owner.
    expect(problems.map(({ ruleId, message }) => `${ruleId}: ${message}`)).toEqual([
      expect.stringContaining('info-license: '),
    ]);
  });

  it.each(endpointNames)('has exactly the query parameters that a strict request can have: %s', (name) => {
    const parameters = describedOperation(name).parameters.filter(({ in: location }) => location === 'query');
    const isChange = endpoints[name].method !== 'GET';
    const known = knownParameters(name).filter((parameter) => isChange || !parameter.startsWith('_'));
    expect(parameters.map((parameter) => parameter.name).toSorted()).toEqual(known.toSorted());
  });

  it('describes every schema and property', () => {
    const undescribed: string[] = [];
    visitObjects(openApiDocument().components.schemas, ({ properties }, path) => {
      for (const [name, property] of Object.entries(Object(properties))) {
        if (!Object(property).description && !Object(property).$ref) undescribed.push(`${path}/${name}`);
      }
    });
    for (const [name, { description }] of Object.entries(openApiDocument().components.schemas)) {
      if (!description) undescribed.push(name);
    }
    expect(undescribed).toEqual([]);
  });

  it('has an example of every body and parameter, each valid by its schema', () => {
    const failures: string[] = [];
    const check = (where: string, schema: object, value: unknown): void => {
      failures.push(...schemaViolations(schema, value).map((violation) => `${where} ${violation}`));
    };
    const checkBody = (where: string, content: DescribedContent | undefined): void => {
      if (!content) return;
      const { schema, examples } = content['application/json'];
      if (Object.keys(examples).length === 0) failures.push(`${where} has no example`);
      for (const [name, example] of Object.entries(examples)) check(`${where} ${name}`, schema, Object(example).value);
    };
    for (const operation of [...endpointNames.map(describedOperation), describedWebhook()]) {
      const { operationId, parameters, requestBody, responses } = operation;
      checkBody(operationId, requestBody?.content);
      for (const [status, { content }] of Object.entries(responses)) checkBody(`${operationId} ${status}`, content);
      for (const { name, schema, example } of parameters) check(`${operationId} ${name}`, schema, example);
    }
    expect(failures).toEqual([]);
  });
});

it.each([
  ['an account', account, accountChangesBody],
  ['a notification', attributes, changesBody],
])('an update of %s may have all attributes of the response', (_, { shape }, { attributes: accepted }) => {
  expect(accepted).toEqual(expect.arrayContaining(Object.keys(shape)));
});

const contacts = (...technical_contacts: string[]) => ({ technical_contacts });
const token = { label: 'a', role: 'observer' };
const { url } = validDetails.webhook;
const withDetails = (details: unknown) => webhookNotification(JSON.parse(JSON.stringify({ details })));
const routing = (routing_key: string) => ({
  ...webhookNotification({ type: 'incidentrouter' }),
  details: { ...validDetails.incidentrouter, routing_key },
});

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
      ...[token, { ...token, role: 'owner' }, { label: 'a' }, { role: 'admin' }],
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
      ],
      ...['x', '1700000000000'].map((marker) => ({ since: 0, marker })),
      ...[-1, 0, 1, 1.5, 999_999_999_999, 1_000_000_000_000, 10_000_000_000_000].map((since) => ({ since })),
      ...[0, 1, 512, 513].map((length) => ({ event_id: 'a'.repeat(length) })),
    ],
  ],
  [
    'create-notification',
    parseNotification,
    [
      ...[0, 1, 255, 256].map((length) => webhookNotification({ label: '😀'.repeat(length) })),
      ...[{ details: { url } }, { ...webhookNotification(), type: 'pigeon' }, { label: 'a', type: 'managed' }],
      ...[
        undefined,
        {},
        validDetails.email,
        { url: 'ftp://files.example.com' },
        { url: 'HTTPS://a.example/%20#b' },
      ].map(withDetails),
      ...[255, 256].map((count) => withDetails({ url, ...entries(count, 'v') })),
      ...[0, 1, 255, 256].map((length) => withDetails({ url, ['k'.repeat(length)]: 'v' })),
      ...[0, 1, 4_096, 4_097].map((length) => withDetails({ url, other: '😀'.repeat(length) })),
      ...[256, 257].map((count) => webhookNotification({ metadata: entries(count, 'v') })),
      ...[0, 1, 255, 256].map((length) => webhookNotification({ metadata: { ['k'.repeat(length)]: 'v' } })),
      ...[0, 1, 255, 256].map((length) => webhookNotification({ metadata: { team: 'v'.repeat(length) } })),
      { ...webhookNotification(), metadata: { team: 7 } },
      ...['.', '..', '...', '.a', '..a', 'a.b', 'a b', '-'].map(routing),
    ],
  ],
] as const)(
  'the schema of a request body accepts what the parser of %s accepts, and rejects what it rejects',
  (name, parse, bodies) => {
    const content = describedOperation(name).requestBody?.content;
    for (const body of bodies) {
      const isValid = bodyViolations(content, body).length === 0;
      expect([JSON.stringify(body), isValid]).toEqual([JSON.stringify(body), parse(body).success]);
    }
  },
);
