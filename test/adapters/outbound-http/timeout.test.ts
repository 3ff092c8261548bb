import { once } from 'node:events';
import { describe, expect, it, vi } from 'vitest';
import { createHttpClient, type HttpPost } from '../../../shared/adapters/outbound-http/http-client.ts';
import { egressRule } from '../../../shared/domain/egress.ts';
import { respondWith, startHttp, startTcp, writeRepeatedly } from '../../support/servers.ts';

const TIMEOUT_MS = 150;
const isAllowed = egressRule(['127.0.0.0/8']);
const http = createHttpClient({ isAllowed, resolve: async () => [{ address: '127.0.0.1', family: 4 }] });
const postWithin = (timeoutMs: number) => (request: HttpPost) => http.post({ ...request, timeoutMs });
const post = postWithin(TIMEOUT_MS);
/** For answers that must come: so long that a busy machine is no reason for a miss. */
const patiently = postWithin(10_000);
const message = { headers: {}, body: '{}' };
const missed = { name: 'RequestTimeoutError' };

const HEADERS = 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n';

describe('the deadline of a send', () => {
  it('holds where no answer comes', async () => {
    const { url } = await startTcp(() => undefined);
    await expect(post({ url: url(), ...message })).rejects.toMatchObject(missed);
  });

  it('holds where headers come drop by drop', async () => {
    const { url } = await startTcp((socket) => {
      socket.write('HTTP/1.1 200 OK\r\n');
      let count = 0;
      writeRepeatedly(socket, () => `x-${count++}: y\r\n`);
    });
    await expect(post({ url: url(), ...message })).rejects.toMatchObject(missed);
  });

  it('holds where TLS gets no answer', async () => {
    const { url } = await startTcp(() => undefined, 'https');
    await expect(post({ url: url('hooks.example.com'), ...message })).rejects.toMatchObject(missed);
  });

  it('holds where the name is looked up for ever', async () => {
    const stuck = createHttpClient({ isAllowed, resolve: () => new Promise(() => undefined) });
    const request = { url: new URL('http://hooks.example.com/'), ...message, deadline: TIMEOUT_MS };
    await expect(stuck.post(request)).rejects.toMatchObject(missed);
  });

  it('holds where the request is not taken', async () => {
    const { url } = await startTcp((socket) => socket.pause());
    await expect(post({ url: url(), headers: {}, body: 'x'.repeat(20_000_000) })).rejects.toMatchObject(missed);
  });

  it('holds where a body that decides comes drop by drop', async () => {
    const { url } = await startTcp((socket) => {
      socket.write(HEADERS);
      writeRepeatedly(socket, () => '1\r\nx\r\n');
    });
    await expect(post({ url: url(), ...message, readBody: true })).rejects.toMatchObject(missed);
  });

  it('is the deadline: neither much earlier nor much later', async () => {
    const { url } = await startTcp(() => undefined);
    const start = performance.now();
    await expect(post({ url: url(), ...message })).rejects.toMatchObject(missed);
    expect(performance.now() - start).toBeGreaterThan(TIMEOUT_MS - 20);
    expect(performance.now() - start).toBeLessThan(TIMEOUT_MS * 10);
  });

  it('holds for each of many requests at once, and for none that is answered', async () => {
    const [slow, quick] = [await startTcp(() => undefined), await startHttp(respondWith(200))];
    const within = postWithin(1_000);
    const outcomes = await Promise.allSettled(
      Array.from({ length: 20 }, (_, index) => within({ url: index % 2 ? slow.url() : quick.url(), ...message })),
    );
    expect(outcomes.map(({ status }) => status)).toEqual(
      Array.from({ length: 20 }, (_, index) => (index % 2 ? 'rejected' : 'fulfilled')),
    );
  });
});

describe('the body of an answer', () => {
  it('does not hold up the answer, however slowly it comes', async () => {
    const { url } = await startTcp((socket) => {
      socket.write(HEADERS);
      writeRepeatedly(socket, () => '1\r\nx\r\n');
    });
    expect(await patiently({ url: url(), ...message })).toMatchObject({ status: 200 });
  });

  it('does not hold up the answer where it has no end, and is cut off', async () => {
    const cutOff = vi.fn();
    const { url } = await startTcp((socket) => {
      socket.on('close', cutOff);
      socket.write(HEADERS);
      writeRepeatedly(socket, () => `8000\r\n${'x'.repeat(0x8000)}\r\n`);
    });
    expect(await patiently({ url: url(), ...message })).toMatchObject({ status: 200 });
    await vi.waitFor(() => expect(cutOff).toHaveBeenCalled());
  });

  it('is read up to 64 KB where it decides', async () => {
    const { url } = await startHttp(respondWith(200, {}, 'x'.repeat(1_000_000)));
    const { body } = await patiently({ url: url(), ...message, readBody: true });
    expect(body).toBe('x'.repeat(64 * 1024));
  });

  it('is not unpacked, whatever it says of itself', async () => {
    const { url } = await startHttp(respondWith(200, { 'content-encoding': 'gzip' }, 'no gzip'));
    expect(await patiently({ url: url(), ...message, readBody: true })).toMatchObject({
      status: 200,
      body: 'no gzip',
    });
  });

  it('that breaks off is a failure where it decides, and none where it does not', async () => {
    const { url } = await startTcp(async (socket) => {
      await once(socket, 'data');
      socket.end(`${HEADERS}5\r\nhe`);
    });
    expect(await patiently({ url: url(), ...message })).toMatchObject({ status: 200 });
    await expect(patiently({ url: url(), ...message, readBody: true })).rejects.toMatchObject({
      code: 'ECONNRESET',
    });
  });
});
