import { createServer, request } from 'node:http';
import { text } from 'node:stream/consumers';
import { close, listen, origin } from 'local-aws/http.ts';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createApiDocs } from '../../bin/local/api-docs.ts';

/** An API that responds with what it received. */
const api = createServer(async (received, response) => {
  const { method, url, headers } = received;
  const body = JSON.stringify({ method, url, token: headers['x-auth-token'], body: await text(received) });
  response.writeHead(429, { 'retry-after': '7', 'content-type': 'application/json' }).end(body);
});
let baseUrl: string;
let docs: ReturnType<typeof createApiDocs>;
let url: string;
beforeAll(async () => {
  baseUrl = `${origin(await listen(api))}/v1.0/1`;
  docs = createApiDocs({ baseUrl, token: 'mnt_admin' });
  url = origin(await listen(docs));
});
afterAll(async () => {
  await close(docs);
  await close(api);
});

describe('the API documentation of the local stack', () => {
  it('serves the page and its files, with a policy that permits no other host', async () => {
    const page = await fetch(url);
    expect(page.headers.get('content-security-policy')).toContain("default-src 'none'");
    const files = [...(await page.text()).matchAll(/(?:src|href)="([^"]+)"/g)].map(([, path = '']) => path);
    expect(files).toHaveLength(4);
    for (const path of files) {
      expect(path).toMatch(/^\/[\w.-]+$/);
      expect((await fetch(url + path)).status).toBe(200);
    }
  });

  it('serves the OpenAPI document with the running API as its server', async () => {
    const document = await (await fetch(`${url}/openapi.json`)).json();
    expect(document).toMatchObject({ openapi: '3.1.0', servers: [{ url: baseUrl }] });
  });

  it('forwards the requests of the page to the API', async () => {
    const response = await fetch(`${url}/api/notifications?limit=1&id=a%20b`, {
      method: 'POST',
      headers: { 'x-auth-token': 'mnt_admin' },
      body: '{"label":"é"}',
    });
    expect([response.status, response.headers.get('retry-after')]).toEqual([429, '7']);
    expect(await response.json()).toEqual({
      method: 'POST',
      url: '/v1.0/1/notifications?limit=1&id=a%20b',
      token: 'mnt_admin',
      body: '{"label":"é"}',
    });
  });

  it('lets no page of another site load a file, because the script contains the token', async () => {
    for (const path of ['/', '/docs.js', '/openapi.json', '/swagger-ui-bundle.js', '/unknown']) {
      const { headers } = await fetch(url + path);
      expect(headers.get('cross-origin-resource-policy')).toBe('same-origin');
      expect(headers.get('x-content-type-options')).toBe('nosniff');
    }
  });

  it('returns 404 for other paths and methods', async () => {
    for (const [path, method] of [
      ['/package.json', 'GET'],
      ['/', 'POST'],
    ] as const) {
      expect((await fetch(url + path, { method })).status).toBe(404);
    }
  });

  it('returns 502 if the API does not respond', async () => {
    const server = createApiDocs({ baseUrl: 'http://127.0.0.1:1', token: '' });
    expect((await fetch(`${origin(await listen(server))}/api/account`)).status).toBe(502);
    await close(server);
  });

  it('rejects requests under another name, which a page of another site could send', async () => {
    const status = await new Promise((resolve, reject) => {
      request(url, { headers: { host: 'attacker.example' } }, ({ statusCode }) => resolve(statusCode))
        .on('error', reject)
        .end();
    });
    expect(status).toBe(403);
  });
});
