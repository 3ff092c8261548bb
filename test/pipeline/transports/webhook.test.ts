import { Webhook } from 'standardwebhooks';
import { describe, expect, it } from 'vitest';
import type { WebhookCredentials } from '../../../shared/adapters/accounts/account-repository.ts';
import { createHttpClient } from '../../../shared/adapters/outbound-http/http-client.ts';
import { isAlarmEvent } from '../../../shared/contracts/alarm-event.ts';
import { parseJson } from '../../../shared/contracts/json.ts';
import { egressRule } from '../../../shared/domain/egress.ts';
import { createWebhookTransport } from '../../../shared/pipeline/transports/webhook.ts';
import { alarmEvent, EVENT_TIME_MS } from '../../support/events.ts';
import { startHttp } from '../../support/servers.ts';

const secret = (letter: string) => `whsec_${Buffer.from(letter.repeat(32)).toString('base64')}`;
const credentials: WebhookCredentials = { token: 'token-of-acme', secrets: [secret('a')] };
const alert = {
  event: alarmEvent(),
  eventTimeMs: EVENT_TIME_MS,
  deliveryId: 'd1',
  reachedRecipientHashes: [],
  timeLeft: () => 30_000,
};

type Call = { headers: Record<string, string>; body: string; method: string };

/** A receiver of webhooks, and a delivery to it. */
const setUp = async (status = 200, given = credentials) => {
  const calls: Call[] = [];
  const { url } = await startHttp((request, response) => {
    let body = '';
    request.setEncoding('utf8').on('data', (part) => {
      body += part;
    });
    request.on('end', () => {
      const headers = Object.fromEntries(Object.entries(request.headers).map(([name, value]) => [name, String(value)]));
      calls.push({ headers, body, method: request.method ?? '' });
      response.writeHead(status).end();
    });
  });
  const http = createHttpClient({ isAllowed: egressRule(['127.0.0.0/8']) });
  const deliver = createWebhookTransport({ webhookCredentials: async () => given }, http);
  const send = async (changes = {}) => {
    const outcome = await deliver({ ...alert, ...changes }, { url: url().href });
    const call = calls.at(-1);
    if (!call) throw new Error('Nothing was received.');
    return { outcome, ...call };
  };
  return { send };
};

describe('a webhook', () => {
  it('is a POST of the payload as JSON, with the tenant’s token', async () => {
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

  it('has exactly the seven fields of the interface, though the event has more', async () => {
    const event = alarmEvent({ notification_plan: { critical_state: ['ntA'] }, other: 1 });
    const { body } = await (await setUp()).send({ event });
    const payload: unknown = JSON.parse(body);
    expect(Object.keys(payload ?? {})).toEqual([
      'event_id',
      'log_entry_id',
      'details',
      'entity',
      'check',
      'alarm',
      'tenant_id',
    ]);
  });

  it('hands on numbers to the last digit', async () => {
    const event = parseJson(JSON.stringify(alarmEvent()).replace('"data":153', '"data":18446744073709551615'));
    const { body } = await (await setUp()).send({ event });
    expect(isAlarmEvent(event)).toBe(true);
    expect(body).toContain('"data":18446744073709551615');
  });
});

describe('the signature of a webhook', () => {
  it('is verified by the reference library', async () => {
    const { headers, body } = await (await setUp()).send();
    expect(new Webhook(secret('a')).verify(body, headers)).toEqual(JSON.parse(body));
  });

  it('is verified with either secret while one is replaced', async () => {
    const rotating = { ...credentials, secrets: [secret('b'), secret('a')] };
    const { headers, body } = await (await setUp(200, rotating)).send();
    for (const letter of ['a', 'b']) expect(() => new Webhook(secret(letter)).verify(body, headers)).not.toThrow();
  });

  it('is not verified with another secret, another body, another time or another id', async () => {
    const { headers, body } = await (await setUp()).send();
    const webhook = new Webhook(secret('a'));
    expect(() => new Webhook(secret('c')).verify(body, headers)).toThrow();
    expect(() => webhook.verify(`${body} `, headers)).toThrow();
    const earlier = String(Number(headers['webhook-timestamp']) - 1);
    expect(() => webhook.verify(body, { ...headers, 'webhook-timestamp': earlier })).toThrow();
    expect(() => webhook.verify(body, { ...headers, 'webhook-id': 'msg_d2' })).toThrow();
  });

  it('names the delivery by the same id over retries, without a dot, and another one by another', async () => {
    const { send } = await setUp(500);
    const ids = [await send(), await send(), await send({ deliveryId: 'd2' })].map(
      ({ headers }) => headers['webhook-id'],
    );
    expect(ids[0]).toBe(ids[1]);
    expect(ids[2]).not.toBe(ids[0]);
    for (const id of ids) expect(id).toMatch(/^[\w-]+$/);
  });

  it('is of the time of the attempt, in seconds', async () => {
    const { headers } = await (await setUp()).send();
    expect(Math.abs(Number(headers['webhook-timestamp']) - Date.now() / 1_000)).toBeLessThan(10);
  });
});

describe('a webhook that fails', () => {
  it.each([
    [404, 'transient'],
    [410, 'permanent'],
    [500, 'transient'],
  ])('is judged by its status: %i is %s', async (status, result) => {
    const { outcome } = await (await setUp(status)).send();
    expect(outcome).toMatchObject({ result, status, reason: 'http_status', cause: 'destination' });
  });

  it('fails as ours, and uses no attempt, where the credentials cannot be read', async () => {
    const http = createHttpClient({ isAllowed: egressRule([]) });
    const deliver = createWebhookTransport({ webhookCredentials: () => Promise.reject(new Error('no table')) }, http);
    await expect(deliver(alert, { url: 'https://hooks.example.com/' })).rejects.toThrow('no table');
  });
});
