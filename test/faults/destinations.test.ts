import { createServer, type Socket } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { newAlarmEvent } from '../support/events.ts';
import { listenOnLoopback } from '../support/listen.ts';
import { openSink } from '../support/test-sink.ts';
import { until } from '../support/until.ts';
import { useStarted } from '../support/use-started.ts';
import { useFaultyStack } from './support.ts';

/** Opens a TCP server. @returns its URL */
const openTcpServer = async (respond: (socket: Socket) => void): Promise<string> => {
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.once('data', () => respond(socket));
  });
  const port = await listenOnLoopback(server);
  onTestFinished(() => void server.close());
  return `http://127.0.0.1:${port}/`;
};

const harness = useFaultyStack();
const client = useStarted(() => harness.newClient());

describe('delivery to a faulty destination', () => {
  it('times out after 15 s without delaying other destinations if no response arrives or its headers never end', async () => {
    const silent = await openTcpServer(() => undefined);
    const drip = await openTcpServer((socket) => {
      socket.write('HTTP/1.1 200 OK\r\n');
      const timer = setInterval(() => socket.write('x: y\r\n'), 1_000);
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

  it('waits as long as Retry-After requests, at most an hour', async () => {
    const sink = await openSink((response, _request, index) =>
      response.writeHead(index === 0 ? 429 : 200, { 'retry-after': '86400' }).end(),
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
});
