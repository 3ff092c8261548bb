import { describe, expect, it } from 'vitest';
import { createHttpClient } from '../../../shared/adapters/outbound-http/http-client.ts';
import type { AttemptOutcome } from '../../../shared/domain/attempt-outcome.ts';
import { egressRule } from '../../../shared/domain/egress.ts';
import { sendByHttp } from '../../../shared/pipeline/transports/http-transport.ts';
import { closedPort, respondWith, startHttp, startTcp } from '../../support/servers.ts';

const HOST = 'hooks.example.com';
const ADDRESS = '127.0.0.1';

/** Delivers to a name that leads to a loopback address, which the tester must never be told. */
const deliver = (
  port: number,
  options: { scheme?: string; allowed?: string[]; url?: string; timeoutMs?: number } = {},
) => {
  const {
    scheme = 'http',
    timeoutMs = 10_000,
    allowed = ['127.0.0.0/8'],
    url = `${scheme}://${HOST}:${port}/secret-path?key=secret`,
  } = options;
  const http = createHttpClient({
    isAllowed: egressRule(allowed),
    resolve: async () => [{ address: ADDRESS, family: 4 }],
  });
  return sendByHttp('webhook', http, { url: new URL(url), headers: {}, body: '{}', timeoutMs });
};

const everywhere = (outcome: AttemptOutcome): string => JSON.stringify(outcome);

const failures: [what: string, run: () => Promise<AttemptOutcome>, expected: object][] = [
  [
    'nobody listens',
    async () => deliver(await closedPort()),
    {
      result: 'transient',
      reason: 'network_error',
      code: 'ECONNREFUSED',
      explanation: expect.stringMatching(/^ECONNREFUSED while sending to hooks/),
    },
  ],
  [
    'the connection is reset',
    async () => deliver((await startTcp((socket) => socket.once('data', () => socket.resetAndDestroy()))).port),
    {
      result: 'transient',
      reason: 'network_error',
      code: 'ECONNRESET',
      explanation: expect.stringMatching(/^ECONNRESET while sending to hooks/),
    },
  ],
  [
    'no answer comes in time',
    async () => deliver((await startTcp(() => undefined)).port, { timeoutMs: 150 }),
    {
      result: 'transient',
      reason: 'timeout',
      explanation: expect.stringMatching(/^ETIMEDOUT hooks.* did not answer/),
    },
  ],
  [
    'the name leads to an address that is not public',
    async () => deliver(80, { allowed: [] }),
    { result: 'transient', reason: 'blocked_address', explanation: expect.stringMatching(/^EGRESS_REFUSED hooks/) },
  ],
  [
    'it speaks no HTTP',
    async () => deliver((await startTcp((socket) => socket.end('SSH-2.0-x\r\n'))).port),
    {
      result: 'transient',
      reason: 'network_error',
      explanation: expect.stringMatching(/^HPE_\w+ while sending to hooks/),
    },
  ],
  [
    'it speaks no TLS',
    async () => deliver((await startHttp(respondWith(200))).port, { scheme: 'https' }),
    { result: 'transient', reason: 'network_error', explanation: expect.stringMatching(/^\w+ while sending to hooks/) },
  ],
  [
    'its status is wrong',
    async () => deliver((await startHttp(respondWith(500, {}, 'secret of the other side'))).port),
    {
      result: 'transient',
      reason: 'http_status',
      explanation: 'Unexpected status code "500". Expected one of: /2[0-9]{2}/',
    },
  ],
];

describe('a delivery by HTTP', () => {
  it('that is taken says so', async () => {
    const { port } = await startHttp(respondWith(204));
    expect(await deliver(port)).toMatchObject({ result: 'delivered', status: 204 });
  });

  it.each(failures)('says what went wrong where %s, and whose fault that is', async (_, run, expected) => {
    expect(await run()).toMatchObject({ cause: 'destination', ...expected });
  });

  it.each(failures)('never says what a name leads to, the rest of the URL, or the answer, where %s', async (_, run) => {
    expect(everywhere(await run())).not.toMatch(/127\.0\.0|secret/);
  });

  it('is refused for good where the URL itself holds an address that is not public', async () => {
    const url = 'http://169.254.169.254/latest/meta-data/';
    expect(await deliver(80, { allowed: [], url })).toMatchObject({
      result: 'permanent',
      reason: 'blocked_address',
      explanation: 'EGRESS_REFUSED 169.254.169.254 is, or resolves to, an address that is not public',
    });
  });

  it('waits as long as the destination asks for', async () => {
    const { port } = await startHttp(respondWith(503, { 'retry-after': '120' }));
    expect(await deliver(port)).toMatchObject({ result: 'throttled', reason: 'throttled', retryAfterMs: 120_000 });
  });
});
