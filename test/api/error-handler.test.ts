import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { logger } from '../../shared/adapters/logger.ts';
import { createNotificationRepository } from '../../shared/adapters/notifications/notification-repository.ts';
import { type Authenticate, tokenAuthentication } from '../../shared/api/authentication.ts';
import { endpoint } from '../../shared/api/endpoint.ts';
import { noContent } from '../../shared/api/response.ts';
import { badRequest, notFound, ServiceError, unavailable } from '../../shared/domain/errors.ts';
import { newNotificationId } from '../../shared/domain/notification-id.ts';
import { newToken } from '../../shared/domain/token.ts';
import { apiRequest, lambdaContext } from '../support/api-request.ts';
import { closedPort } from '../support/servers.ts';

const SECRET = 'secret text of the exception';
const context = { ...lambdaContext, caller: { tenant: '', role: 'observer' as const } };
const admin: Authenticate = async () => ({ tenant: 'acme', role: 'admin' });

const answerTo = async (act: () => Promise<unknown>, authenticate = admin, headers = apiRequest().headers) => {
  const handler = endpoint(
    'list-notifications',
    authenticate,
    () => undefined,
    async () => {
      await act();
      return noContent;
    },
  );
  const { statusCode, headers: told, body = '' } = await handler(apiRequest({ headers }), { ...context });
  const answer: unknown = JSON.parse(body);
  return { statusCode, headers: told, answer, body };
};

const thrown = (error: unknown) => answerTo(() => Promise.reject(error));
const awsError = (name: string, more = {}) => Object.assign(new Error(SECRET), { name, ...more });

let logged = vi.spyOn(logger, 'error');
beforeEach(() => {
  logged = vi.spyOn(logger, 'error').mockImplementation(() => undefined);
});
afterEach(() => {
  vi.restoreAllMocks();
});

describe('an error that is meant for the client', () => {
  it.each([
    [400, badRequest('label: is required'), 'badRequest', 'label: is required'],
    [400, new ServiceError('invalidLimit', 'The limit is invalid.'), 'invalidLimit', 'The limit is invalid.'],
    [404, notFound('The notification'), 'notFoundError', 'The notification was not found.'],
    [413, new ServiceError('requestTooLargeError', 'Too large.'), 'requestTooLargeError', 'Too large.'],
    [429, new ServiceError('rateLimitReached', 'Enough.', { retryAfterSeconds: 60 }), 'rateLimitReached', 'Enough.'],
    [503, unavailable(), 'serviceUnavailable', 'The service is busy. Try again later.'],
  ])('is answered by its type: %i', async (status, error, type, details) => {
    const { statusCode, answer } = await thrown(error);
    expect(statusCode).toBe(status);
    expect(answer).toEqual({ type, code: status, message: error.message, details, request_id: 'request-1' });
  });

  it('says when to come again where that helps, and only there', async () => {
    const limited = new ServiceError('rateLimitReached', 'Enough.', { retryAfterSeconds: 60 });
    expect((await thrown(limited)).headers).toEqual({ 'content-type': 'application/json', 'retry-after': '60' });
    expect((await thrown(unavailable())).headers).toMatchObject({ 'retry-after': expect.stringMatching(/^\d+$/) });
    expect((await thrown(badRequest('x'))).headers).toEqual({ 'content-type': 'application/json' });
  });

  it('is logged only where it is a fault of ours', async () => {
    await thrown(badRequest('x'));
    expect(logged).not.toHaveBeenCalled();
    await thrown(unavailable());
    expect(logged).toHaveBeenCalledTimes(1);
  });
});

describe('a dependency that throttles or fails', () => {
  it.each([
    ['ProvisionedThroughputExceededException', {}],
    ['ThrottlingException', {}],
    ['RequestLimitExceeded', {}],
    ['TooManyRequestsException', {}],
    ['InternalServerError', { $metadata: { httpStatusCode: 500 } }],
    ['ServiceUnavailable', { $metadata: { httpStatusCode: 503 } }],
    ['TimeoutError', {}],
    ['Error', { code: 'ECONNREFUSED' }],
    ['Error', { code: 'ECONNRESET' }],
    ['Error', { code: 'ENOTFOUND' }],
    ['Error', { code: 'EAI_AGAIN' }],
  ])('is 503 with Retry-After: %s %o', async (name, more) => {
    const { statusCode, headers, answer, body } = await thrown(awsError(name, more));
    expect(statusCode).toBe(503);
    expect(headers).toMatchObject({ 'retry-after': expect.stringMatching(/^[1-9]\d*$/) });
    expect(answer).toMatchObject({ type: 'serviceUnavailable', code: 503, request_id: 'request-1' });
    expect(body).not.toContain(SECRET);
  });

  it('is 503 where the database cannot be reached, while acting or while authenticating', async () => {
    const unreachable = DynamoDBDocumentClient.from(
      new DynamoDBClient({
        region: 'local-1',
        endpoint: `http://127.0.0.1:${await closedPort()}`,
        credentials: { accessKeyId: 'local', secretAccessKey: 'local' },
        maxAttempts: 1,
      }),
    );
    const notifications = createNotificationRepository(unreachable, 'notifications');
    expect(await answerTo(() => notifications.get({ tenant: 'acme', id: newNotificationId() }))).toMatchObject({
      statusCode: 503,
    });
    const authenticate = tokenAuthentication(unreachable, { TOKENS_TABLE: 'tokens', TOKEN_CACHE_SECONDS: 60 });
    expect(await answerTo(async () => {}, authenticate, { 'x-auth-token': newToken() })).toMatchObject({
      statusCode: 503,
      headers: { 'retry-after': expect.any(String) },
    });
  });

  it.each(['ProvisionedThroughputExceededException', 'AccessDeniedException', 'ResourceNotFoundException'])(
    'never denies a caller: %s while authenticating is 503',
    async (name) => {
      const { statusCode, body } = await answerTo(
        async () => {},
        () => Promise.reject(awsError(name)),
      );
      expect(statusCode).toBe(503);
      expect(body).not.toContain(SECRET);
    },
  );
});

describe('an error that nobody expected', () => {
  it.each([
    ['an error', new Error(SECRET)],
    ['a type error', new TypeError(SECRET)],
    ['an error of AWS that is no throttle', awsError('ValidationException', { $metadata: { httpStatusCode: 400 } })],
    ['an error with an odd cause', new Error(SECRET, { cause: SECRET })],
  ])('is 500 without its text, for the client and in the log: %s', async (_, error) => {
    const { statusCode, answer, body } = await thrown(error);
    expect(statusCode).toBe(500);
    expect(answer).toEqual({
      type: 'internalError',
      code: 500,
      message: 'The service met an unexpected condition.',
      details: 'The service met an unexpected condition.',
      request_id: 'request-1',
    });
    expect(body).not.toContain(SECRET);
    expect(logged).toHaveBeenCalledTimes(1);
    expect(JSON.stringify(logged.mock.calls)).not.toContain(SECRET);
  });

  it('is logged with the request’s id, its class and where it was thrown', async () => {
    await thrown(new RangeError(SECRET));
    const [[, details] = []] = logged.mock.calls;
    expect(details).toMatchObject({
      request_id: 'request-1',
      type: 'internalError',
      error: 'RangeError',
      at: expect.arrayContaining([expect.stringContaining('error-handler.test.ts')]),
    });
  });

  it('is 500 even where what was thrown is no error', async () => {
    for (const odd of ['text', 7, null, undefined, {}]) expect((await thrown(odd)).statusCode).toBe(500);
  });
});
