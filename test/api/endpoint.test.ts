import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { logger } from '../../shared/adapters/logger.ts';
import { endpoint, MAX_PREFER_LENGTH, parsePreferences } from '../../shared/api/endpoint.ts';
import type { ApiRequest, ParsedRequest } from '../../shared/api/request.ts';
import { ok } from '../../shared/api/response.ts';
import { type EndpointName, endpointNames, isExtension } from '../../shared/contracts/endpoints.ts';
import type { Role } from '../../shared/contracts/token.ts';
import { badRequest } from '../../shared/domain/errors.ts';
import type { Caller } from '../../shared/domain/token.ts';
import { apiRequest, caller, lambdaContext } from '../support/api-request.ts';
import { forAll } from '../support/quick-run.ts';

/** A context that already has a caller, which authentication must overwrite. */
const context = { ...lambdaContext, caller: { ...caller, tenant: 'forged' } };

const setUp = (name: EndpointName = 'list-notifications', role: Role = 'admin') => {
  const authenticate = vi.fn(async (token: string) => (token === 'good' ? { ...caller, role } : undefined));
  const parse = vi.fn((request: ParsedRequest) => request.rawPath);
  const act = vi.fn(async (input: string, requestCaller: Caller) => ok({ input, caller: requestCaller }));
  const handler = endpoint(name, authenticate, parse, act);
  const call = async (changes: Partial<ApiRequest> = {}) => {
    const { statusCode, body = '', headers } = await handler(apiRequest(changes), { ...context });
    const content: unknown = JSON.parse(body);
    return { statusCode, headers, content };
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
  it('is handled for the tenant and role of its token', async () => {
    const { call } = setUp('list-notifications', 'observer');
    expect(await call()).toMatchObject({
      statusCode: 200,
      content: { input: '/notifications', caller: { tenant: 'acme', role: 'observer' } },
    });
  });

  it('is handled with the time that is left of the invocation', async () => {
    const act = vi.fn(async (_input: string, _caller: Caller, timeLeft: () => number) => ok(timeLeft()));
    const authenticate = async () => caller;
    const handler = endpoint('list-notifications', authenticate, () => '', act);
    expect(await handler(apiRequest(), { ...context })).toMatchObject({ body: '30000' });
  });

  it.each([
    ['no token', {}],
    ['an unknown token', { 'x-auth-token': 'bad' }],
    ['an empty token', { 'x-auth-token': '' }],
    ['a token in another header', { authorization: 'Bearer good' }],
  ])('is rejected with 401 for %s, before it is parsed', async (_, headers) => {
    const { call, parse, act } = setUp();
    expect(await call({ headers })).toMatchObject({
      statusCode: 401,
      headers: { 'content-type': 'application/json' },
      content: { type: 'unauthorizedError', code: 401, details: expect.stringMatching(/^X-Auth-Token: /) },
    });
    expect(parse).not.toHaveBeenCalled();
    expect(act).not.toHaveBeenCalled();
  });

  it('is authorized before it is parsed (403)', async () => {
    const { call, parse, act } = setUp('create-notification', 'observer');
    expect(await call()).toMatchObject({ statusCode: 403, content: { type: 'forbiddenError', code: 403 } });
    expect(parse).not.toHaveBeenCalled();
    expect(act).not.toHaveBeenCalled();
  });

  it('is parsed before it is handled (400)', async () => {
    const { call, parse, act } = setUp();
    parse.mockImplementation(() => {
      throw badRequest('label: is required');
    });
    expect(await call()).toMatchObject({ statusCode: 400, content: { details: 'label: is required' } });
    expect(act).not.toHaveBeenCalled();
  });
});

describe('an unknown query parameter', () => {
  const rawQueryString = 'stat=a&_who=jane&_why=b';
  const strict = { 'x-auth-token': 'good', prefer: 'Handling="strict", wait=5' };
  const rejected = { statusCode: 400, content: { type: 'badRequest', details: expect.stringMatching(/^stat: /) } };
  const extensions = endpointNames.filter(isExtension);
  const others = endpointNames.filter((name) => !isExtension(name));

  it.each(extensions)('of an extension returns 400: %s', async (name) => {
    const { call, parse } = setUp(name);
    const response = await call({ rawQueryString });
    expect(response).toMatchObject(rejected);
    expect(response.headers).not.toHaveProperty('preference-applied');
    expect(parse).not.toHaveBeenCalled();
  });

  it.each(others)('of another operation is ignored unless strict handling is preferred: %s', async (name) => {
    const { call, parse } = setUp(name);
    expect((await call({ rawQueryString })).headers).toEqual({ 'content-type': 'application/json' });
    expect(parse).toHaveBeenLastCalledWith(expect.objectContaining({ isStrict: false }));
    expect(await call({ rawQueryString, headers: strict })).toMatchObject({
      ...rejected,
      headers: { 'preference-applied': 'handling=strict' },
    });
    expect(parse).toHaveBeenCalledOnce();
  });

  it.each(endpointNames)('is none of _who and _why, and the preference is applied: %s', async (name) => {
    const { call, parse } = setUp(name);
    expect(await call({ rawQueryString: '_who=jane&_why=b', headers: strict })).toMatchObject({
      statusCode: 200,
      headers: { 'preference-applied': 'handling=strict' },
    });
    expect(parse).toHaveBeenLastCalledWith(expect.objectContaining({ isStrict: true }));
  });

  it('is not reported, nor a preference applied, before authorization', async () => {
    const { headers, statusCode } = await setUp('create-token', 'observer').call({ rawQueryString, headers: strict });
    expect([statusCode, headers]).toEqual([403, { 'content-type': 'application/json' }]);
  });
});

