import { validate } from '@readme/openapi-parser';
import { describe, expect, it } from 'vitest';
import { endpointNames, endpoints } from '../../shared/contracts/endpoints.ts';
import { openApiDocument } from '../../shared/contracts/openapi.ts';

describe('the OpenAPI document', () => {
  it('is a valid one', async () => {
    // The parser resolves references in place, so it gets a copy.
    const result = await validate(JSON.parse(JSON.stringify(openApiDocument('https://api.example.com'))));
    expect(result).toMatchObject({ valid: true });
  });

  it('has every operation of the table of endpoints, with the answers that the interface lists', () => {
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
});
