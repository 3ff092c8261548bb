import type { Server } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createEndpoint } from '../endpoint.ts';
import { createGateway } from '../gateway/gateway.ts';
import { close, listen, origin } from '../http.ts';
import { parseRaw, sendRaw } from './support/raw-http.ts';

const endpoint = createEndpoint();
const gateway = createGateway('');
const served: string[] = [];
endpoint.services.set('sqs', async ({ action }) => {
  served.push(action);
  return { status: 200, headers: {}, body: '{}' };
});
gateway.serve({
  routes: [{ key: 'POST /things', functionName: 'things', timeoutMs: 1_000 }],
  invoke: async (functionName) => {
    served.push(functionName);
    return { requestId: 'request', payload: '{"statusCode":200}', failed: false };
  },
});

const urls = new Map<string, string>();
const servers: [name: string, server: Server][] = [
  ['the AWS endpoint', endpoint.server],
  ['the API', gateway.server],
];
beforeAll(async () => {
  for (const [name, server] of servers) urls.set(name, origin(await listen(server)));
});
afterAll(async () => {
  for (const [, server] of servers) await close(server);
});

/** Sends a request with these headers, as a browser would. Returns the response, and how many requests were served. */
const send = async (name: string, headers: Record<string, string>) => {
  const before = served.length;
  const common = { 'x-amz-target': 'AmazonSQS.SendMessage', 'content-length': '2', connection: 'close' };
  const lines = Object.entries({ ...common, ...headers }).map(([header, value]) => `${header}: ${value}`);
  const raw = await sendRaw(urls.get(name) ?? '', `POST /things HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n{}`);
  return { ...parseRaw(raw), servedCount: served.length - before };
};

describe.each(servers.map(([name]) => name))('%s of the local stack', (name) => {
  it.each(['attacker.example', '127.0.0.1.attacker.example', ''])(
    'refuses pages whose name resolves to this machine (DNS rebinding): Host "%s"',
    async (host) => {
      const { status, body, servedCount } = await send(name, { host });
      expect([status, servedCount]).toEqual([403, 0]);
      expect(body).toContain('The Host header must be a loopback name, such as 127.0.0.1 or localhost.');
    },
  );

  it.each(['https://attacker.example', 'http://127.0.0.1.attacker.example:3000'])(
    'refuses pages of other machines: Origin %s',
    async (page) => {
      const { status, body, servedCount } = await send(name, { host: '127.0.0.1:3000', origin: page });
      expect([status, servedCount]).toEqual([403, 0]);
      expect(body).toContain('The Origin header must be a loopback address.');
    },
  );

  it.each(['127.8.9.10', 'LOCALHOST', 'bucket.localhost:3000', '[::1]:3000'])(
    'accepts clients of this machine: %s',
    async (host) => {
      expect(await send(name, { host })).toMatchObject({ status: 200, servedCount: 1 });
      expect(await send(name, { host, 'sec-fetch-site': 'none' })).toMatchObject({ status: 200, servedCount: 1 });
    },
  );
});

const host = 'localhost:3000';

it('the API accepts pages of other local servers, such as a frontend under development', async () => {
  const page = { host, origin: 'https://localhost:8443', 'sec-fetch-site': 'cross-site' };
  expect(await send('the API', page)).toMatchObject({ status: 200, servedCount: 1 });
});

it('the API accepts forms of pages without a referrer, such as its own, and the AWS endpoint does not', async () => {
  const page = { host, origin: 'null' };
  expect(await send('the API', page)).toMatchObject({ status: 200, servedCount: 1 });
  expect(await send('the AWS endpoint', page)).toMatchObject({ status: 403, servedCount: 0 });
});

it.each([{ origin: 'http://localhost:8443' }, { 'sec-fetch-site': 'same-site' }, { 'sec-fetch-site': 'cross-site' }])(
  'the AWS endpoint refuses pages of other local servers, also without an Origin: %j',
  async (headers) => {
    expect(await send('the AWS endpoint', { host, ...headers })).toMatchObject({ status: 403, servedCount: 0 });
  },
);
