import { describe, expect, it } from 'vitest';
import type { AttemptOutcome } from '../../shared/domain/attempt-outcome.ts';
import { networkErrorText } from '../../shared/domain/failure-text.ts';
import { type HttpResponses, httpOutcome, parseRetryAfterMs } from '../../shared/domain/http-outcome.ts';
import { feedResponses } from '../../shared/pipeline/transports/atomfeed.ts';
import { pagerResponses } from '../../shared/pipeline/transports/incidentpager.ts';
import { routerResponses } from '../../shared/pipeline/transports/incidentrouter.ts';
import { webhookResponses } from '../../shared/pipeline/transports/webhook.ts';

const NOW = Date.UTC(2026, 0, 1, 12);
const HOUR_MS = 3_600_000;

const webhookOutcome = (status: number, retryAfter?: string): AttemptOutcome =>
  httpOutcome(webhookResponses, { status, retryAfter, body: '' }, NOW);

const statuses = Array.from({ length: 500 }, (_, index) => index + 100);

const expected = (status: number, hasRetryAfter: boolean): AttemptOutcome['result'] => {
  if (status >= 200 && status < 300) return 'delivered';
  if (status === 410) return 'permanent';
  return hasRetryAfter && (status === 429 || status === 503) ? 'throttled' : 'transient';
};

describe('the response of a webhook', () => {
  it('is delivered for every 2xx, permanent for 410, and transient for every other status', () => {
    expect(statuses.map((status) => [status, webhookOutcome(status).result])).toEqual(
      statuses.map((status) => [status, expected(status, false)]),
    );
  });

  it('is throttled for 429 and 503 with Retry-After', () => {
    expect(statuses.map((status) => [status, webhookOutcome(status, '30').result])).toEqual(
      statuses.map((status) => [status, expected(status, true)]),
    );
  });

  it('has a message, and after a failure a reason and the cause destination', () => {
    expect(webhookOutcome(204).explanation).toBe('Success: Webhook successfully executed');
    expect(webhookOutcome(404).explanation).toBe('Unexpected status code "404". Expected one of: /2[0-9]{2}/');
    for (const status of [410, 500])
      expect(webhookOutcome(status)).toMatchObject({ reason: 'http_status', cause: 'destination' });
    expect(webhookOutcome(429, '1')).toMatchObject({ reason: 'throttled', cause: 'destination' });
  });

  it('has the delay of Retry-After, for every status', () => {
    expect(webhookOutcome(429, '30')).toMatchObject({ retryAfterMs: 30_000 });
    expect(webhookOutcome(500, '30')).toMatchObject({ retryAfterMs: 30_000 });
    expect(webhookOutcome(500)).toMatchObject({ retryAfterMs: undefined });
  });
});

