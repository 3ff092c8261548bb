import type { Socket } from 'node:net';
import { describe, expect, it, vi } from 'vitest';
import { createHttpClient, type HttpPost } from '../../../shared/adapters/outbound-http/http-client.ts';
import { egressRule } from '../../../shared/domain/egress.ts';
import { startTcp } from '../../support/servers.ts';
import { until } from '../../support/until.ts';

const isAllowed = egressRule(['127.0.0.0/8']);
const client = () => createHttpClient({ isAllowed, resolve: async () => [{ address: '127.0.0.1', family: 4 }] });
const message = { headers: {}, body: '{}', timeoutMs: 10_000 };

/** Starts a server that calls `respond` with each request. */
const startReceiver = async (respond: (socket: Socket, count: number) => void) => {
  let requests = 0;
  const server = await startTcp((socket) => socket.on('data', () => respond(socket, ++requests)));
  return { ...server, requests: () => requests };
};

/** Starts a server that writes a text after each request, and returns what a client gets. */
const responseTo = async (text: string, options: Partial<HttpPost> = {}) => {
  const { url } = await startReceiver((socket) => socket.write(text, 'latin1'));
  return client().post({ url: url(), ...message, ...options });
};

/** Header lines that the parser of Node.js rejects, or of which it has a smaller limit than 64 KB. */
const ODD_HEADERS: readonly [name: string, lines: string][] = [
  ['a folded header', 'x-a: b\r\n c\r\n'],
  ['control characters in a header', 'x-a: \x01\x02\r\n'],
  ['a null byte in a header', 'x-a: b\0c\r\n'],
  ['a space before a colon', 'content-length : 0\r\n'],
  ['a space in a header name', 'x a: b\r\n'],
  ['a header without a name', ': b\r\n'],
  ['a line without a colon', 'nonsense\r\n'],
  ['two lengths', 'content-length: 0\r\ncontent-length: 1\r\n'],
  ['an empty length', 'content-length: \r\n'],
  ['a length that is no number', 'content-length: none\r\n'],
  ['a negative length', 'content-length: -1\r\n'],
  ['a length beside a transfer encoding', 'content-length: 0\r\ntransfer-encoding: chunked\r\n'],
  ['20 KB of cookies', `set-cookie: ${'c'.repeat(20_000)}\r\ncontent-length: 0\r\n`],
  ['more than 64 KB of headers', `x-a: ${'c'.repeat(100_000)}\r\n`],
];

