import { Webhook } from 'standardwebhooks';
import { describe, expect, it, vi } from 'vitest';
import type { HttpClient, HttpPost } from '../../../shared/adapters/outbound-http/http-client.ts';
import type { Transport } from '../../../shared/domain/transport.ts';
import { createFeedTransport } from '../../../shared/pipeline/transports/atomfeed.ts';
import { createPagerTransport } from '../../../shared/pipeline/transports/incidentpager.ts';
import { createRouterTransport } from '../../../shared/pipeline/transports/incidentrouter.ts';
import { createWebhookTransport } from '../../../shared/pipeline/transports/webhook.ts';
import { alert } from '../../support/alert.ts';
import { validDetails } from '../../support/notifications.ts';

const secrets = [`whsec_${Buffer.from('a'.repeat(32)).toString('base64')}`];
const accounts = { webhookCredentials: async () => ({ token: 'token-of-acme', secrets }) };

/** Returns an HTTP client that records its requests and returns a fixed response. */
const recordingClient = (status = 200, body = '') => {
  const post = vi.fn(async (_request: HttpPost) => ({ status, retryAfter: undefined, body }));
  const posted = () => {
    const [[request] = []] = post.mock.calls;
    if (!request) throw new Error('No request was sent.');
    return request;
  };
  return { post, posted };
};

it.each<[string, (http: HttpClient) => Transport, Record<string, string>, string[]]>([
  ['webhook', (http) => createWebhookTransport(accounts, http), validDetails.webhook, ['token-of-acme', ...secrets]],
  [
    'router',
    (http) => createRouterTransport(accounts, http, 'https://router.example.com'),
    validDetails.incidentrouter,
    [...Object.values(validDetails.incidentrouter), 'token-of-acme', ...secrets],
  ],
  [
    'pager',
    (http) => createPagerTransport(http, http, 'https://pager.example.com'),
    validDetails.incidentpager,
    Object.values(validDetails.incidentpager),
  ],
])('the text of a failed response of a %s has no secret that it repeats', async (_, create, details, repeated) => {
  const outcome = await create(recordingClient(500, repeated.join(' ')))(alert, details);
  expect(outcome).toMatchObject({ responseText: '(not shown: it contains a secret)' });
});

describe('the incident pager transport', () => {
  const OPERATORS_ENDPOINT = 'https://pager.example.com/events';

  it('posts JSON with the service key to the operators’ endpoint', async () => {
    const [guarded, direct] = [recordingClient(), recordingClient()];
    const outcome = await createPagerTransport(guarded, direct, OPERATORS_ENDPOINT)(alert, validDetails.incidentpager);
    expect(outcome).toMatchObject({ result: 'delivered' });
    expect(guarded.post).not.toHaveBeenCalled();
    expect(direct.posted().url.href).toBe(OPERATORS_ENDPOINT);
    expect(JSON.parse(direct.posted().body)).toMatchObject({ ...validDetails.incidentpager, event_type: 'trigger' });
  });

  it('posts to the tenant’s endpoint only with the SSRF-safe client', async () => {
    const [guarded, direct] = [recordingClient(), recordingClient()];
    const details = { ...validDetails.incidentpager, service_endpoint: 'https://tenant.example.com/x' };
    await createPagerTransport(guarded, direct, OPERATORS_ENDPOINT)(alert, details);
    expect(guarded.posted().url.href).toBe('https://tenant.example.com/x');
    expect(direct.post).not.toHaveBeenCalled();
  });

  it.each([
    ['https://tenant.example.com/v2/enqueue', 202, 'event_action'],
    ['https://tenant.example.com/v2/enqueue?region=eu', 202, 'event_action'],
    ['https://tenant.example.com/v2/enqueue/', 202, 'event_action'],
    ['https://tenant.example.com/x/v2/enqueue', 200, 'event_action'],
    ['https://tenant.example.com/v2/enqueued', 202, 'event_type'],
  ])('posts to %s an event that is accepted with %i and has %s', async (endpoint, status, field) => {
    const http = recordingClient(status);
    const details = { ...validDetails.incidentpager, service_endpoint: endpoint };
    const outcome = await createPagerTransport(http, http, OPERATORS_ENDPOINT)(alert, details);
    expect(JSON.parse(http.posted().body)).toHaveProperty(field, 'trigger');
    expect(outcome).toMatchObject({ result: 'delivered' });
  });
});

