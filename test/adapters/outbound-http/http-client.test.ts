import type { Socket } from 'node:net';
import tls from 'node:tls';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { createHttpClient } from '../../../shared/adapters/outbound-http/http-client.ts';
import { egressRule } from '../../../shared/domain/egress.ts';
import { selfSignedCertificate } from '../../support/certificate.ts';
import { respondWith, startHttp, startHttps, startTcp, writeRepeatedly } from '../../support/servers.ts';
import { until } from '../../support/until.ts';
import { useStarted } from '../../support/use-started.ts';

const isAllowed = egressRule(['127.0.0.0/8', '::1/128']);
const resolve = async () => [{ address: '127.0.0.1', family: 4 }];
const client = (options: Partial<Parameters<typeof createHttpClient>[0]> = {}) =>
  createHttpClient({ isAllowed, resolve, ...options });

const message = { headers: { 'content-type': 'application/json' }, body: '{"a":"ä"}', timeoutMs: 5_000 };

const systemCertificates = tls.getCACertificates('default');
const identity = useStarted(
  async () => {
    const trusted = await selfSignedCertificate('hooks.example.com');
    tls.setDefaultCACertificates([...systemCertificates, trusted.cert]);
    return trusted;
  },
  () => tls.setDefaultCACertificates(systemCertificates),
);

describe('the HTTP client', () => {
  it('posts the whole body with the given headers', async () => {
    const received = vi.fn();
    const { url } = await startHttp((request, response) => {
      const { method, url: path, headers } = request;
      request.setEncoding('utf8').on('data', (body) => received({ method, path, headers, body }));
      request.on('end', () => response.end());
    });
    await client().post({ url: url('hooks.example.com', '/a%20b?c=d'), ...message });
    expect(received).toHaveBeenCalledExactlyOnceWith({
      method: 'POST',
      path: '/a%20b?c=d',
      headers: expect.objectContaining({
        host: url('hooks.example.com').host,
        'content-type': 'application/json',
        'content-length': '10',
      }),
      body: '{"a":"ä"}',
    });
  });

  it.each([200, 204, 301, 404, 410, 429, 500, 503, 599])(
    'returns the status %i, Retry-After unchanged, and the body, of a 2xx response only with readBody',
    async (status) => {
      const retryAfter = 'Thu, 01 Jan 2026 00:00:00 GMT';
      const sent = status === 204 ? '' : 'why';
      const { url } = await startHttp(respondWith(status, { 'retry-after': retryAfter }, sent));
      const body = status < 300 ? '' : sent;
      expect(await client().post({ url: url(), ...message })).toEqual({ status, retryAfter, body });
      expect(await client().post({ url: url(), ...message, readBody: true })).toMatchObject({ body: sent });
    },
  );

  it.each([
    ['never ends', () => undefined],
    ['ends early', (socket: Socket) => socket.end()],
  ])('returns the status of a failed response whose body %s', async (_, end) => {
    const { url } = await startTcp((socket) => {
      socket.once('data', () =>
        socket.write('HTTP/1.1 503 No\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nstart\r\n', () => end(socket)),
      );
    });
    const request = { url: url(), ...message, timeoutMs: 1_000 };
    expect(await client().post(request)).toEqual({ status: 503, retryAfter: undefined, body: '' });
  });

  it('does not follow a redirect', async () => {
    const redirectTarget = await startHttp(respondWith(200));
    const { url } = await startHttp(respondWith(307, { location: redirectTarget.url().href }));
    expect(await client().post({ url: url(), ...message })).toMatchObject({ status: 307 });
    expect(redirectTarget.connectedAddresses).toEqual([]);
  });

  it('does not use a proxy of the environment', async () => {
    const proxy = await startHttp(respondWith(200));
    const { url } = await startHttp(respondWith(201));
    for (const name of ['HTTP_PROXY', 'http_proxy', 'HTTPS_PROXY', 'https_proxy', 'ALL_PROXY']) {
      vi.stubEnv(name, proxy.url().href);
    }
    vi.stubEnv('NODE_USE_ENV_PROXY', '1');
    onTestFinished(() => void vi.unstubAllEnvs());
    expect(await client().post({ url: url('hooks.example.com'), ...message })).toMatchObject({ status: 201 });
    expect(proxy.connectedAddresses).toEqual([]);
  });
});

describe('a connection', () => {
  it('is reused for the next request', async () => {
    const { url, connectedAddresses } = await startHttp(respondWith(200, {}, 'short'));
    const { post } = client();
    for (let count = 0; count < 3; count++) await post({ url: url(), ...message });
    expect(connectedAddresses).toHaveLength(1);
  });

  it('is not reused after more than 2 s, since the execution environment may have been frozen', async () => {
    let now = 0;
    const { url, connectedAddresses } = await startHttp(respondWith(200));
    const { post } = client({ clock: () => now });
    await post({ url: url(), ...message });
    await until(async () => {
      now += 2_001;
      await post({ url: url(), ...message });
      return connectedAddresses.length > 1;
    });
  });

  it('is not reused after more than 2 s even while another response is still arriving', async () => {
    let now = 0;
    const quick = await startHttp(respondWith(200));
    const slow = await startTcp((socket) => {
      socket.write('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n');
      writeRepeatedly(socket, () => '1\r\nx\r\n');
    });
    const { post } = client({ clock: () => now });
    await post({ url: quick.url(), ...message });
    await post({ url: slow.url(), ...message });
    now += 60_000;
    await post({ url: quick.url(), ...message });
    expect(quick.connectedAddresses).toHaveLength(2);
  });

  it('is not shared by concurrent requests', async () => {
    const { url, connectedAddresses } = await startHttp(respondWith(200));
    const { post } = client();
    await Promise.all(Array.from({ length: 5 }, () => post({ url: url(), ...message })));
    expect(connectedAddresses).toHaveLength(5);
  });
});

describe('HTTPS', () => {
  it('accepts a certificate for the host name', async () => {
    const { url } = await startHttps(identity, respondWith(200));
    expect(await client().post({ url: url('hooks.example.com'), ...message })).toMatchObject({ status: 200 });
  });

  it.each([
    ['for another name', 'other.example.com', identity, /^ERR_TLS_CERT_ALTNAME_INVALID$/],
    ['that is untrusted', 'hooks.example.com', undefined, /SELF_SIGNED|SIGNATURE|UNABLE_TO_VERIFY/],
  ] as const)('sends nothing to a host with a certificate %s', async (_, host, own, code) => {
    const answer = vi.fn(respondWith(200));
    const { url } = await startHttps(own ?? (await selfSignedCertificate(host)), answer);
    await expect(client().post({ url: url(host), ...message })).rejects.toMatchObject({
      code: expect.stringMatching(code),
    });
    expect(answer).not.toHaveBeenCalled();
  });
});

it('a failed connection rejects if the server switches protocols', async () => {
  const upgrade = 'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: other\r\n\r\n';
  const { url } = await startTcp((socket) => socket.once('data', () => socket.write(upgrade)));
  const settled = vi.fn();
  client()
    .post({ url: url(), ...message, timeoutMs: 300 })
    .then(settled, settled);
  await until(() => settled.mock.calls.length > 0);
});
