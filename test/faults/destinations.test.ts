import { createServer } from 'node:net';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import type { Client } from '../support/api.ts';
import { newAlarmEvent } from '../support/events.ts';
import { openSink } from '../support/test-sink.ts';
import { until } from '../support/until.ts';
import { type FaultyStack, startFaultyStack } from './support.ts';

/** A server that speaks raw TCP: what it answers need not be HTTP. */
const openRaw = async (
  answer: (write: (text: string) => void, end: () => void, reset: () => void) => void,
): Promise<string> => {
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.once('data', () =>
      answer(
        (text) => socket.write(text),
        () => socket.end(),
        () => socket.resetAndDestroy(),
      ),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  onTestFinished(() => void server.close());
  return `http://127.0.0.1:${typeof address === 'object' && address ? address.port : 0}/`;
};

describe('a destination that misbehaves', () => {
  let world: FaultyStack;
  let client: Client;
  beforeAll(async () => {
    world = await startFaultyStack();
    client = await world.newClient();
  });
  afterAll(() => world.stack.stop());

  const test = async (url: string) =>
    (await client.post('/test-notification', { type: 'webhook', details: { url } })).body;
  const failure = (message: RegExp) => ({ status: 'failure', message: expect.stringMatching(message) });
  const success = { status: 'success', message: 'Success: Webhook successfully executed' };

  it('refuses the connection: the test says so', async () => {
    expect(await test('http://127.0.0.1:1/')).toEqual(failure(/^ECONNREFUSED /));
  });

  it('resets the connection before it answers', async () => {
    expect(await test(await openRaw((_write, _end, reset) => reset()))).toEqual(failure(/^ECONNRESET /));
  });

  it('talks something else than HTTP', async () => {
    expect(await test(await openRaw((write, end) => [write('SSH-2.0-OpenSSH\r\n'), end()]))).toEqual(
      failure(/^HPE_\w+ |^ECONNRESET /),
    );
  });

  it('resets the connection in the middle of its body, after it took the alert: that is delivered', async () => {
    const url = await openRaw((write, _end, reset) => {
      write('HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf');
      setTimeout(reset, 20);
    });
    expect(await test(url)).toEqual(success);
  });

  it('answers without an end, or with a bomb: its status decides, and nothing is unpacked', async () => {
    const endless = await openRaw((write) => {
      write('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n');
      const timer = setInterval(() => write(`10000\r\n${'x'.repeat(0x10000)}\r\n`), 1);
      onTestFinished(() => clearInterval(timer));
    });
    expect(await test(endless)).toEqual(success);
    const bomb = await openSink((response) =>
      response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync(Buffer.alloc(50_000_000))),
    );
    expect(await test(bomb.url)).toEqual(success);
  });

  it('redirects to the metadata service: nobody follows', async () => {
    const sink = await openSink((response) =>
      response.writeHead(307, { location: 'http://169.254.169.254/latest/meta-data/' }).end(),
    );
    expect(await test(sink.url)).toEqual(failure(/"307"/));
  });

  it.each([200, 201, 204, 299])('answers %i: delivered', async (status) => {
    const sink = await openSink((response) => response.writeHead(status).end());
    expect(await test(sink.url)).toEqual(success);
  });

  it('never answers, or drips its headers: each costs its own deadline of 15 s, while its neighbours arrive', async () => {
    const silent = await openRaw(() => undefined);
    const drip = await openRaw((write) => {
      write('HTTP/1.1 200 OK\r\n');
      const timer = setInterval(() => write('x: y\r\n'), 1_000);
      onTestFinished(() => clearInterval(timer));
    });
    const healthy = await openSink();
    const [slow, other, good] = await Promise.all(
      [silent, drip, healthy.url].map((url) => client.create({ label: 'w', type: 'webhook', details: { url } })),
    );
    const started = Date.now();
    await world.sendEvents([newAlarmEvent(client.tenant, [slow ?? '', other ?? '', good ?? ''])]);
    await healthy.wait(1);
    expect(Date.now() - started).toBeLessThan(5_000);
    const records = await Promise.all([slow, other].map((id) => world.attempted(client.tenant, id ?? '')));
    for (const { attempts } of records)
      expect(attempts[0]).toMatchObject({ result: 'transient', duration_ms: expect.closeTo(15_000, -3) });
    await until(async () => world.lines.find((line) => line.includes('reason=timeout')));
  });

  it.each([
    ['seconds', '7200'],
    ['a date', new Date(Date.now() + 7_200_000).toUTCString()],
  ])('asks us by Retry-After in %s to wait: we wait as long, at most an hour', async (_kind, header) => {
    const sink = await openSink((response, _request, index) =>
      response.writeHead(index === 0 ? 429 : 200, { 'retry-after': header }).end(),
    );
    const id = await client.create({ label: 'w', type: 'webhook', details: { url: sink.url } });
    await world.sendEvents([newAlarmEvent(client.tenant, [id])]);
    const record = await world.attempted(client.tenant, id);
    const sentAt = record.attempts[0]?.timestamp_ms ?? 0;
    // An hour by the test's scale of a thousandth, and up to a fifth of jitter.
    expect(record.next_attempt_at_ms - sentAt).toBeGreaterThanOrEqual(3_600);
    expect(record.next_attempt_at_ms - sentAt).toBeLessThan(3_600 * 1.2 + 2_000);
    await world.stack.advance(6_000);
    expect(await world.hurried(world.delivery(client.tenant, id, 'delivered'))).toMatchObject({
      attempt_count: 2,
      attempts: [{ result: 'throttled', status: 429 }, { result: 'delivered' }],
    });
  });

  it('answers 429 with garbage in Retry-After: the schedule holds', async () => {
    const sink = await openSink((response, _request, index) =>
      response.writeHead(index === 0 ? 429 : 200, { 'retry-after': 'soon' }).end(),
    );
    const id = await client.create({ label: 'w', type: 'webhook', details: { url: sink.url } });
    await world.sendEvents([newAlarmEvent(client.tenant, [id])]);
    expect(await world.hurried(world.delivery(client.tenant, id, 'delivered'))).toMatchObject({ attempt_count: 2 });
  });

  it('fails nine times: the alert is dead-lettered, and when it is redriven it gets a new round', async () => {
    let broken = true;
    const sink = await openSink((response) => response.writeHead(broken ? 503 : 200).end());
    const id = await client.create({ label: 'w', type: 'webhook', details: { url: sink.url } });
    const event = newAlarmEvent(client.tenant, [id]);
    await world.sendEvents([event]);
    await world.hurried(world.delivery(client.tenant, id, 'failed'));
    expect(sink.received).toHaveLength(9);
    const dead = await world.deadLetter('webhook', (body) => body.includes(event.event_id));
    expect(dead.attributes).toMatchObject({ reason: 'http_status', cause: 'destination', attempts: '9' });
    broken = false;
    await world.redrive('webhook');
    expect(await world.hurried(world.delivery(client.tenant, id, 'delivered'))).toMatchObject({ attempt_count: 1 });
    expect(sink.received).toHaveLength(10);
    expect(sink.received.at(-1)?.body).toBe(sink.received[0]?.body);
  });

  it('a router that answers 200 with result failure has refused for good', async () => {
    const sink = await openSink((response) => response.end('{"result":"failure","message":"secret reason"}'));
    const strange = await startFaultyStack({ routerEndpoint: sink.url });
    const caller = await strange.newClient();
    const details = { api_key: '7b9c1d1e-3f5a-4c2b-8d6e-0a1b2c3d4e5f' };
    const answer = await caller.post('/test-notification', { type: 'incidentrouter', details });
    expect(answer.body).toMatchObject({ status: 'failure' });
    expect(answer.text).not.toContain('secret reason');
    const id = await caller.create({ label: 'r', type: 'incidentrouter', details });
    const event = newAlarmEvent(caller.tenant, [id]);
    await strange.sendEvents([event]);
    const dead = await strange.deadLetter('incidentrouter', (body) => body.includes(event.event_id));
    expect(dead.attributes).toMatchObject({ reason: 'http_status', attempts: '1' });
    await strange.stack.stop();
  });
});