describe('the status line decides, whatever follows it:', () => {
  it.each(ODD_HEADERS)('a 200 with %s is a 200', async (_, lines) => {
    expect(await responseTo(`HTTP/1.1 200 OK\r\n${lines}\r\n`)).toMatchObject({ status: 200 });
  });

  it.each(ODD_HEADERS)('a 429 with %s keeps the Retry-After that precedes them', async (_, lines) => {
    const response = await responseTo(`HTTP/1.1 429 Slow down\r\nretry-after: 7\r\n${lines}\r\n`);
    expect(response).toMatchObject({ status: 429, retryAfter: '7' });
  });

  it.each([
    [200, 'bare line feeds', 'HTTP/1.1 200 OK\nretry-after: 7\n\n'],
    [429, 'bare line feeds', 'HTTP/1.1 429 Slow down\nretry-after: 7\n\n'],
    [204, 'no reason phrase', 'HTTP/1.1 204\nx-a: b\n\n'],
    [200, 'an empty line before it', '\r\nHTTP/1.1 200 OK\r\nx : b\r\n\r\n'],
    [200, 'an empty line after an interim response', 'HTTP/1.1 100 C\r\n\r\n\r\nHTTP/1.1 200 OK\r\nx : b\r\n\r\n'],
    [200, 'another version', 'HTTP/2.0 200 OK\r\nx : b\r\n\r\n'],
    [
      200,
      'interim responses and a folded header',
      'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Hints\nlink: a\n\nHTTP/1.1 200 OK\r\nx: a\r\n b\r\n\r\n',
    ],
  ])('a %i with %s', async (status, _, text) => {
    expect(await responseTo(text)).toMatchObject({ status });
  });

  it('Retry-After after 2,100 other headers is read, and one without a value is none', async () => {
    const many = await responseTo(
      `HTTP/1.1 429 Slow down\r\n${'a: b\r\n'.repeat(2_100)}retry-after: 7\r\ncontent-length: 0\r\n\r\n`,
    );
    expect(many).toMatchObject({ status: 429, retryAfter: '7' });
    const empty = await responseTo('HTTP/1.1 503 No\r\nretry-after:\r\ncontent-length: 0\r\n\r\n');
    expect(empty).toMatchObject({ status: 503, retryAfter: undefined });
  });

  it('more than 64 KB of interim responses are cut off', async () => {
    await expect(responseTo('HTTP/1.1 103 Hints\r\n\r\n'.repeat(10_000))).rejects.toMatchObject({
      code: 'HPE_HEADER_OVERFLOW',
    });
  });

  it('a body of 100,000 chunks of one byte is read up to 64 KB', async () => {
    const response = await responseTo(
      `HTTP/1.1 500 No\r\ntransfer-encoding: chunked\r\n\r\n${'1\r\na\r\n'.repeat(100_000)}`,
    );
    expect(response).toMatchObject({ status: 500, body: 'a'.repeat(64 * 1024) });
  });

  it('Retry-After after an odd line is not read', async () => {
    const response = await responseTo('HTTP/1.1 429 Slow down\r\nnonsense\r\nretry-after: 7\r\n\r\n');
    expect(response).toMatchObject({ status: 429, retryAfter: undefined });
  });

  it.each([
    ['with the headers unfinished', 'HTTP/1.1 200 OK\r\nx-a: b\r\n'],
    ['in a body that is read', 'HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n{"re'],
    ['in a chunk that is read', 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nnonsense\r\n'],
  ])('a 200 is a 200 if the connection is cut %s', async (_, text) => {
    const { url } = await startReceiver((socket) => socket.end(text));
    const response = await client().post({ url: url(), ...message, readBody: true });
    expect(response).toMatchObject({ status: 200, body: '' });
  });

  it.each([
    ['headers', 'HTTP/1.1 200 OK\r\nx-a: b\r\n'],
    ['a body that is read', 'HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n{"re'],
  ])('a 200 is a 200 if %s never end', async (_, text) => {
    expect(await responseTo(text, { readBody: true, timeoutMs: 300 })).toMatchObject({ status: 200, body: '' });
  });

  it.each([
    ['another protocol', 'SSH-2.0-OpenSSH_9.6\r\n'],
    ['a status of two digits', 'HTTP/1.1 20 OK\r\n\r\n'],
    ['an interim response only', 'HTTP/1.1 103 Hints\nlink: a\n\n'],
  ])('%s has no status', async (_, text) => {
    await expect(responseTo(text)).rejects.toMatchObject({ code: expect.stringMatching(/^HPE_/) });
  });

  it('a connection is not reused after an odd response', async () => {
    const { url, connectedAddresses } = await startReceiver((socket) =>
      socket.write('HTTP/1.1 200 OK\r\nx-a: b\r\n c\r\n\r\n'),
    );
    const { post } = client();
    for (let count = 0; count < 3; count++) await post({ url: url(), ...message });
    expect(connectedAddresses).toHaveLength(3);
  });

  it('what follows a response on its connection is not the response to the next request', async () => {
    const { url } = await startReceiver((socket, count) =>
      socket.write(`HTTP/1.1 20${count} OK\r\ncontent-length: 0\r\n\r\nHTTP/1.1 500 Not asked for\r\n\r\n`),
    );
    const { post } = client();
    expect(await post({ url: url(), ...message })).toMatchObject({ status: 201 });
    expect(await post({ url: url(), ...message })).toMatchObject({ status: 202 });
  });
});

it('an idle connection that receives another response is closed', async () => {
  let isClosed = false;
  const { url } = await startReceiver((socket, count) => {
    socket.write(`HTTP/1.1 20${count} OK\r\ncontent-length: 0\r\n\r\n`);
    setTimeout(() => socket.write('HTTP/1.1 500 Not asked for\r\n\r\n'), 50);
    socket.on('close', () => {
      isClosed = true;
    });
  });
  const { post } = client();
  expect(await post({ url: url(), ...message })).toMatchObject({ status: 201 });
  await until(() => isClosed);
  expect(await post({ url: url(), ...message })).toMatchObject({ status: 202 });
});

describe('a reused connection that is closed before a response', () => {
  const OK = 'HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n';

  /** Starts a server that answers the first request of a connection, and ends it with the second one. */
  const startIdleCloser = (end: (socket: Socket) => void) => {
    const answered = new WeakSet<Socket>();
    return startReceiver((socket) => {
      if (answered.has(socket)) return end(socket);
      answered.add(socket);
      socket.write(OK);
    });
  };

  it.each([
    ['closed', (socket: Socket) => socket.end()],
    ['reset', (socket: Socket) => socket.resetAndDestroy()],
  ])('is replaced by a new one if it was %s, and the response says so', async (_, end) => {
    const { url, connectedAddresses, requests } = await startIdleCloser(end);
    const { post } = client();
    expect(await post({ url: url(), ...message })).not.toHaveProperty('wasResent');
    expect(await post({ url: url(), ...message })).toMatchObject({ status: 200, wasResent: true });
    expect(connectedAddresses).toHaveLength(2);
    expect(requests()).toBe(3);
  });

  it('is replaced within the same timeout', async () => {
    const { url, connectedAddresses } = await startReceiver((socket, count) => {
      if (count === 1) socket.write(OK);
      if (count === 2) socket.end();
    });
    const { post } = client();
    await post({ url: url(), ...message });
    const startMs = performance.now();
    await expect(post({ url: url(), ...message, timeoutMs: 300 })).rejects.toMatchObject({
      name: 'RequestTimeoutError',
    });
    expect(performance.now() - startMs).toBeGreaterThan(280);
    expect(connectedAddresses).toHaveLength(2);
  });

  it('is not replaced after the first byte of a response', async () => {
    const { url, requests } = await startIdleCloser((socket) => socket.end('HT'));
    const { post } = client();
    await post({ url: url(), ...message });
    await expect(post({ url: url(), ...message })).rejects.toMatchObject({ code: expect.any(String) });
    expect(requests()).toBe(2);
  });

  it('is not replaced if it was new', async () => {
    const { url, requests } = await startReceiver((socket) => socket.end());
    await expect(client().post({ url: url(), ...message })).rejects.toMatchObject({ code: 'ECONNRESET' });
    expect(requests()).toBe(1);
  });

  it('is not replaced after a timeout', async () => {
    const { url, requests } = await startIdleCloser(() => undefined);
    const { post } = client();
    await post({ url: url(), ...message });
    const settled = vi.fn();
    post({ url: url(), ...message, timeoutMs: 200 }).catch(settled);
    await until(() => settled.mock.calls.length > 0);
    expect(settled).toHaveBeenCalledExactlyOnceWith(expect.objectContaining({ name: 'RequestTimeoutError' }));
    expect(requests()).toBe(2);
  });
});