describe('the response', () => {
  const results = (responses: HttpResponses, body = '') =>
    Object.fromEntries(
      statuses.map((status) => [status, httpOutcome(responses, { status, retryAfter: undefined, body }, NOW).result]),
    );
  const table = (result: (status: number) => AttemptOutcome['result']) =>
    Object.fromEntries(statuses.map((status) => [status, result(status)]));

  const isSuccess = (status: number): boolean => status >= 200 && status < 300;

  it('of an incident pager: 2xx delivered; 400 and 404 permanent; 403 and 429 throttled', () => {
    const named = { 400: 'permanent', 404: 'permanent', 403: 'throttled', 429: 'throttled' };
    const all = table((status) => (isSuccess(status) ? 'delivered' : 'transient'));
    expect(results(pagerResponses)).toEqual({ ...all, ...named });
  });

  it('of an incident router: 2xx delivered unless its result is "failure"; 400, 401, 403 and 404 permanent; 429 throttled', () => {
    const named = { 400: 'permanent', 401: 'permanent', 403: 'permanent', 404: 'permanent', 429: 'throttled' };
    const all = (success: AttemptOutcome['result']) => ({
      ...table((status) => (isSuccess(status) ? success : 'transient')),
      ...named,
    });
    expect(results(routerResponses, '{"result":"failure","message":"bad"}')).toEqual(all('permanent'));
    for (const body of ['', 'ok', '[]', 'null', '{}', '{"result":1}', '{"result":', '{"result":"success"}']) {
      expect(results(routerResponses, body)).toEqual(all('delivered'));
    }
  });

  it.each([
    ['pager', pagerResponses, 'Unexpected status code "500". Expected 2xx of the incident pager'],
    [
      'router',
      routerResponses,
      'Unexpected status code "500". Expected 2xx of the incident router without the result "failure" in its body',
    ],
    ['feed', feedResponses, 'Unexpected status code "500". Expected 2xx of the Atom feed'],
  ])('of a %s has a message that names what was expected', (_, responses, message) => {
    const response = { status: 500, retryAfter: undefined, body: '' };
    expect(httpOutcome(responses, response, NOW).explanation).toBe(message);
  });

  it('to a request that was sent twice is one after an attempt that may have arrived', () => {
    const response = { status: 409, retryAfter: undefined, body: '', wasResent: true } as const;
    expect(httpOutcome(feedResponses, response, NOW).result).toBe('delivered');
    expect(httpOutcome(webhookResponses, response, NOW)).toMatchObject({ result: 'transient', wasResent: true });
  });

  it('of an Atom feed: 2xx delivered, 429 throttled, other 4xx permanent, but 409 delivered if an earlier attempt may have arrived', () => {
    const byClass = (status: number) => {
      if (status >= 200 && status < 300) return 'delivered';
      return status >= 400 && status < 500 ? 'permanent' : 'transient';
    };
    expect(results(feedResponses)).toEqual({ ...table(byClass), 429: 'throttled' });
    const mayHaveArrived = statuses.map((status) => [
      status,
      httpOutcome(feedResponses, { status, retryAfter: undefined, body: '' }, NOW, { mayHaveArrived: true }).result,
    ]);
    expect(Object.fromEntries(mayHaveArrived)).toEqual({ ...results(feedResponses), 409: 'delivered' });
  });

  it('has a body that the explanation does not contain', () => {
    const body = '{"result":"failure","message":"secret"}';
    expect(
      JSON.stringify(httpOutcome(routerResponses, { status: 200, retryAfter: undefined, body }, NOW)),
    ).not.toContain('secret');
  });
});

describe('Retry-After', () => {
  it.each([
    ['0', 0],
    ['1', 1_000],
    [' 120 ', 120_000],
    ['3600', HOUR_MS],
    ['3601', HOUR_MS],
    ['9'.repeat(400), HOUR_MS],
  ])('accepts seconds, at most an hour: %s', (header, delayMs) => {
    expect(parseRetryAfterMs(header, NOW)).toBe(delayMs);
  });

  it.each([
    ['Thu, 01 Jan 2026 12:00:30 GMT', 30_000],
    ['Thursday, 01-Jan-26 12:00:30 GMT', 30_000],
    ['Thu Jan  1 12:00:30 2026', 30_000],
    ['Thu, 01 Jan 2026 13:00:00 GMT', HOUR_MS],
    ['Fri, 02 Jan 2026 12:00:00 GMT', HOUR_MS],
    ['Thu, 01 Jan 2026 11:59:59 GMT', 0],
    ['Thu, 01 Jan 1970 00:00:00 GMT', 0],
  ])('accepts a date, at most an hour ahead: %s', (header, delayMs) => {
    expect(parseRetryAfterMs(header, NOW)).toBe(delayMs);
  });

  it.each(['', ' ', '1.5', '-1', '0x10', '5, 6', 'abc 2099', '٥', 'Thu Jan 1 12:00:30 2026 PST', '2026-01-01'])(
    'is ignored if it is invalid: "%s"',
    (header) => {
      expect(parseRetryAfterMs(header, NOW)).toBeUndefined();
    },
  );
});

it.each([
  ['ECONNREFUSED', 'connection refused'],
  ['ENOTFOUND', 'the host name does not exist'],
  ['CERT_HAS_EXPIRED', 'the certificate has expired'],
  ['CERT_REVOKED', 'the certificate is invalid'],
  ['HPE_INVALID_CONSTANT', 'the response is not valid HTTP'],
  ['ERR_SSL_WRONG_VERSION_NUMBER', 'the TLS handshake failed'],
  ['constructor', 'the connection failed'],
  [undefined, 'the connection failed'],
])('the error code %s means: %s', (code, text) => {
  expect(networkErrorText(code)).toBe(text);
});
