import { request } from 'node:http';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { RequestReport } from '../../gateway/gateway.ts';
import { createGateway } from '../../gateway/gateway.ts';
import { close, listen, origin } from '../../http.ts';
import type { InvocationResult } from '../../lambda/execution-environment-pool.ts';
import { parseRaw, sendRaw } from '../support/raw-http.ts';

const success = (returned: unknown): InvocationResult => ({
  requestId: 'r',
  payload: JSON.stringify(returned),
  failed: false,
});
const routes = [
  'GET /things',
  'POST /things',
  'GET /things/{id}',
  'GET /things/all',
  'POST /things/{id}/test',
  '$default',
].map((key) => ({ key, functionName: key, timeoutMs: 100 }));

const reports: RequestReport[] = [];
let invoke: (functionName: string, event: string) => Promise<InvocationResult>;
const echo = async (functionName: string, event: string) =>
  success({ statusCode: 200, headers: { 'x-function': encodeURIComponent(functionName) }, body: event });

const gateway = createGateway('');
const mapped = createGateway('/v1.0/123456');
let base: string;
let mappedBase: string;

beforeAll(async () => {
  for (const each of [gateway, mapped]) {
    each.serve({
      routes,
      invoke: (functionName, event) => invoke(functionName, event),
      onRequest: (report) => reports.push(report),
    });
  }
  base = origin(await listen(gateway.server));
  mappedBase = origin(await listen(mapped.server));
});
afterAll(async () => {
  await close(gateway.server);
  await close(mapped.server);
});
beforeEach(() => {
  invoke = echo;
});

const eventOf = async (path: string, init?: RequestInit): Promise<unknown> => (await fetch(base + path, init)).json();
const routeOf = (path: string, method = 'GET') =>
  new Promise<string>((resolve, reject) => {
    const clientRequest = request(base + path, { method }, (response) => {
      response.resume();
      resolve(decodeURIComponent(String(response.headers['x-function'])));
    });
    clientRequest.on('error', reject).end();
  });

it.each([
  ['GET', '/things/nt1', 'GET /things/{id}'],
  ['GET', '/things/all', 'GET /things/all'],
  ['GET', '/th%69ngs', 'GET /things'],
  ['POST', '/things/nt1/test', 'POST /things/{id}/test'],
  ['GET', '/things/', '$default'],
  ['GET', '/things/a/b', '$default'],
  ['HEAD', '/things', '$default'],
])('routes match %s %s to %s', async (method, path, route) => {
  expect(await routeOf(path, method)).toBe(route);
});

