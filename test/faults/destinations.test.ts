import { createServer } from 'node:net';
import { gzipSync } from 'node:zlib';
import { describe, expect, it, onTestFinished } from 'vitest';
import { newAlarmEvent } from '../support/events.ts';
import { listenOnLoopback } from '../support/listen.ts';
import { openSink } from '../support/test-sink.ts';
import { until } from '../support/until.ts';
import { useStarted } from '../support/use-started.ts';
import { startFaultyStack, useFaultyStack } from './support.ts';

/** Opens a TCP server whose response need not be HTTP. @returns its URL */
const openTcpServer = async (
  respond: (write: (text: string) => void, end: () => void, reset: () => void) => void,
): Promise<string> => {
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.once('data', () =>
      respond(
        (text) => socket.write(text),
        () => socket.end(),
        () => socket.resetAndDestroy(),
      ),
    );
  });
  const port = await listenOnLoopback(server);
  onTestFinished(() => void server.close());
  return `http://127.0.0.1:${port}/`;
};

const harness = useFaultyStack();
const client = useStarted(() => harness.newClient());

describe('delivery to a faulty destination', () => {
  const runTest = async (url: string) =>
    (await client.post('/test-notification', { type: 'webhook', details: { url } })).body;
  const failure = (message: RegExp) => ({ status: 'failure', message: expect.stringMatching(message) });
  const success = { status: 'success', message: 'Success: Webhook successfully executed' };

  it('fails if the connection is refused, and the test result names the error', async () => {
    expect(await runTest('http://127.0.0.1:1/')).toEqual(failure(/^ECONNREFUSED /));
  });

  it('fails if the connection is reset before a response', async () => {
    expect(await runTest(await openTcpServer((_write, _end, reset) => reset()))).toEqual(failure(/^ECONNRESET /));
  });

  it('fails if the response is not HTTP', async () => {
    expect(await runTest(await openTcpServer((write, end) => [write('SSH-2.0-OpenSSH\r\n'), end()]))).toEqual(
      failure(/^HPE_\w+ |^ECONNRESET /),
    );
  });

  it('succeeds if the connection is reset in the body of a 200 response', async () => {
    const url = await openTcpServer((write, _end, reset) => {
      write('HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf');
      setTimeout(reset, 20);
    });
    expect(await runTest(url)).toEqual(success);
  });

  it('succeeds on a 200 response with an endless or compressed body, which is not read', async () => {
    const endless = await openTcpServer((write) => {
      write('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n');
      const timer = setInterval(() => write(`10000\r\n${'x'.repeat(0x10000)}\r\n`), 1);
      onTestFinished(() => clearInterval(timer));
    });
    expect(await runTest(endless)).toEqual(success);
    const bomb = await openSink((response) =>
      response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync(Buffer.alloc(50_000_000))),
    );
    expect(await runTest(bomb.url)).toEqual(success);
  });

  it('fails on a redirect, which is not followed', async () => {
    const sink = await openSink((response) =>
      response.writeHead(307, { location: 'http://169.254.169.254/latest/meta-data/' }).end(),
    );
    expect(await runTest(sink.url)).toEqual(failure(/"307"/));
  });

  it.each([200, 201, 204, 299])('succeeds on a response with status %i', async (status) => {
    const sink = await openSink((response) => response.writeHead(status).end());
    expect(await runTest(sink.url)).toEqual(success);
  });

  it('times out after 15 s without delaying other destinations if no response arrives or its headers never end', async () => {
    const silent = await openTcpServer(() => undefined);
    const drip = await openTcpServer((write) => {
      write('HTTP/1.1 200 OK\r\n');
      const timer = setInterval(() => write('x: y\r\n'), 1_000);
      onTestFinished(() => clearInterval(timer));
    });
    const healthy = await openSink();
    const [slow, other, good] = await Promise.all(
      [silent, drip, healthy.url].map((url) => client.create({ label: 'w', type: 'webhook', details: { url } })),
    );
    await harness.sendEvents([newAlarmEvent(client.tenant, [slow ?? '', other ?? '', good ?? ''])]);
    await healthy.wait(1);
    for (const id of [slow, other]) {
      const attempts = (await harness.deliveries(client.tenant, id ?? '')).map(({ attempt_count }) => attempt_count);
      expect(attempts.filter((count) => count > 0)).toEqual([]);
    }
    const records = await Promise.all([slow, other].map((id) => harness.attemptedDelivery(client.tenant, id ?? '')));
    for (const { attempts } of records) {
      expect(attempts[0]).toMatchObject({ result: 'transient' });
      expect(attempts[0]?.duration_ms).toBeGreaterThan(14_900);
    }
    await until(async () => harness.lines.find((line) => line.includes('reason=timeout')));
  });

  it.each([
    ['seconds', '86400'],
    ['a date', new Date(Date.now() + 86_400_000).toUTCString()],
  ])('waits as long as Retry-After in %s requests, at most an hour', async (_kind, header) => {
    const sink = await openSink((response, _request, index) =>
      response.writeHead(index === 0 ? 429 : 200, { 'retry-after': header }).end(),
    );
    const id = await client.create({ label: 'w', type: 'webhook', details: { url: sink.url } });
    await harness.sendEvents([newAlarmEvent(client.tenant, [id])]);
    const record = await harness.attemptedDelivery(client.tenant, id);
    const attemptedAtMs = record.attempts[0]?.timestamp_ms ?? 0;
    // An hour at a retryDelayScale of 0.001, and up to 20% of jitter.
    expect(record.next_attempt_at_ms - attemptedAtMs).toBeGreaterThanOrEqual(3_600);
    expect(record.next_attempt_at_ms - attemptedAtMs).toBeLessThan(60_000);
    await harness.stack.advance(6_000);
    expect(await harness.advanceUntil(harness.delivery(client.tenant, id, 'delivered'))).toMatchObject({
      attempt_count: 2,
      attempts: [{ result: 'throttled', status: 429 }, { result: 'delivered' }],
    });
  });

  it('follows the retry schedule if Retry-After is invalid', async () => {
    const sink = await openSink((response, _request, index) =>
      response.writeHead(index === 0 ? 429 : 200, { 'retry-after': 'soon' }).end(),
    );
    const id = await client.create({ label: 'w', type: 'webhook', details: { url: sink.url } });
    await harness.sendEvents([newAlarmEvent(client.tenant, [id])]);
    expect(await harness.advanceUntil(harness.delivery(client.tenant, id, 'delivered'))).toMatchObject({
      attempt_count: 2,
    });
  });

  it('dead-letters an alert after nine attempts, and a redrive starts a new round', async () => {
    let isDown = true;
    const sink = await openSink((response) => response.writeHead(isDown ? 503 : 200).end());
    const id = await client.create({ label: 'w', type: 'webhook', details: { url: sink.url } });
    const event = newAlarmEvent(client.tenant, [id]);
    await harness.sendEvents([event]);
    await harness.advanceUntil(harness.delivery(client.tenant, id, 'failed'));
    expect(sink.received).toHaveLength(9);
    const deadLetter = await harness.deadLetter('webhook', (body) => body.includes(event.event_id));
    expect(deadLetter.attributes).toMatchObject({ reason: 'http_status', cause: 'destination', attempts: '9' });
    isDown = false;
    await harness.redrive('webhook');
    expect(await harness.advanceUntil(harness.delivery(client.tenant, id, 'delivered'))).toMatchObject({
      attempt_count: 1,
    });
    expect(sink.received).toHaveLength(10);
    expect(sink.received.at(-1)?.body).toBe(sink.received[0]?.body);
  });

  it('dead-letters an alert after one attempt if the incident router returns 200 with the result "failure"', async () => {
    const sink = await openSink((response) => response.end('{"result":"failure","message":"secret reason"}'));
    const routerHarness = await startFaultyStack({ routerEndpoint: sink.url });
    onTestFinished(() => routerHarness.stack.stop());
    const routerClient = await routerHarness.newClient();
    const details = { api_key: '7b9c1d1e-3f5a-4c2b-8d6e-0a1b2c3d4e5f' };
    const response = await routerClient.post('/test-notification', { type: 'incidentrouter', details });
    expect(response.body).toMatchObject({ status: 'failure' });
    expect(response.text).not.toContain('secret reason');
    const id = await routerClient.create({ label: 'r', type: 'incidentrouter', details });
    const event = newAlarmEvent(routerClient.tenant, [id]);
    await routerHarness.sendEvents([event]);
    const deadLetter = await routerHarness.deadLetter('incidentrouter', (body) => body.includes(event.event_id));
    expect(deadLetter.attributes).toMatchObject({ reason: 'http_status', attempts: '1' });
  });
});
