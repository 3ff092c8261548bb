import { Webhook } from 'standardwebhooks';
import { describe, expect, it, vi } from 'vitest';
import type { HttpPost } from '../../../shared/adapters/outbound-http/http-client.ts';
import { createFeedTransport } from '../../../shared/pipeline/transports/atomfeed.ts';
import { createPagerTransport } from '../../../shared/pipeline/transports/incidentpager.ts';
import { createRouterTransport } from '../../../shared/pipeline/transports/incidentrouter.ts';
import { alarmEvent, EVENT_TIME_MS } from '../../support/events.ts';
import { validDetails } from '../../support/notifications.ts';

const alert = {
  event: alarmEvent(),
  eventTimeMs: EVENT_TIME_MS,
  deliveryId: 'd1',
  reachedRecipientHashes: [],
  timeLeft: () => 30_000,
};
const secrets = [`whsec_${Buffer.from('a'.repeat(32)).toString('base64')}`];
const accounts = { webhookCredentials: async () => ({ token: 'token-of-acme', secrets }) };

/** An HTTP client that answers as it is told, and what was posted by it. */
const recording = (status = 200, body = '') => {
  const post = vi.fn(async (_request: HttpPost) => ({ status, retryAfter: undefined, body }));
  const posted = () => {
    const [[request] = []] = post.mock.calls;
    if (!request) throw new Error('Nothing was posted.');
    return request;
  };
  return { post, posted };
};

describe('an incident pager', () => {
  const OURS = 'https://pager.example.com/events';

  it('is told as JSON at the operators’ address, by its key', async () => {
    const [guarded, direct] = [recording(), recording()];
    const outcome = await createPagerTransport(guarded, direct, OURS)(alert, validDetails.incidentpager);
    expect(outcome).toMatchObject({ result: 'delivered' });
    expect(guarded.post).not.toHaveBeenCalled();
    expect(direct.posted().url.href).toBe(OURS);
    expect(JSON.parse(direct.posted().body)).toMatchObject({ service_key: 'abcDEF123', event_type: 'trigger' });
  });

  it('is told at the user’s own address under the egress rule, and only there', async () => {
    const [guarded, direct] = [recording(), recording()];
    const details = { ...validDetails.incidentpager, service_endpoint: 'https://own.example.com/x' };
    await createPagerTransport(guarded, direct, OURS)(alert, details);
    expect(guarded.posted().url.href).toBe('https://own.example.com/x');
    expect(direct.post).not.toHaveBeenCalled();
  });
});

describe('an incident router', () => {
  const ENDPOINT = 'https://router.example.com/alert';
  const { api_key: apiKey } = validDetails.incidentrouter;
  const deliver = async (http: ReturnType<typeof recording>, details = {}, endpoint = ENDPOINT) =>
    createRouterTransport(accounts, http, endpoint)(alert, { ...validDetails.incidentrouter, ...details });

  it.each([
    [{}, ENDPOINT, `${ENDPOINT}/${apiKey}`],
    [{ routing_key: 'team-1' }, ENDPOINT, `${ENDPOINT}/${apiKey}/team-1`],
    [{ routing_key: '...' }, `${ENDPOINT}/`, `${ENDPOINT}/${apiKey}/...`],
  ])('is told at the address of its keys: %o', async (details, endpoint, url) => {
    const http = recording(200, '{"result":"success"}');
    expect(await deliver(http, details, endpoint)).toMatchObject({ result: 'delivered' });
    expect(http.posted().url.href).toBe(url);
  });

  it('is told by a webhook: with the tenant’s token and a signature that can be checked', async () => {
    const http = recording(200, '{"result":"success"}');
    await deliver(http);
    const { headers, body, readBody } = http.posted();
    expect(headers).toMatchObject({
      'content-type': 'application/json',
      'x-monitoring-webhook-token': 'token-of-acme',
    });
    expect(new Webhook(secrets[0] ?? '').verify(body, headers)).toMatchObject({
      message_type: 'CRITICAL',
      tenant_id: 'acme',
    });
    expect(readBody).toBe(true);
  });

  it('has refused for good where its answer says so, whatever its status says', async () => {
    expect(await deliver(recording(200, '{"result":"failure","message":"no"}'))).toMatchObject({ result: 'permanent' });
  });

  it('is never named with its key in what the tester is told', async () => {
    for (const http of [recording(404), recording(200, '{"result":"failure"}')]) {
      expect(JSON.stringify(await deliver(http))).not.toContain(apiKey);
    }
    const refusing = { post: () => Promise.reject(Object.assign(new Error('x'), { code: 'ECONNREFUSED' })) };
    const outcome = await createRouterTransport(accounts, refusing, ENDPOINT)(alert, validDetails.incidentrouter);
    expect(JSON.stringify(outcome)).not.toContain(apiKey);
  });
});

describe('an Atom feed', () => {
  it('is posted an entry at the operators’ collection', async () => {
    const http = recording(201);
    const outcome = await createFeedTransport(http, 'https://feed.example.com/alerts')(alert, validDetails.atomfeed);
    expect(outcome).toMatchObject({ result: 'delivered', status: 201 });
    expect(http.posted()).toMatchObject({
      headers: { 'content-type': 'application/atom+xml;type=entry;charset=utf-8' },
      body: expect.stringContaining('monitoring.alerts.databases'),
    });
  });

  it('that nobody has configured is a permanent failure of ours', async () => {
    const http = recording();
    expect(await createFeedTransport(http, undefined)(alert, validDetails.atomfeed)).toMatchObject({
      result: 'permanent',
      reason: 'no_feed_configured',
      cause: 'service',
    });
    expect(http.post).not.toHaveBeenCalled();
  });
});