it.each([
  ['create-notification', 'observer', 'a token of role observer may not create notifications'],
  ['update-notification', 'observer', 'a token of role observer may not update notifications'],
  ['delete-notification', 'creator', 'a token of role creator may not delete notifications'],
  ['test-new-notification', 'observer', 'a token of role observer may not test notifications'],
  ['update-account', 'creator', 'a token of role creator may not administer the account'],
  ['list-tokens', 'observer', 'a token of role observer may not administer the account'],
] as const)('an authorization error names the role and what it may not do: %s by %s', async (name, role, details) => {
  expect(await setUp(name, role).call()).toMatchObject({ content: { details: `X-Auth-Token: ${details}` } });
});

const parsed = (header?: string) => Object.fromEntries(parsePreferences(header));

describe('a Prefer header', () => {
  it.each([
    [undefined, {}],
    ['', {}],
    ['handling=strict', { handling: 'strict' }],
    ['Handling = "strict"', { handling: 'strict' }],
    ['handling=Strict', { handling: 'Strict' }],
    ['return=representation, handling=strict', { return: 'representation', handling: 'strict' }],
    ['return=representation,handling=strict;wait=5 ; x="a;b,c"', { return: 'representation', handling: 'strict' }],
    ['handling=lenient, handling=strict', { handling: 'lenient' }],
    ['handling, handling=strict', { handling: '' }],
    ['handling="", HANDLING=strict', { handling: '' }],
    [',, handling=strict ,', { handling: 'strict' }],
    ['x="a, handling=strict"', { x: 'a, handling=strict' }],
    [String.raw`x="a\", handling=strict", return=minimal`, { x: 'a", handling=strict', return: 'minimal' }],
    ['a b, handling=strict', { handling: 'strict' }],
    ['handling=strict=1, =2, handling="strict', {}],
  ])('has these preferences: %s', (header, preferences) => {
    expect(parsed(header)).toEqual(preferences);
  });

  it('is ignored if it is too long', () => {
    const header = 'handling=strict,'.padEnd(MAX_PREFER_LENGTH, 'x');
    expect(parsed(header)).toMatchObject({ handling: 'strict' });
    expect(parsed(`${header}x`)).toEqual({});
  });

  const characters = [..."!#$%&'*+-.^_`|~09azAZ"];
  const token = fc.string({ unit: fc.constantFrom(...characters), minLength: 1, maxLength: 5 });
  const space = fc.constantFrom('', ' ', '\t', ' \t ');
  const quoted = (text: string) => `"${text.replace(/["\\]/g, String.raw`\$&`)}"`;
  const word = fc.oneof(
    token.map((value) => ({ value, source: value })),
    fc
      .string({ unit: fc.constantFrom(...characters, ' ', ',', ';', '=', '"', '\\'), maxLength: 8 })
      .map((value) => ({ value, source: quoted(value) })),
  );
  const pair = fc.tuple(token, fc.option(word), space, space).map(([name, value, before, after]) => ({
    name,
    value: value?.value ?? '',
    source: value ? `${name}${before}=${after}${value.source}` : name,
  }));
  const preference = fc
    .tuple(pair, fc.array(fc.tuple(space, space, fc.option(pair)), { maxLength: 2 }))
    .map(([first, parameters]) => ({
      ...first,
      source: [first.source, ...parameters.map(([a, b, each]) => `${a};${b}${each?.source ?? ''}`)].join(''),
    }));

  it('in any form of RFC 7240 has the first value of each preference', () => {
    forAll()(fc.array(preference, { maxLength: 6 }), fc.array(space), (preferences, spaces) => {
      const header = preferences
        .map(({ source }, index) => `${spaces[index] ?? ''}${source}${spaces[index + 1] ?? ''}`)
        .join(',');
      const expected = preferences.toReversed().map(({ name, value }) => [name.toLowerCase(), value] as const);
      expect(parsePreferences(header)).toEqual(new Map(expected));
    });
  });

  it('of any text has only preferences whose names are tokens in lower case', () => {
    forAll()(fc.string({ unit: fc.constantFrom(...characters, ' ', ',', ';', '=', '"', '\\', 'ä') }), (header) => {
      for (const name of parsePreferences(header).keys()) expect(name).toMatch(/^[!#$%&'*+\-.^_`|~0-9a-z]+$/);
    });
  });
});
