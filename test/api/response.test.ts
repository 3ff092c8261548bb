import { describe, expect, it } from 'vitest';
import { assertFitsResponse, locationResponse, noContent, ok } from '../../shared/api/response.ts';
import { LAMBDA_LIMIT_BYTES, lambdaBytes } from '../support/lambda-response.ts';
import { entries, webhookNotification } from '../support/notifications.ts';

describe('a response', () => {
  it('with a body is JSON', () => {
    expect(ok({ a: 1 })).toEqual({ statusCode: 200, headers: { 'content-type': 'application/json' }, body: '{"a":1}' });
  });

  it('without a body has no content type', () => {
    expect(locationResponse(201, 'https://a.example/nt1')).toEqual({
      statusCode: 201,
      headers: { location: 'https://a.example/nt1' },
    });
    expect(noContent).toEqual({ statusCode: 204 });
  });
});

describe('assertFitsResponse', () => {
  const withDetails = (count: number, value: string) => webhookNotification({ details: entries(count, value) });

  it('accepts a notification at the limits of the API', () => {
    const largest = {
      ...withDetails(256, '😀'.repeat(4096)),
      label: '😀'.repeat(255),
      metadata: entries(256, '😀'.repeat(255)),
    };
    expect(() => assertFitsResponse(largest)).not.toThrow();
    expect(lambdaBytes(ok({ id: 'nt'.padEnd(28, '0'), ...largest }))).toBeLessThan(LAMBDA_LIMIT_BYTES);
  });

  it('rejects with 413 a notification that does not fit into a response', () => {
    expect(() => assertFitsResponse(withDetails(256, '\u0001'.repeat(4096)))).toThrow(
      expect.objectContaining({ type: 'requestTooLargeError' }),
    );
  });
});
