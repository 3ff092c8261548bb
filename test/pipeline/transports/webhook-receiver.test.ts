import { spawn, spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import type { WebhookCredentials } from '../../../shared/adapters/accounts/account-repository.ts';
import { createHttpClient } from '../../../shared/adapters/outbound-http/http-client.ts';
import { webhookPayload } from '../../../shared/contracts/alarm-event.ts';
import { egressRule } from '../../../shared/domain/egress.ts';
import { createWebhookTransport, webhookHeaders } from '../../../shared/pipeline/transports/webhook.ts';
import { alert } from '../../support/alert.ts';
import { root } from '../../support/documents.ts';
import { alarmEvent, alertContent, EVENT_TIME_MS } from '../../support/events.ts';

// docs/decisions/tools.md#examples-in-documents
const examples = join(root, 'docs/examples');

/** The receivers, what tells whether this machine can run them, and what they print of an alert with a custom body. */
const receivers = [
  { name: 'receiver.mjs', command: process.execPath, check: ['--version'], customLine: 'undefined undefined' },
  {
    name: 'receiver.py',
    command: 'python3',
    check: ['-c', 'import standardwebhooks'],
    customLine: 'an alert with a custom body',
  },
];

const secret = (letter: string) => `whsec_${Buffer.from(letter.repeat(32)).toString('base64')}`;
const [oldSecret, newSecret, otherSecret] = [secret('a'), secret('b'), secret('c')];
const credentials: WebhookCredentials = { token: 'token-of-acme', secrets: [oldSecret] };

/** Sends an alert as the service does. @returns the outcome */
const send = (
  url: string,
  { token, secrets }: WebhookCredentials = credentials,
  deliveryId = 'd1',
  timestamp = EVENT_TIME_MS,
) => {
  const http = createHttpClient({ isAllowed: egressRule(['127.0.0.0/8']) });
  const transport = createWebhookTransport({ webhookCredentials: async () => ({ token, secrets }) }, http);
  const event = alarmEvent({
    event_id: `acme:enWeb1:alDisk:chDisk:${EVENT_TIME_MS}:${deliveryId}`,
    details: { state: 'CRITICAL', timestamp },
  });
  return transport({ ...alert, ...alertContent(event), deliveryId }, { url });
};

const accepted = expect.objectContaining({ result: 'delivered', status: 204 });
const refused = expect.objectContaining({ result: 'transient', status: 401 });

describe.each(receivers)('docs/examples/$name', ({ name, command, check, customLine }) => {
  let isRunnable = false;
  beforeAll(() => {
    isRunnable = spawnSync(command, check).status === 0;
  });
  beforeEach(({ skip }) => skip(!isRunnable, 'its library is not installed'));

  /** Runs the receiver until the test finishes. `nextLine` returns the next line that it prints. */
  const startReceiver = async (environment: { WEBHOOK_SECRETS: string; WEBHOOK_TOKENS?: string }) => {
    const child = spawn(command, [join(examples, name)], {
      cwd: root,
      env: {
        PATH: process.env.PATH,
        PYTHONPATH: process.env.PYTHONPATH,
        WEBHOOK_TOKENS: credentials.token,
        ...environment,
        PORT: '0',
      },
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    onTestFinished(() => void child.kill());
    const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
    const nextLine = async (): Promise<string> => String((await lines.next()).value);
    const port = /^Listening on port (\d+)$/.exec(await nextLine())?.[1];
    return { url: `http://127.0.0.1:${port}/`, nextLine };
  };

  it('accepts the requests of the service and processes each alert once', async () => {
    const { url, nextLine } = await startReceiver({ WEBHOOK_SECRETS: oldSecret });
    expect(await send(url)).toEqual(accepted);
    expect(await nextLine()).toMatch(/^[A-Z]+ acme:.*:d1$/);
    expect(await send(url)).toEqual(accepted);
    expect(await send(url, credentials, 'd2')).toEqual(accepted);
    expect(await nextLine()).toMatch(/:d2$/);
  });

  it('takes an event that is older than the newest of its alarm for outdated', async () => {
    const { url, nextLine } = await startReceiver({ WEBHOOK_SECRETS: oldSecret });
    for (const [id, offsetMs, state] of [
      ['d1', 0, 'CRITICAL'],
      ['d2', -1, 'outdated'],
      ['d3', 0, 'CRITICAL'],
      ['d4', 1, 'CRITICAL'],
    ] as const) {
      expect(await send(url, credentials, id, EVENT_TIME_MS + offsetMs)).toEqual(accepted);
      expect(await nextLine()).toMatch(new RegExp(`^${state} acme:.*:${id}$`));
    }
  });

  it('accepts either secret during a rotation, and both if it has both', async () => {
    const rotating = { ...credentials, secrets: [newSecret, oldSecret] };
    for (const known of [oldSecret, newSecret]) {
      const { url } = await startReceiver({ WEBHOOK_SECRETS: known });
      expect(await send(url, rotating)).toEqual(accepted);
    }
    const { url } = await startReceiver({ WEBHOOK_SECRETS: `${newSecret} ${oldSecret}` });
    for (const secrets of [[oldSecret], [newSecret, oldSecret], [newSecret]]) {
      expect(await send(url, { ...credentials, secrets })).toEqual(accepted);
    }
  });

  it('rejects another secret, another token, and every request if it has no secret', async () => {
    const { url } = await startReceiver({ WEBHOOK_SECRETS: oldSecret });
    expect(await send(url, { ...credentials, secrets: [otherSecret] })).toEqual(refused);
    expect(await send(url, { ...credentials, token: 'token-of-acmf' })).toEqual(refused);
    expect(await send(url, { ...credentials, token: 'short' })).toEqual(refused);
    const withoutSecret = await startReceiver({ WEBHOOK_SECRETS: '' });
    expect(await send(withoutSecret.url)).toEqual(refused);
  });

  it('accepts requests without a token if it has none, as a webhook with a signing secret of its own gets them', async () => {
    const { url } = await startReceiver({ WEBHOOK_SECRETS: newSecret, WEBHOOK_TOKENS: '' });
    const headersWith = (secret: string) => webhookHeaders({ secrets: [secret] }, 'd1', Date.now(), '{}');
    const post = async (secret: string) =>
      (await fetch(url, { method: 'POST', headers: headersWith(secret), body: '{}' })).status;
    expect([await post(newSecret), await post(otherSecret)]).toEqual([204, 401]);
  });

  it('continues after bodies of a form of their own', async () => {
    const { url, nextLine } = await startReceiver({ WEBHOOK_SECRETS: oldSecret });
    for (const [id, body] of Object.entries({
      null: 'null',
      text: '"text"',
      list: '[]',
      object: '{"text":"Disk is full"}',
    })) {
      const headers = webhookHeaders(credentials, id, Date.now(), body);
      expect((await fetch(url, { method: 'POST', headers, body })).status).toBe(204);
      expect(await nextLine()).toBe(customLine);
    }
    expect(await send(url)).toEqual(accepted);
    expect(await nextLine()).toMatch(/:d1$/);
  });

  it('rejects a changed body, ID or time, an old request, missing headers and a large body', async () => {
    const { url } = await startReceiver({ WEBHOOK_SECRETS: oldSecret });
    const genuine = JSON.stringify(webhookPayload(alarmEvent()));
    const headers = webhookHeaders(credentials, 'd1', Date.now(), genuine);
    const old = webhookHeaders(credentials, 'd1', Date.now() - 600_000, genuine);
    const post = async (body: string, changes: Record<string, string>) =>
      (await fetch(url, { method: 'POST', headers: { ...headers, ...changes }, body })).status;

    expect(await post(genuine.replace('acme', 'acmf'), {})).toBe(401);
    expect(await post(`${genuine} `, {})).toBe(401);
    expect(await post(genuine, { 'webhook-id': 'msg_d2' })).toBe(401);
    expect(await post(genuine, { 'webhook-timestamp': String(Math.floor(Date.now() / 1000) - 60) })).toBe(401);
    expect(await post(genuine, old)).toBe(401);
    expect(await post(genuine, { 'webhook-signature': 'v1' })).toBe(401);
    expect((await fetch(url, { method: 'POST', body: genuine })).status).toBe(401);
    expect(await post('x'.repeat(1_100_000), {})).toBe(413);
    expect(await post(genuine, {})).toBe(204);
  });
});
