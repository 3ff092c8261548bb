import { validate } from '@readme/openapi-parser';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { endpointNames, endpoints } from '../../shared/contracts/endpoints.ts';
import { parseNotification } from '../../shared/contracts/notification.ts';
import { openApiDocument } from '../../shared/contracts/openapi.ts';
import { entries, validDetails, webhookNotification } from '../support/notifications.ts';

const described = z.object({
  operationId: z.string(),
  description: z.string(),
  tags: z.tuple([z.literal('extension')]).optional(),
  'x-extension': z.literal(true).optional(),
});

describe('the OpenAPI document', () => {
  it('is valid', async () => {
    // The parser resolves references in place.
    const result = await validate(JSON.parse(JSON.stringify(openApiDocument('https://api.example.com'))));
    expect(result).toMatchObject({ valid: true });
  });

  it('contains every operation with its error responses', () => {
    const { paths } = openApiDocument();
    const operations = Object.entries(paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
    );
    expect(operations.toSorted()).toEqual(
      endpointNames.map((name) => `${endpoints[name].method} ${endpoints[name].path}`).toSorted(),
    );
    for (const methods of Object.values(paths)) {
      for (const operation of Object.values(methods)) {
        expect(operation).toMatchObject({ responses: { 401: {}, 403: {}, 500: {}, 503: {} } });
      }
    }
  });

  it('marks exactly the operations in addition to the nine of the interface as extensions', () => {
    const { paths } = openApiDocument();
    const operations = Object.values(paths).flatMap((methods) => Object.values(methods));
    const marked = operations.map((operation) => {
      const { operationId, description, tags, 'x-extension': mark } = described.parse(operation);
      const marks = [description.startsWith('Extension of the interface. '), tags !== undefined, mark === true];
      expect(new Set(marks).size, operationId).toBe(1);
      return [operationId, mark === true];
    });
    const isExtension = (name: string) => !endpointNames.slice(0, 9).some((known) => known === name);
    expect(Object.fromEntries(marked)).toEqual(
      Object.fromEntries(endpointNames.map((name) => [name, isExtension(name)])),
    );
  });

  it('states the limits of a page', () => {
    expect(openApiDocument().paths).toMatchObject({
      '/notifications': {
        get: {
          parameters: [
            { name: 'limit', schema: { type: 'integer', minimum: 1, maximum: 1000, default: 50 } },
            { name: 'marker' },
            { name: 'id' },
          ],
        },
      },
    });
  });
});

describe('the schema NewNotification', () => {
  const isValid = new Ajv2020({ strict: false })
    .addSchema({ $id: 'openapi', components: openApiDocument().components })
    .compile({ $ref: 'openapi#/components/schemas/NewNotification' });
  const { url } = validDetails.webhook;

  it.each([
    ['all attributes', { metadata: { team: 'storage' } }],
    ['a label of 255 characters', { label: '😀'.repeat(255) }],
    ['256 entries in details', { details: { url, ...entries(255, 'v') } }],
    ['details with a key of 255 characters', { details: { url, ['k'.repeat(255)]: 'v' } }],
    ['details with a value of 4,096 characters', { details: { url, other: '😀'.repeat(4096) } }],
    ['256 entries in metadata', { metadata: entries(256, 'v') }],
    ['metadata with a value of 255 characters', { metadata: { team: '😀'.repeat(255) } }],
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
