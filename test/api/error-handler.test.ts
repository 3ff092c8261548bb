import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { TransactionContentionError, UnconfirmedChangeError } from '../../shared/adapters/dynamodb/errors.ts';
import { logger } from '../../shared/adapters/logger.ts';
import { type Authenticate, endpoint } from '../../shared/api/endpoint.ts';
import { noContent } from '../../shared/api/response.ts';
import { badRequest, notFound, ServiceError, unavailable } from '../../shared/domain/errors.ts';
import { apiRequest, caller, lambdaContext } from '../support/api-request.ts';
import { recordMetrics } from '../support/printed-metrics.ts';

const SECRET = 'secret message of the exception';
const context = { ...lambdaContext, caller };
const admin: Authenticate = async () => caller;

const responseTo = async (act: () => Promise<unknown>, authenticate = admin, headers = apiRequest().headers) => {
  const handler = endpoint(
    'list-notifications',
    authenticate,
    () => undefined,
    async () => {
      await act();
      return noContent;
    },
  );
  const { statusCode, headers: responseHeaders, body = '' } = await handler(apiRequest({ headers }), { ...context });
  const content: unknown = JSON.parse(body);
  return { statusCode, headers: responseHeaders, content, body };
};

const responseToError = (error: unknown) => responseTo(() => Promise.reject(error));
const awsError = (name: string, more = {}) => Object.assign(new Error(SECRET), { name, ...more });

let logError = vi.spyOn(logger, 'error');
beforeEach(() => {
  logError = vi.spyOn(logger, 'error').mockImplementation(() => undefined);
});
afterEach(() => {
  vi.restoreAllMocks();
});

it.each([
  ['an unconfirmed one', new UnconfirmedChangeError(awsError('TimeoutError')), []],
  [
    'one whose transactions conflict, which counts as throttling',
    new TransactionContentionError(awsError('TransactionConflictException')),
    [expect.objectContaining({ throttled_requests: 1 })],
  ],
])('a change that may be repeated is returned as 503 with Retry-After: %s', async (_, error, counted) => {
  const metrics = recordMetrics();
  expect(await responseToError(error)).toMatchObject({
    statusCode: 503,
    headers: { 'retry-after': expect.stringMatching(/^[12]$/) },
    content: { type: 'serviceUnavailable' },
  });
  expect(metrics()).toEqual(counted);
  expect(logError).toHaveBeenCalledTimes(1);
});

describe('a ServiceError', () => {
  it.each([
    [400, badRequest('label: is required'), 'badRequest', 'label: is required'],
    [400, new ServiceError('invalidLimit', 'The limit is invalid.'), 'invalidLimit', 'The limit is invalid.'],
    [404, notFound('The notification'), 'notFoundError', 'The notification was not found.'],
    [413, new ServiceError('requestTooLargeError', 'Too large.'), 'requestTooLargeError', 'Too large.'],
    [429, new ServiceError('rateLimitReached', 'Enough.', { retryAfterSeconds: 60 }), 'rateLimitReached', 'Enough.'],
    [503, unavailable(), 'serviceUnavailable', 'The service is busy. Try again later.'],
  ])('is returned with the status of its type: %i', async (status, error, type, details) => {
    const { statusCode, content } = await responseToError(error);
    expect(statusCode).toBe(status);
    expect(content).toEqual({ type, code: status, message: error.message, details, request_id: 'request-1' });
  });

  it('has Retry-After for 429 and 503 only', async () => {
    const limited = new ServiceError('rateLimitReached', 'Enough.', { retryAfterSeconds: 60 });
    expect((await responseToError(limited)).headers).toEqual({
      'content-type': 'application/json',
      'retry-after': '60',
    });
    expect((await responseToError(unavailable())).headers).toMatchObject({
      'retry-after': expect.stringMatching(/^\d+$/),
    });
    expect((await responseToError(badRequest('x'))).headers).toEqual({ 'content-type': 'application/json' });
  });

  it('is logged only with a 5xx status', async () => {
    await responseToError(badRequest('x'));
    expect(logError).not.toHaveBeenCalled();
    await responseToError(unavailable());
    expect(logError).toHaveBeenCalledTimes(1);
  });
});

describe('an error of a dependency', () => {
  it.each([
    ['ProvisionedThroughputExceededException', {}],
    ['ThrottlingException', {}],
    ['InternalServerError', { $metadata: { httpStatusCode: 500 } }],
    ['TimeoutError', {}],
    ['Error', { code: 'ECONNREFUSED' }],
    ['Error', { code: 'EAI_AGAIN' }],
  ])('is returned as 503 with Retry-After: %s %o', async (name, more) => {
    const { statusCode, headers, content, body } = await responseToError(awsError(name, more));
    expect(statusCode).toBe(503);
    expect(headers).toMatchObject({ 'retry-after': expect.stringMatching(/^[1-9]\d*$/) });
    expect(content).toMatchObject({ type: 'serviceUnavailable', code: 503, request_id: 'request-1' });
    expect(body).not.toContain(SECRET);
  });

  it.each(['ProvisionedThroughputExceededException', 'AccessDeniedException', 'ResourceNotFoundException'])(
    'is returned as 503 if it occurs during authentication: %s',
    async (name) => {
      const { statusCode, body } = await responseTo(
        async () => {},
        () => Promise.reject(awsError(name)),
      );
      expect(statusCode).toBe(503);
      expect(body).not.toContain(SECRET);
    },
  );
});

describe('an unexpected error', () => {
  it.each([
    ['an error', new TypeError(SECRET)],
    ['an AWS error that is not retryable', awsError('ValidationException', { $metadata: { httpStatusCode: 400 } })],
    ['an error whose cause is a string', new Error(SECRET, { cause: SECRET })],
  ])('is returned as 500 without its message, which is not logged either: %s', async (_, error) => {
    const { statusCode, content, body } = await responseToError(error);
    expect(statusCode).toBe(500);
    expect(content).toEqual({
      type: 'internalError',
      code: 500,
      message: 'The service met an unexpected condition.',
      details: 'The service met an unexpected condition.',
      request_id: 'request-1',
    });
    expect(body).not.toContain(SECRET);
    expect(logError).toHaveBeenCalledTimes(1);
    expect(JSON.stringify(logError.mock.calls)).not.toContain(SECRET);
  });

  it('is logged with the request ID, its class and its stack frames', async () => {
    await responseToError(new RangeError(SECRET));
    const [[, details] = []] = logError.mock.calls;
    expect(details).toMatchObject({
      request_id: 'request-1',
      type: 'internalError',
      error: 'RangeError',
      at: expect.arrayContaining([expect.stringContaining('error-handler.test.ts')]),
    });
  });

  it('is returned as 500 even if the thrown value is not an Error', async () => {
    for (const value of ['text', 7, null, undefined, {}]) expect((await responseToError(value)).statusCode).toBe(500);
  });
});