describe('the event', () => {
  it('has payload format 2.0', async () => {
    const event = await eventOf('/things/a%2Fb%20c?id=1&id=2&name=x%20y+z&empty=', {
      headers: { 'X-Auth-Token': 'secret', 'user-agent': 'test' },
    });
    const { host } = new URL(base);
    expect(event).toEqual({
      version: '2.0',
      routeKey: 'GET /things/{id}',
      rawPath: '/things/a/b c',
      rawQueryString: 'id=1&id=2&name=x%20y+z&empty=',
      headers: expect.objectContaining({
        'x-auth-token': 'secret',
        'x-forwarded-for': '127.0.0.1',
        'x-forwarded-proto': 'http',
        'x-forwarded-port': new URL(base).port,
      }),
      queryStringParameters: { id: '1,2', name: 'x y z', empty: '' },
      pathParameters: { id: 'a/b c' },
      requestContext: {
        accountId: '000000000000',
        apiId: 'local',
        domainName: host,
        domainPrefix: '127',
        http: { method: 'GET', path: '/things/a/b c', protocol: 'HTTP/1.1', sourceIp: '127.0.0.1', userAgent: 'test' },
        requestId: expect.any(String),
        routeKey: 'GET /things/{id}',
        stage: '$default',
        timeEpoch: expect.any(Number),
      },
      isBase64Encoded: false,
    });
  });

  it('never uses the Host header as the domain name', async () => {
    const raw = await sendRaw(base, 'GET /things HTTP/1.1\r\nHost: other.localhost\r\nConnection: close\r\n\r\n');
    const { requestContext, headers } = JSON.parse(parseRaw(raw).body);
    expect(requestContext.domainName).toBe(new URL(base).host);
    expect(headers.host).toBe('other.localhost');
  });

  it('joins repeated headers with commas, without cookies', async () => {
    const raw = await sendRaw(
      base,
      'GET /things HTTP/1.1\r\nHost: localhost\r\nX-Auth-Token: 1\r\nx-auth-token: 2\r\nContent-Type: a\r\nContent-Type: b\r\nCookie: a=1; b=2\r\n__proto__: x\r\nConnection: close\r\n\r\n',
    );
    const { headers } = JSON.parse(parseRaw(raw).body);
    expect(headers['x-auth-token']).toBe('1,2');
    expect(headers['content-type']).toBe('a,b');
    expect(Object.hasOwn(headers, '__proto__')).toBe(true);
    expect(headers).not.toHaveProperty('cookie');
  });

  it.each([
    ['application/json; charset=utf-8', '{"ä":1}', '{"ä":1}', false],
    ['application/atom+xml;type=entry', '<a/>', '<a/>', false],
    ['application/octet-stream', 'text', 'dGV4dA==', true],
    ['application/json', Buffer.from([0xff, 0xfe]), '//4=', true],
  ])('contains a body of type %s', async (type, body, eventBody, isBase64Encoded) => {
    const init = { method: 'POST', headers: { 'content-type': type }, body: new Uint8Array(Buffer.from(body)) };
    expect(await eventOf('/things', init)).toMatchObject({ body: eventBody, isBase64Encoded });
  });
});

describe('the response', () => {
  const respondWith = async (returned: unknown, init?: RequestInit) => {
    invoke = async () => success(returned);
    const response = await fetch(`${base}/things`, init);
    return { status: response.status, headers: response.headers, body: await response.text() };
  };

  it('is the return value of the function', async () => {
    const { status, headers, body } = await respondWith({
      statusCode: 201,
      headers: { Location: '/things/1', 'x-count': 3 },
      body: 'grüße',
    });
    expect([status, body]).toEqual([201, 'grüße']);
    expect(headers.get('location')).toBe('/things/1');
    expect(headers.get('x-count')).toBe('3');
    expect(headers.get('content-type')).toBe('text/plain; charset=utf-8');
  });

  it('decodes base64, and has no body for a 204', async () => {
    expect(await respondWith({ statusCode: 200, body: 'aGk=', isBase64Encoded: true })).toMatchObject({ body: 'hi' });
    const { status, headers, body } = await respondWith({ statusCode: 204 });
    expect([status, headers.get('content-length'), body]).toEqual([204, null, '']);
  });

  it.each([
    ['no status', { hello: 'world' }],
    ['a status that is not a number', { statusCode: 'fine' }],
    ['a body that is not text', { statusCode: 200, body: { a: 1 } }],
    ['an invalid header value', { statusCode: 200, headers: { 'x-a': 'line\nbreak' } }],
  ])('is 500 for %s', async (_, returned) => {
    expect(await respondWith(returned)).toMatchObject({ status: 500, body: '{"message":"Internal Server Error"}' });
  });

  it('is 500 if the function fails and 503 if it times out', async () => {
    invoke = async () => ({ requestId: 'r', payload: '{}', failed: true });
    expect((await fetch(`${base}/things`)).status).toBe(500);
    invoke = () => new Promise(() => {});
    const late = await fetch(`${base}/things`);
    expect([late.status, await late.json()]).toEqual([503, { message: 'Service Unavailable' }]);
  });
});

