import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it, vi } from 'vitest';
import { createHttpClient, type HttpPost } from '../../../shared/adapters/outbound-http/http-client.ts';
import { egressRule } from '../../../shared/domain/egress.ts';
import { respondWith, startHttp, startTcp, writeRepeatedly } from '../../support/servers.ts';
import { until } from '../../support/until.ts';

const TIMEOUT_MS = 150;
const isAllowed = egressRule(['127.0.0.0/8']);
const http = createHttpClient({ isAllowed, resolve: async () => [{ address: '127.0.0.1', family: 4 }] });
const postWithin = (timeoutMs: number) => (request: HttpPost) => http.post({ ...request, timeoutMs });
const post = postWithin(TIMEOUT_MS);
/** Long enough for a response even on a busy machine. */
const postSlowly = postWithin(10_000);
const message = { headers: {}, body: '{}' };
const timedOut = { name: 'RequestTimeoutError' };

const HEADERS = 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n';

describe('the request timeout', () => {
  it('applies if a status line arrives slowly', async () => {
    const { url } = await startTcp((socket) => writeRepeatedly(socket, () => 'HTTP/1.1 103 Hints\r\n\r\n'));
    await expect(post({ url: url(), ...message })).rejects.toMatchObject(timedOut);
  });

  it('applies if the server does not respond to the TLS handshake', async () => {
    const { url } = await startTcp(() => undefined, 'https');
    await expect(post({ url: url('hooks.example.com'), ...message })).rejects.toMatchObject(timedOut);
  });

  it('applies if the DNS lookup hangs', async () => {
    const stuck = createHttpClient({ isAllowed, resolve: () => new Promise(() => undefined) });
    const request = { url: new URL('http://hooks.example.com/'), ...message, timeoutMs: TIMEOUT_MS };
    await expect(stuck.post(request)).rejects.toMatchObject(timedOut);
  });

  it('applies if the server does not read the request', async () => {
    const { url } = await startTcp((socket) => socket.pause());
    await expect(post({ url: url(), headers: {}, body: 'x'.repeat(20_000_000) })).rejects.toMatchObject(timedOut);
  });

  it('ends the request close to the configured time', async () => {
    const { url } = await startTcp(() => undefined);
    const start = performance.now();
    // Timers fire in the order of their due times, however late.
    const limit = sleep(TIMEOUT_MS * 10, 'too late');
    await expect(Promise.race([post({ url: url(), ...message }), limit])).rejects.toMatchObject(timedOut);
    expect(performance.now() - start).toBeGreaterThan(TIMEOUT_MS - 20);
  });
});

describe('the response body', () => {
  it('does not delay the status if it is endless, and is cut off', async () => {
    const cutOff = vi.fn();
    const { url } = await startTcp((socket) => {
      socket.on('close', cutOff);
      socket.write(HEADERS);
      writeRepeatedly(socket, () => `8000\r\n${'x'.repeat(0x8000)}\r\n`);
    });
    expect(await postSlowly({ url: url(), ...message })).toMatchObject({ status: 200 });
    await until(() => cutOff.mock.calls.length > 0);
  });

  it.each(['gzip', 'br', 'GZIP'])('is empty if its content encoding is %s', async (encoding) => {
    const { url } = await startHttp(respondWith(200, { 'content-encoding': encoding }, 'compressed'));
    expect(await postSlowly({ url: url(), ...message, readBody: true })).toMatchObject({ status: 200, body: '' });
  });

  it.each([
    ['text/plain; charset=ISO-8859-1', 'latin1', 'é'],
    ['text/plain; charset="windows-1252"', 'latin1', 'é'],
    ['text/plain; charset=unknown', 'utf8', 'é'],
    ['text/plain', 'utf8', 'é'],
  ] as const)('of type %s is decoded', async (type, encoding, text) => {
    const { url } = await startTcp((socket) =>
      socket.end(
        Buffer.concat([Buffer.from(`HTTP/1.1 500 No\r\nContent-Type: ${type}\r\n\r\n`), Buffer.from(text, encoding)]),
      ),
    );
    expect(await postSlowly({ url: url(), ...message })).toMatchObject({ status: 500, body: text });
  });
});
