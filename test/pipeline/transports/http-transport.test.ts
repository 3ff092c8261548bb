import { describe, expect, it, vi } from 'vitest';
import { createHttpClient, type HttpPost } from '../../../shared/adapters/outbound-http/http-client.ts';
import type { AttemptOutcome } from '../../../shared/domain/attempt-outcome.ts';
import { egressRule } from '../../../shared/domain/egress.ts';
import { newNotificationId } from '../../../shared/domain/notification-id.ts';
import { type OperatorsEndpoint, sendByHttp } from '../../../shared/pipeline/transports/http-transport.ts';
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
  return sendByHttp(webhookResponses, http, alert, { url: new URL(url), headers: {}, body: '{}', secrets: ['s3cret'] });
};

/** Sends with a client that answers so. @returns the outcome and the request */
const sendTo = async (
  { status = 200, bodyOf = () => '' }: { status?: number; bodyOf?: (url: URL) => string },
  url: string,
  {
    headers = {},
    endpoint,
    ...changes
  }: { headers?: object; endpoint?: OperatorsEndpoint; [field: string]: unknown } = {},
) => {
  const post = vi.fn(async (request: HttpPost) => ({ status, retryAfter: undefined, body: bodyOf(request.url) }));
  const alert = { event: alarmHeader(), timeLeft: () => 30_000, ...changes };
  const request = { url: new URL(url), headers: { ...headers }, body: '{}', secrets: [] };
  const outcome = await sendByHttp(webhookResponses, { post }, alert, request, endpoint);
  return { outcome, posted: post.mock.calls[0]?.[0] };
};

const failures: [condition: string, run: () => Promise<AttemptOutcome>, expected: object, explanation: RegExp][] = [
  [
    'the connection is refused',
    async () => send(await closedPort()),
    { reason: 'network_error', code: 'ECONNREFUSED' },
    /^Sending to hooks.* failed: connection refused$/,
  ],
  [
    'the connection is reset',
    async () => send((await startTcp((socket) => socket.once('data', () => socket.resetAndDestroy()))).port),
    { reason: 'network_error', code: 'ECONNRESET' },
    /^Sending to hooks.* failed: the connection was reset$/,
  ],
  [
    'there is no response within the timeout',
    async () => send((await startTcp(() => undefined)).port, { timeoutMs: 1_000 }),
    { reason: 'timeout' },
    /^hooks.* did not respond within 15 s$/,
  ],
  [
    'the host resolves to a private address',
    async () => send(80, { allowed: [] }),
    { reason: 'blocked_address' },
    /^hooks.* an address that is not public$/,
  ],
  [
    'the response is not HTTP',
    async () => send((await startTcp((socket) => socket.end('SSH-2.0-x\r\n'))).port),
    { reason: 'network_error' },
    / failed: the response is not valid HTTP$/,
  ],
  [
    'the server does not support TLS',
    async () => send((await startHttp(respondWith(200))).port, { scheme: 'https' }),
    { reason: 'network_error' },
    / failed: the TLS handshake failed$/,
  ],
  [
    'the status is 500',
    async () => send((await startHttp(respondWith(500, {}, 'The s3cret is wrong'))).port),
    { reason: 'http_status', responseText: '(not shown: it contains a secret)' },
    /^Unexpected status code "500". Expected one of: \/2\[0-9\]\{2\}\/$/,
  ],
];

describe('sendByHttp', () => {
  it('returns delivered for a 2xx status', async () => {
    const { port } = await startHttp(respondWith(204));
    expect(await send(port)).toMatchObject({ result: 'delivered', status: 204 });
  });

  it.each(failures)(
    'returns the reason and the cause, and no resolved address, URL or secret, if %s',
    async (_, run, expected, explanation) => {
      const outcome = await run();
      expect(outcome).toMatchObject({ result: 'transient', cause: 'destination', ...expected });
      expect(outcome.explanation).toMatch(explanation);
      expect(JSON.stringify(outcome)).not.toMatch(/127\.0\.0|s3cret/);
    },
  );

  it('returns a permanent failure if the URL contains a private address', async () => {
    const url = 'http://169.254.169.254/latest/meta-data/';
    expect(await send(80, { allowed: [], url })).toMatchObject({
      result: 'permanent',
      reason: 'blocked_address',
      explanation: '169.254.169.254 is, or resolves to, an address that is not public',
    });
  });

  const NOT_SHOWN = '(not shown: it contains a secret)';
  const basic = ({ username, password }: URL) => btoa(`${username}:${decodeURIComponent(password)}`);

  it.each([
    ['its host and path', (url: URL) => url.host + url.pathname, 'No: a.example.com:8443/feed/x1', {}],
    ['the operators’ host', (url: URL) => url.host, NOT_SHOWN, { endpoint: { name: 'the feed', faults: /^5..$/ } }],
    ['the operators’ path', (url: URL) => url.pathname, NOT_SHOWN, { endpoint: { name: 'the feed', faults: /^5..$/ } }],
    ['its password', () => 'pass word', NOT_SHOWN, {}],
    ['its credentials', basic, NOT_SHOWN, {}],
  ])('shows of a response that repeats %s of the URL: %s', async (_, repeated, responseText, options) => {
    const url = 'https://me:pass%20word@a.example.com:8443/feed/x1?key=9';
    const { outcome } = await sendTo({ status: 500, bodyOf: (each) => `No: ${repeated(each)}` }, url, options);
    expect(outcome).toMatchObject({ responseText });
  });

  it.each(['key1', btoa('key1:')])('shows no user without a password, which is an API key: %s', async (repeated) => {
    const { outcome } = await sendTo({ status: 500, bodyOf: () => `No: ${repeated}` }, 'https://key1@a.example.com/');
    expect(outcome).toMatchObject({ responseText: NOT_SHOWN });
  });

  it('returns the Retry-After of the destination', async () => {
    const { port } = await startHttp(respondWith(503, { 'retry-after': '120' }));
    expect(await send(port)).toMatchObject({ result: 'throttled', reason: 'throttled', retryAfterMs: 120_000 });
  });

  it('adds the headers of the trace to those of the type', async () => {
    const headers = { 'user-agent': 'test' };
    const headersWith = async (trace: object) =>
      (await sendTo({}, 'https://a.example.com/', { headers, trace })).posted?.headers;
    expect(await headersWith({ id: TRACE_ID, headers: traceFields })).toEqual({ ...headers, ...traceFields });
    expect(await headersWith({ id: TRACE_ID })).toEqual(headers);
  });

  it('uses the circuit of the tenant for an alert, and none for a test', async () => {
    const circuitOf = async (changes: object) =>
      (await sendTo({}, 'https://a.example.com/', { ...changes })).posted?.circuitTenant;
    expect(await circuitOf({ notificationId: newNotificationId() })).toBe('acme');
    expect(await circuitOf({})).toBeUndefined();
  });
});
