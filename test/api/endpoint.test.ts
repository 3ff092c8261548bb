import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { logger } from '../../shared/adapters/logger.ts';
import { endpoint } from '../../shared/api/endpoint.ts';
import type { ApiRequest } from '../../shared/api/request.ts';
import { ok } from '../../shared/api/response.ts';
import { type EndpointName, endpointNames } from '../../shared/contracts/endpoints.ts';
import type { Caller, Role } from '../../shared/domain/authorization.ts';
import { badRequest } from '../../shared/domain/errors.ts';
import { apiRequest, lambdaContext } from '../support/api-request.ts';

/** What a caller could hope to smuggle in: the invocation already says who calls. */
const context = { ...lambdaContext, caller: { tenant: 'smuggled', role: 'admin' } satisfies Caller };

const setUp = (name: EndpointName = 'list-notifications', role: Role = 'admin') => {
  const authenticate = vi.fn(async (token: string) => (token === 'good' ? { tenant: 'acme', role } : undefined));
  const parse = vi.fn((request: ApiRequest) => request.rawPath);
  const act = vi.fn(async (input: string, caller: Caller) => ok({ input, caller }));
  const handler = endpoint(name, authenticate, parse, act);
  const call = async (changes: Partial<ApiRequest> = {}) => {
    const { statusCode, body = '', headers } = await handler(apiRequest(changes), { ...context });
    const answer: unknown = JSON.parse(body);
    return { statusCode, headers, answer };
  };
  return { authenticate, parse, act, call };
};

beforeEach(() => {
  vi.spyOn(logger, 'error').mockImplementation(() => undefined);
});
afterEach(() => {
  vi.restoreAllMocks();
});

describe('a request', () => {
  it('is acted on for the tenant and role of its token, and of nothing else', async () => {
    const { call } = setUp('list-notifications', 'observer');
    expect(await call()).toMatchObject({
      statusCode: 200,
      answer: { input: '/notifications', caller: { tenant: 'acme', role: 'observer' } },
    });
  });

  it.each([
    ['no token', {}],
    ['a token that nobody has', { 'x-auth-token': 'bad' }],
    ['an empty token', { 'x-auth-token': '' }],
    ['a token under another name', { authorization: 'Bearer good' }],
  ])('is not authenticated with %s: 401, neither parsed nor acted on', async (_, headers) => {
    const { call, parse, act } = setUp();
    expect(await call({ headers })).toMatchObject({
      statusCode: 401,
      answer: { type: 'unauthorizedError', code: 401 },
    });
    expect(parse).not.toHaveBeenCalled();
    expect(act).not.toHaveBeenCalled();
  });

  it('is forbidden before it is parsed: 403', async () => {
    const { call, parse, act } = setUp('create-notification', 'observer');
    parse.mockImplementation(() => {
      throw badRequest('label: is required');
    });
    expect(await call()).toMatchObject({ statusCode: 403, answer: { type: 'forbiddenError', code: 403 } });
    expect(parse).not.toHaveBeenCalled();
    expect(act).not.toHaveBeenCalled();
  });

  it('is parsed before anything is done: 400', async () => {
    const { call, parse, act } = setUp();
    parse.mockImplementation(() => {
      throw badRequest('label: is required');
    });
    expect(await call()).toMatchObject({ statusCode: 400, answer: { details: 'label: is required' } });
    expect(act).not.toHaveBeenCalled();
  });

  it('is not authenticated before it is said to be wrong in any other way', async () => {
    const { call, parse } = setUp('create-notification', 'observer');
    parse.mockImplementation(() => {
      throw badRequest('label: is required');
    });
    expect(await call({ headers: {} })).toMatchObject({ statusCode: 401 });
  });

  it('is authenticated each time, by its own token', async () => {
    const { call, authenticate } = setUp();
    expect(await call()).toMatchObject({ statusCode: 200 });
    expect(await call({ headers: {} })).toMatchObject({ statusCode: 401 });
    expect(await call({ headers: { 'x-auth-token': 'bad' } })).toMatchObject({ statusCode: 401 });
    expect(authenticate.mock.calls).toEqual([['good'], ['bad']]);
  });
});

describe('each operation', () => {
  const allowed = {
    admin: endpointNames,
    creator: endpointNames.filter((name) => name !== 'delete-notification'),
    observer: ['list-notifications', 'get-notification', 'list-notification-types', 'get-notification-type'],
  } satisfies Record<Role, string[]>;

  it.each(endpointNames)('%s is open to the roles that may, and closed to the others', async (name) => {
    for (const role of ['admin', 'creator', 'observer'] as const) {
      const { call } = setUp(name, role);
      expect(await call()).toMatchObject({ statusCode: allowed[role].some((one) => one === name) ? 200 : 403 });
    }
  });
});

describe('every refusal', () => {
  const refusals: [number, EndpointName, Role, Partial<ApiRequest>][] = [
    [401, 'list-notifications', 'admin', { headers: {} }],
    [403, 'delete-notification', 'creator', {}],
  ];

  it.each(refusals)('%i has the five keys of an error, as JSON', async (status, name, role, changes) => {
    const { call } = setUp(name, role);
    const { headers, answer } = await call(changes);
    expect(headers).toEqual({ 'content-type': 'application/json' });
    expect(answer).toEqual({
      type: expect.any(String),
      code: status,
      message: expect.stringMatching(/^[A-Z].*\.$/),
      details: expect.stringMatching(/^X-Auth-Token: /),
      request_id: 'request-1',
    });
  });
});
