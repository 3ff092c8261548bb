import { Webhook } from 'standardwebhooks';
import { describe, expect, it } from 'vitest';
import type { WebhookCredentials } from '../../../shared/adapters/accounts/account-repository.ts';
import { createHttpClient } from '../../../shared/adapters/outbound-http/http-client.ts';
import type { SigningSecrets } from '../../../shared/contracts/webhook-request.ts';
import { egressRule } from '../../../shared/domain/egress.ts';
import { createWebhookTransport } from '../../../shared/pipeline/transports/webhook.ts';
import { alert } from '../../support/alert.ts';
import { alarmEvent, alertContent } from '../../support/events.ts';
import { startHttp } from '../../support/servers.ts';

const secret = (letter: string) => `whsec_${Buffer.from(letter.repeat(32)).toString('base64')}`;
const credentials: WebhookCredentials = { token: 'token-of-acme', secrets: [secret('a')] };
type ReceivedRequest = { headers: Record<string, string>; body: string; method: string };

/** Starts a webhook receiver. @returns a function that sends an alert to it */
const setUp = async (status = 200, tenantCredentials = credentials) => {
  const requests: ReceivedRequest[] = [];
  const { url } = await startHttp((request, response) => {
    let body = '';
    request.setEncoding('utf8').on('data', (chunk) => {
      body += chunk;
    });
    request.on('end', () => {
      const headers = Object.fromEntries(Object.entries(request.headers).map(([name, value]) => [name, String(value)]));
      requests.push({ headers, body, method: request.method ?? '' });
      response.writeHead(status).end();
    });
  });
  const http = createHttpClient({ isAllowed: egressRule(['127.0.0.0/8']) });
  const transport = createWebhookTransport({ webhookCredentials: async () => tenantCredentials }, http);
  const send = async (changes = {}, request?: unknown, signingSecrets?: SigningSecrets) => {
    const webhookRequest = request === undefined ? undefined : JSON.stringify(request);
    const options = { webhookRequest, signingSecrets };
    const outcome = await transport({ ...alert, ...changes }, { url: url().href }, options);
    const received = requests.at(-1);
    if (!received) throw new Error('No request was received.');
    return { outcome, ...received };
  };
  return { send, requests, transport, url };
};