describe('the incident router transport', () => {
  const ENDPOINT = 'https://router.example.com/alert';
  const { api_key: apiKey } = validDetails.incidentrouter;
  const send = async (http: ReturnType<typeof recordingClient>, details = {}, endpoint = ENDPOINT) =>
    createRouterTransport(accounts, http, endpoint)(alert, { ...validDetails.incidentrouter, ...details });

  it.each([
    [{}, ENDPOINT, `${ENDPOINT}/${apiKey}`],
    [{ routing_key: 'team-1' }, ENDPOINT, `${ENDPOINT}/${apiKey}/team-1`],
    [{ routing_key: '...' }, `${ENDPOINT}/`, `${ENDPOINT}/${apiKey}/...`],
  ])('posts to the URL with its keys: %o', async (details, endpoint, url) => {
    const http = recordingClient(200, '{"result":"success"}');
    expect(await send(http, details, endpoint)).toMatchObject({ result: 'delivered' });
    expect(http.posted().url.href).toBe(url);
  });

  it('posts a webhook payload with the tenant’s token and a valid signature', async () => {
    const http = recordingClient(200, '{"result":"success"}');
    await send(http);
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
});

describe('the Atom feed transport', () => {
  it('posts an entry to the operators’ collection', async () => {
    const http = recordingClient(201);
    const outcome = await createFeedTransport(http, 'https://feed.example.com/alerts')(alert, validDetails.atomfeed);
    expect(outcome).toMatchObject({ result: 'delivered', status: 201 });
    expect(http.posted()).toMatchObject({
      headers: { 'content-type': 'application/atom+xml;type=entry;charset=utf-8' },
      body: expect.stringContaining('monitoring.alerts.databases'),
    });
  });

  it.each([
    ['is a permanent failure on a first attempt: the feed has another entry with this ID', {}, 'permanent'],
    ['is delivered if an earlier attempt may have arrived: the feed has it', { mayHaveArrived: true }, 'delivered'],
  ])('409 %s', async (_, changes, result) => {
    const send = createFeedTransport(recordingClient(409), 'https://feed.example.com/alerts');
    expect(await send({ ...alert, ...changes }, validDetails.atomfeed)).toMatchObject({ result, status: 409 });
  });

  it('returns a permanent failure of the service if no feed is configured', async () => {
    const http = recordingClient();
    expect(await createFeedTransport(http, undefined)(alert, validDetails.atomfeed)).toMatchObject({
      result: 'permanent',
      reason: 'no_feed_configured',
      cause: 'service',
    });
    expect(http.post).not.toHaveBeenCalled();
  });
});

describe('an endpoint of the operators', () => {
  const ENDPOINT = 'https://operators.example.com/x';
  const transports: Record<string, (http: HttpClient) => ReturnType<Transport>> = {
    pager: (http) => createPagerTransport(http, http, ENDPOINT)(alert, validDetails.incidentpager),
    router: (http) => createRouterTransport(accounts, http, ENDPOINT)(alert, validDetails.incidentrouter),
    feed: (http) => createFeedTransport(http, ENDPOINT)(alert, validDetails.atomfeed),
    'tenant’s pager': (http) =>
      createPagerTransport(
        http,
        http,
        ENDPOINT,
      )(alert, {
        ...validDetails.incidentpager,
        service_endpoint: 'https://tenant.example.com/x',
      }),
  };
  const send = async (name: string, status?: number) => {
    const refused = async () => Promise.reject(Object.assign(new Error('refused'), { code: 'ECONNREFUSED' }));
    const outcome = await transports[name]?.(status === undefined ? { post: refused } : recordingClient(status));
    return [outcome && 'cause' in outcome ? outcome.cause : undefined, outcome?.isEndpointFailure];
  };

  it.each(['pager', 'router', 'feed'])(
    'fails by its own fault if it is down, and is still a destination: %s',
    async (name) => {
      expect(await send(name, 503)).toEqual(['destination', true]);
      expect(await send(name)).toEqual(['destination', true]);
      expect(await send(name, 429)).toEqual(['destination', false]);
      expect(await send(name, 202)).toEqual([undefined, false]);
    },
  );

  it('fails by its own fault if it refuses the operators’ credentials, not those of a tenant', async () => {
    expect(await send('feed', 401)).toEqual(['destination', true]);
    expect(await send('feed', 403)).toEqual(['destination', true]);
    expect(await send('feed', 404)).toEqual(['destination', false]);
    expect(await send('router', 403)).toEqual(['destination', false]);
    expect(await send('pager', 400)).toEqual(['destination', false]);
    expect(await send('tenant’s pager', 503)).toEqual(['destination', undefined]);
  });
});
