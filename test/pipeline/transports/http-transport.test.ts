import { describe, expect, it, vi } from 'vitest';
import { createHttpClient, type HttpPost } from '../../../shared/adapters/outbound-http/http-client.ts';
import type { AttemptOutcome } from '../../../shared/domain/attempt-outcome.ts';
import { egressRule } from '../../../shared/domain/egress.ts';
import { newNotificationId } from '../../../shared/domain/notification-id.ts';
import { sendByHttp } from '../../../shared/pipeline/transports/http-transport.ts';
import { webhookResponses } from '../../../shared/pipeline/transports/webhook.ts';
import { alarmHeader, TRACE_ID, traceFields } from '../../support/events.ts';
import { closedPort, respondWith, startHttp, startTcp } from '../../support/servers.ts';

const HOST = 'hooks.example.com';
const ADDRESS = '127.0.0.1';
/** A send ends this long before the function times out. */
const TIME_TO_RECORD_MS = 2_000;

/** Sends to a host that resolves to a loopback address, which explanations must not contain. */
const send = (
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
  const alert = { event: alarmHeader(), timeLeft: () => timeoutMs + TIME_TO_RECORD_MS };
  return sendByHttp(webhookResponses, http, alert, { url: new URL(url), headers: {}, body: '{}', secrets: ['secret'] });
};

it('adds the headers of the trace to those of the type', async () => {
  const post = vi.fn(async (_request: HttpPost) => ({ status: 200, retryAfter: undefined, body: '' }));
  const alert = { event: alarmHeader(), timeLeft: () => 30_000 };
  const request = {
    url: new URL('https://hooks.example.com'),
    headers: { 'user-agent': 'test' },
    body: '{}',
    secrets: [],
  };
  const trace = { id: TRACE_ID, headers: traceFields };
  await sendByHttp(webhookResponses, { post }, { ...alert, trace }, request);
  await sendByHttp(webhookResponses, { post }, { ...alert, trace: { id: TRACE_ID } }, request);
  expect(post.mock.calls.map(([{ headers }]) => headers)).toEqual([
    { 'user-agent': 'test', ...traceFields },
    { 'user-agent': 'test' },
  ]);
});

const failures: [condition: string, run: () => Promise<AttemptOutcome>, expected: object][] = [
  [
    'the connection is refused',
    async () => send(await closedPort()),
    {
      result: 'transient',
      reason: 'network_error',
      code: 'ECONNREFUSED',
      explanation: expect.stringMatching(/^Sending to hooks.* failed: connection refused$/),
    },
  ],
  [
    'the connection is reset',
    async () => send((await startTcp((socket) => socket.once('data', () => socket.resetAndDestroy()))).port),
    {
      result: 'transient',
      reason: 'network_error',
      code: 'ECONNRESET',
      explanation: expect.stringMatching(/^Sending to hooks.* failed: the connection was reset$/),
    },
  ],
  [
    'there is no response within the timeout',
    async () => send((await startTcp(() => undefined)).port, { timeoutMs: 150 }),
    {
      result: 'transient',
      reason: 'timeout',
      explanation: expect.stringMatching(/^hooks.* did not respond within 15 s$/),
    },
  ],
  [
    'the host resolves to a private address',
    async () => send(80, { allowed: [] }),
    {
      result: 'transient',
      reason: 'blocked_address',
      explanation: expect.stringMatching(/^hooks.* an address that is not public$/),
    },
  ],
  [
    'the response is not HTTP',
    async () => send((await startTcp((socket) => socket.end('SSH-2.0-x\r\n'))).port),
    {
      result: 'transient',
      reason: 'network_error',
      explanation: expect.stringMatching(/ failed: the response is not valid HTTP$/),
    },
  ],
  [
    'the server does not support TLS',
    async () => send((await startHttp(respondWith(200))).port, { scheme: 'https' }),
    {
      result: 'transient',
      reason: 'network_error',
      explanation: expect.stringMatching(/ failed: the TLS handshake failed$/),
    },
  ],
  [
    'the status is 500',
    async () => send((await startHttp(respondWith(500, {}, 'The secret is wrong'))).port),
    {
      result: 'transient',
      reason: 'http_status',
      explanation: 'Unexpected status code "500". Expected one of: /2[0-9]{2}/',
      responseText: 'The *** is wrong',
    },
  ],
];

describe('sendByHttp', () => {
  it('returns delivered for a 2xx status', async () => {
    const { port } = await startHttp(respondWith(204));
    expect(await send(port)).toMatchObject({ result: 'delivered', status: 204 });
  });

  it.each(failures)('returns the reason and the cause if %s', async (_, run, expected) => {
    expect(await run()).toMatchObject({ cause: 'destination', ...expected });
  });

  it.each(failures)('does not reveal the resolved address, the URL or a secret if %s', async (_, run) => {
    expect(JSON.stringify(await run())).not.toMatch(/127\.0\.0|secret/);
  });

  it('returns a permanent failure if the URL contains a private address', async () => {
    const url = 'http://169.254.169.254/latest/meta-data/';
    expect(await send(80, { allowed: [], url })).toMatchObject({
      result: 'permanent',
      reason: 'blocked_address',
      explanation: '169.254.169.254 is, or resolves to, an address that is not public',
    });
  });

  it('masks the credentials of the URL, and the host and path of an operators’ endpoint', async () => {
    const post = vi.fn(async ({ url }: HttpPost) => ({ status: 500, retryAfter: undefined, body: `No: ${url.href}` }));
    const alert = { event: alarmHeader(), timeLeft: () => 30_000 };
    const request = {
      url: new URL('https://me:pass%20word@hooks.example.com:8443/feed/x1?key=9'),
      headers: {},
      body: '{}',
      secrets: [],
    };
    const texts = [undefined, 'the feed'].map(async (hiddenHost) => {
      const outcome = await sendByHttp(webhookResponses, { post }, alert, request, hiddenHost);
      return outcome.result === 'delivered' ? undefined : outcome.responseText;
    });
    expect(await Promise.all(texts)).toEqual([
      'No: https://***@hooks.example.com:8443/feed/x1?key=9',
      'No: https://***@***',
    ]);
  });

  it('masks the user of a URL without a password, which is an API key', async () => {
    const post = async () => ({ status: 500, retryAfter: undefined, body: `No: key1 ${btoa('key1:')}` });
    const alert = { event: alarmHeader(), timeLeft: () => 30_000 };
    const request = { url: new URL('https://key1@hooks.example.com/'), headers: {}, body: '{}', secrets: [] };
    expect(await sendByHttp(webhookResponses, { post }, alert, request)).toMatchObject({ responseText: 'No: *** ***' });
  });

  it('returns the Retry-After of the destination', async () => {
    const { port } = await startHttp(respondWith(503, { 'retry-after': '120' }));
    expect(await send(port)).toMatchObject({ result: 'throttled', reason: 'throttled', retryAfterMs: 120_000 });
  });

  it.each([
    ['the circuit of the tenant for an alert', newNotificationId(), 'acme'],
    ['no circuit for a test', undefined, undefined],
  ])('uses %s', async (_, notificationId, circuitTenant) => {
    const post = vi.fn(async (_request: HttpPost) => ({ status: 200, retryAfter: undefined, body: '' }));
    const alert = { event: alarmHeader(), timeLeft: () => 30_000, ...(notificationId && { notificationId }) };
    await sendByHttp(webhookResponses, { post }, alert, {
      url: new URL('https://a.example.com/'),
      headers: {},
      body: '{}',
      secrets: [],
    });
    expect(post.mock.calls[0]?.[0].circuitTenant).toBe(circuitTenant);
  });
});