it('a webhook is a POST of the payload as JSON, with the tenant’s token', async () => {
  const { outcome, method, headers, body } = await (await setUp()).send();
  expect(outcome).toEqual({
    result: 'delivered',
    status: 200,
    explanation: 'Success: Webhook successfully executed',
  });
  expect(method).toBe('POST');
  expect(headers).toMatchObject({
    'content-type': 'application/json',
    'x-monitoring-webhook-token': 'token-of-acme',
    'user-agent': expect.stringMatching(/^monitoring-notifications\//),
  });
  expect(headers).not.toHaveProperty('transfer-encoding');
  expect(JSON.parse(body)).toMatchObject({ event_id: alarmEvent().event_id, tenant_id: 'acme' });
});

describe('a webhook with a request of its own', () => {
  const ownSecret = { current: secret('o'), retired: [] };

  it('has its headers and body, and a signature by its own secret of the bytes that are sent', async () => {
    const { send } = await setUp();
    const headers = { Authorization: 'Bearer 1', 'x-key': 'k' };
    const request = { headers, body: { text: 'ä {{alert.title}}', data: '{{details.metrics}}' } };
    const received = await send({}, request, { ...ownSecret, account_until_ms: Date.now() + 60_000 });
    expect(received.headers).toMatchObject({ authorization: 'Bearer 1', 'x-key': 'k' });
    expect(received.headers['webhook-signature']).not.toContain(' ');
    expect(new Webhook(secret('o')).verify(received.body, received.headers)).toEqual({
      text: 'ä [CRITICAL] web-1: Disk space',
      data: alarmEvent().details.metrics,
    });
    expect(received.headers['content-length']).toBe(String(Buffer.byteLength(received.body)));
    expect(received.headers).toMatchObject({
      'content-type': 'application/json',
      'x-monitoring-webhook-token': 'token-of-acme',
    });
  });

  it('has the usual body with only headers, and the usual headers with only a body', async () => {
    const { send } = await setUp();
    const usual = await send();
    const names = Object.keys(usual.headers);
    const withHeaders = await send({}, { headers: { 'x-key': 'k' } });
    expect(withHeaders.body).toBe(usual.body);
    expect(() => new Webhook(secret('a')).verify(withHeaders.body, withHeaders.headers)).not.toThrow();
    const withBody = await send({}, { body: null }, ownSecret);
    expect([withBody.body, Object.keys(withBody.headers)]).toEqual([
      'null',
      names.filter((name) => name !== 'x-monitoring-webhook-token'),
    ]);
  });

  it('is not signed by the account if it chooses the body, so that nobody forges alerts to other receivers', async () => {
    const { send } = await setUp();
    for (const secrets of [undefined, { retired: [] }]) {
      for (const changes of [{}, { notificationId: 'nt1' }]) {
        const { headers } = await send(changes, { body: { state: 'CRITICAL' } }, secrets);
        expect(headers).not.toHaveProperty('webhook-signature');
        expect(headers).toMatchObject({
          'webhook-id': expect.stringMatching(/^msg_/),
          'webhook-timestamp': expect.stringMatching(/^\d+$/),
          'x-monitoring-webhook-token': 'token-of-acme',
        });
      }
    }
  });

  it('fails permanently without a request if its body is too large', async () => {
    const { transport, url, requests } = await setUp();
    const content = alertContent(alarmEvent({ check: 'c'.repeat(300_000) }));
    const outcome = await transport(
      { ...alert, ...content },
      { url: url().href },
      { webhookRequest: '{"body":"{{check}}"}' },
    );
    expect(outcome).toMatchObject({ result: 'permanent', reason: 'too_large', cause: 'destination' });
    expect(requests).toEqual([]);
  });
});

describe('a test of a webhook', () => {
  const request = {
    headers: { 'x-key': 'secret key' },
    body: { text: '{{alarm.label}}', owner: '{{entity.owner}}' },
  };

  it('with a request of its own shows what was sent, without secrets, and placeholders without a value', async () => {
    const { outcome, headers } = await (await setUp(500)).send({}, request);
    expect(outcome.shown).toEqual({
      request: {
        method: 'POST',
        url: expect.stringMatching(/^http:.*\/$/),
        headers: expect.arrayContaining(['x-key', 'content-type', 'webhook-id']),
        body: '{"text":"Disk space","owner":null}',
      },
      warnings: ['{{entity.owner}} has no value in the test message'],
    });
    for (const name of outcome.shown?.request?.headers ?? []) expect(headers).toHaveProperty(name);
  });

  it('without one, like every alert, shows nothing', async () => {
    const { send } = await setUp();
    expect((await send()).outcome).not.toHaveProperty('shown');
    expect((await send({ notificationId: 'nt1' }, request)).outcome).not.toHaveProperty('shown');
  });
});

it('the signature of a webhook is only that of its own secret, without the token of the account, a day after the secret was created', async () => {
  const { send } = await setUp();
  const own = { current: secret('o'), retired: [], account_until_ms: Date.now() - 1 };
  const { headers, body } = await send({}, undefined, own);
  expect(new Webhook(secret('o')).verify(body, headers)).toEqual(JSON.parse(body));
  expect(headers['webhook-signature']).not.toContain(' ');
  expect(headers).not.toHaveProperty('x-monitoring-webhook-token');
  const early = await send({}, undefined, { ...own, account_until_ms: Date.now() + 60_000 });
  for (const each of ['o', 'a'])
    expect(() => new Webhook(secret(each)).verify(early.body, early.headers)).not.toThrow();
  expect(early.headers).toHaveProperty('x-monitoring-webhook-token', 'token-of-acme');
});

it('a failed webhook throws if the credentials cannot be read, which counts no attempt', async () => {
  const http = createHttpClient({ isAllowed: egressRule([]) });
  const transport = createWebhookTransport(
    { webhookCredentials: () => Promise.reject(new Error('no response')) },
    http,
  );
  await expect(transport(alert, { url: 'https://hooks.example.com/' })).rejects.toThrow('no response');
});