describe('the gateway', () => {
  const status = async (body: Uint8Array<ArrayBuffer>, type = 'application/json') => {
    const response = await fetch(`${base}/things`, { method: 'POST', headers: { 'content-type': type }, body });
    return [response.status, ((await response.json()) as { message?: string }).message];
  };
  const tooLarge = [413, 'Request Entity Too Large'];
  const megabytes = (count: number) => new Uint8Array(count * 1024 * 1024).fill(0x61);

  it('rejects a body over 10 MB and an event over 6 MB', async () => {
    expect(await status(megabytes(11))).toEqual(tooLarge);
    expect(await status(megabytes(6))).toEqual(tooLarge);
    expect(await status(megabytes(5), 'application/octet-stream')).toEqual(tooLarge);
    expect(await status(megabytes(5))).toEqual([200, undefined]);
  });

  it('allows 10,240 bytes for the request line and the headers', async () => {
    const head = (size: number) => {
      const fixed = 'GET /things HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nX: \r\n'.length;
      return `GET /things HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nX: ${'x'.repeat(size - fixed)}\r\n\r\n`;
    };
    expect(parseRaw(await sendRaw(base, head(10_240))).status).toBe(200);
    for (const size of [10_241, 20_000, 100_000]) {
      expect(parseRaw(await sendRaw(base, head(size)))).toEqual({
        status: 431,
        body: '{"message":"Request Header Fields Too Large"}',
      });
    }
  });

  it.each([
    ['nonsense', 'nonsense\r\n\r\n'],
    ['no Host', 'GET /things HTTP/1.1\r\nConnection: close\r\n\r\n'],
    ['a path with invalid escapes', 'GET /things/%zz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n'],
    ['a target that is not a path', 'OPTIONS * HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n'],
  ])('responds with 400 to %s', async (_, bytes) => {
    expect(parseRaw(await sendRaw(base, bytes))).toEqual({ status: 400, body: '{"message":"Bad Request"}' });
  });
});

it('responds with 503 until the gateway has an API to serve', async () => {
  const early = createGateway('');
  const response = await fetch(origin(await listen(early.server)));
  expect([response.status, await response.json()]).toEqual([503, { message: 'Service Unavailable' }]);
  await close(early.server);
});

describe('a base path', () => {
  it('is part of the event path but not of the route', async () => {
    const event = await (await fetch(`${mappedBase}/v1.0/123456/things/1`)).json();
    expect(event).toMatchObject({
      routeKey: 'GET /things/{id}',
      rawPath: '/v1.0/123456/things/1',
      pathParameters: { id: '1' },
      requestContext: { http: { path: '/v1.0/123456/things/1' } },
    });
  });

  it.each(['/things', '/v1.0/1234567/things'])('hides the API from %s', async (path) => {
    const response = await fetch(mappedBase + path);
    expect([response.status, await response.json()]).toEqual([404, { message: 'Not Found' }]);
  });
});

describe('the report of a request', () => {
  const reportOf = async (path: string): Promise<RequestReport[]> => {
    reports.length = 0;
    await (await fetch(base + path)).text();
    return [...reports];
  };

  it('contains the route key and the status', async () => {
    invoke = async () => success({ statusCode: 404, body: '' });
    expect(await reportOf('/things/nt1')).toEqual([
      { routeKey: 'GET /things/{id}', status: 404, latencyMs: expect.any(Number) },
    ]);
  });

  it('includes the run time of the function in the latency', async () => {
    invoke = (functionName) =>
      new Promise((resolve) => setTimeout(() => resolve(success({ statusCode: 200, body: functionName })), 40));
    const [report] = await reportOf('/things');
    expect(report?.latencyMs).toBeGreaterThanOrEqual(35);
  });

  it('has no route if none matched, and status 503 if the function is throttled', async () => {
    reports.length = 0;
    await (await fetch(`${mappedBase}/elsewhere`)).text();
    invoke = async () => ({ requestId: 'r', payload: '{}', failed: true, throttled: true });
    await (await fetch(`${base}/things`)).text();
    expect(reports).toMatchObject([
      { routeKey: undefined, status: 404 },
      { routeKey: 'GET /things', status: 503 },
    ]);
  });
});
