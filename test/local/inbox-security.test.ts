import { close, listen, origin } from 'local-aws/http.ts';
import { parseRaw, sendRaw } from 'local-aws/test/support/raw-http.ts';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createInbox } from '../../bin/local/inbox/inbox.ts';

const inbox = createInbox();
let url: string;
let port: number;
beforeAll(async () => {
  port = await listen(inbox.server);
  url = origin(port);
});
afterAll(() => close(inbox.server));
beforeEach(async () => {
  await fetch(url, { method: 'DELETE' });
  inbox.add({ kind: 'sms', to: '+1', text: 'private', attributes: {} });
});

/** Sends a request with these headers, as a browser would, and returns the status. */
const status = async (requestLine: string, headers: Record<string, string>): Promise<number> => {
  const lines = Object.entries({ connection: 'close', 'content-length': '0', ...headers });
  const head = [`${requestLine} HTTP/1.1`, ...lines.map(([name, value]) => `${name}: ${value}`)].join('\r\n');
  return parseRaw(await sendRaw(url, `${head}\r\n\r\n`)).status;
};

describe('the inbox and pages of other websites', () => {
  it('shows nothing to a page whose name resolves to this machine (DNS rebinding)', async () => {
    const host = `attacker.example:${port}`;
    for (const line of ['GET /', 'GET /updates', 'DELETE /']) expect(await status(line, { host })).toBe(403);
    expect(inbox.list()).toHaveLength(1);
  });

  it.each([
    { origin: 'https://attacker.example' },
    { origin: 'http://127.0.0.1:1' },
    { 'sec-fetch-site': 'same-site' },
  ])('accepts no change from a page of another origin: %j', async (headers) => {
    for (const line of ['DELETE /', 'POST /pager', 'POST /webhooks/acme', 'PUT /webhooks/acme']) {
      expect(await status(line, { host: `127.0.0.1:${port}`, ...headers })).toBe(403);
    }
    expect(inbox.list()).toHaveLength(1);
  });

  it('accepts changes from its own page and from clients that are not browsers', async () => {
    const host = `localhost:${port}`;
    expect(await status('DELETE /', { host, origin: `http://${host}`, 'sec-fetch-site': 'same-origin' })).toBe(204);
    expect(await status('POST /feed', { host })).toBe(201);
  });

  it('forbids other origins to load, frame or reinterpret its responses', async () => {
    const { headers } = await fetch(url);
    expect(headers.get('cross-origin-resource-policy')).toBe('same-origin');
    expect(headers.get('x-content-type-options')).toBe('nosniff');
    expect(headers.get('access-control-allow-origin')).toBeNull();
    const page = await fetch(url, { headers: { accept: 'text/html' } });
    expect(page.headers.get('content-security-policy')).toContain("frame-ancestors 'none'");
  });
});
