import { close, listen, origin } from 'local-aws/http.ts';
import { Webhook } from 'standardwebhooks';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createInbox } from '../../bin/local/inbox/inbox.ts';
import { until } from '../support/until.ts';

const secretOf = (name: string): string => `whsec_${Buffer.from(name.padEnd(24)).toString('base64')}`;
const credentials = { token: 'the-webhook-token', secrets: [secretOf('current')], replaced: [secretOf('replaced')] };
const NOW_MS = 1_700_000_000_000;
const SLOW_MS = 3_600_000;

const start = async (slowResponseMs = SLOW_MS) => {
  const inbox = createInbox({ slowResponseMs });
  const url = origin(await listen(inbox.server));
  inbox.connect({
    addresses: { base_url: 'http://127.0.0.1:3000', inbox_url: url, token: 'mnt_1', tenants: ['acme', 'globex'] },
    credentialsOf: async (tenant) => {
      if (tenant === 'throttled') throw new Error('Throughput exceeds the current capacity.');
      return tenant === 'acme' ? credentials : { token: undefined, secrets: [], replaced: [] };
    },
    now: () => NOW_MS,
  });
  return { inbox, url };
};
let inbox: Awaited<ReturnType<typeof start>>['inbox'];
let url: string;
beforeAll(async () => {
  ({ inbox, url } = await start());
});
afterAll(() => close(inbox.server));
beforeEach(async () => {
  await fetch(url, { method: 'DELETE' });
});

const BODY = '{"state":"CRITICAL","note":"ünïcode"}';

const signed = (secrets: string[], timeMs = NOW_MS): Record<string, string> => ({
  'content-type': 'application/json',
  'x-monitoring-webhook-token': credentials.token,
  'webhook-id': 'msg_1',
  'webhook-timestamp': String(Math.floor(timeMs / 1000)),
  'webhook-signature': secrets.map((secret) => new Webhook(secret).sign('msg_1', new Date(timeMs), BODY)).join(' '),
});
const authentic = () => signed(credentials.secrets);
const without = (headers: Record<string, string>, ...names: string[]) =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => !names.includes(name)));

const send = (headers: Record<string, string>, path = '/webhooks/acme', body = BODY) =>
  fetch(url + path, { method: 'POST', headers, body });
const received = async (headers: Record<string, string>, path?: string, body?: string) => {
  await send(headers, path, body);
  return inbox.list()[0];
};

describe('a webhook address of the inbox', () => {
  it('stores a webhook with its headers and body, and verifies the signature and token of the tenant', async () => {
    const response = await send(authentic());
    expect([response.status, await response.json()]).toEqual([200, { message: 'This address responds with 200.' }]);
    expect(await (await fetch(`${url}/?kind=webhook&to=/webhooks/acme`)).json()).toEqual([
      {
        id: expect.any(Number),
        sent_at: expect.stringMatching(/Z$/),
        kind: 'webhook',
        tenant: 'acme',
        path: '/webhooks/acme',
        content_type: 'application/json',
        headers: expect.objectContaining(authentic()),
        body: BODY,
        verified: true,
        problems: [],
        signed_with: ['current'],
        responded: '200',
      },
    ]);
  });

  it('tells which secrets signed a webhook during a rotation', async () => {
    const both = signed([...credentials.secrets, ...credentials.replaced]);
    expect(await received(both)).toMatchObject({ verified: true, signed_with: ['current', 'replaced'] });
    const replaced = signed(credentials.replaced);
    expect(await received(replaced)).toMatchObject({ verified: true, signed_with: ['replaced'] });
  });

  it('accepts a clock that differs by 300 seconds', async () => {
    expect(await received(signed(credentials.secrets, NOW_MS - 300_000))).toMatchObject({ verified: true });
    expect(await received(signed(credentials.secrets, NOW_MS + 300_000))).toMatchObject({ verified: true });
  });

  const wrongSecret =
    'No signature matches: it was made with a secret that tenant acme does not have, or the body, ID or timestamp was changed.';
  it.each<[reason: string, headers: Record<string, string>, problems: string[]]>([
    [
      'it has no signature',
      without(authentic(), 'webhook-signature'),
      [
        'The header webhook-signature is missing: a body of webhook_request is signed only with a signing secret of the notification.',
      ],
    ],
    [
      'it has no header of the scheme',
      without(authentic(), 'webhook-id', 'webhook-timestamp', 'webhook-signature', 'x-monitoring-webhook-token'),
      [
        'The headers webhook-id, webhook-timestamp, webhook-signature are missing.',
        'The header x-monitoring-webhook-token is missing.',
      ],
    ],
    ['another secret signed it', signed([secretOf('other')]), [wrongSecret]],
    ['its ID was changed', { ...authentic(), 'webhook-id': 'msg_2' }, [wrongSecret]],
    [
      'its signature has another version',
      { ...authentic(), 'webhook-signature': 'v2,abc' },
      ['The header webhook-signature contains no signature of version v1.'],
    ],
    [
      'it is too old',
      signed(credentials.secrets, NOW_MS - 301_000),
      ['The header webhook-timestamp is too old: 301 seconds; at most 300 are allowed.'],
    ],
    [
      'it is from the future',
      signed(credentials.secrets, NOW_MS + 301_000),
      ['The header webhook-timestamp is in the future: 301 seconds; at most 300 are allowed.'],
    ],
    [
      'its timestamp is not a number',
      { ...authentic(), 'webhook-timestamp': 'now' },
      ['The header webhook-timestamp is not a Unix time in seconds.', wrongSecret],
    ],
    [
      'it has no token',
      without(authentic(), 'x-monitoring-webhook-token'),
      ['The header x-monitoring-webhook-token is missing.'],
    ],
    [
      'it has another token',
      { ...authentic(), 'x-monitoring-webhook-token': 'another-token' },
      ['The header x-monitoring-webhook-token is not the webhook token of tenant acme.'],
    ],
  ])('does not verify a webhook if %s', async (_, headers, problems) => {
    expect(await received(headers)).toMatchObject({ verified: false, problems });
  });

  it('does not verify a changed body', async () => {
    const changed = await received(authentic(), '/webhooks/acme', BODY.replace('CRITICAL', 'OK'));
    expect(changed).toMatchObject({ verified: false, problems: [wrongSecret], signed_with: [] });
  });

  it('does not verify a webhook of a tenant without credentials', async () => {
    expect(await received(authentic(), '/webhooks/unknown')).toMatchObject({
      tenant: 'unknown',
      verified: false,
      problems: [
        'Tenant unknown has no signing secret: it is unknown, or has neither sent a webhook nor read its account.',
      ],
    });
  });

  it('stores a webhook and responds as selected even if the credentials cannot be read', async () => {
    expect((await send(authentic(), '/webhooks/throttled?respond=410')).status).toBe(410);
    expect(inbox.list()[0]).toMatchObject({
      verified: false,
      problems: ['The credentials of tenant throttled could not be read: Throughput exceeds the current capacity.'],
    });
  });

  it('shows no values of headers that the service does not set, because they are secrets', async () => {
    const message = await received({ ...authentic(), authorization: 'Bearer 1', 'x-custom': 'secret-value' });
    expect(message).toMatchObject({ headers: { ...authentic(), authorization: '***', 'x-custom': '***' } });
  });
});

const select = (tenant: string, body: string) => fetch(`${url}/webhooks/${tenant}`, { method: 'PUT', body });

describe('the response of a webhook address', () => {
  it.each(['410', '500'])('is %s after it was selected, until another one is', async (respond) => {
    const selected = await select('globex', JSON.stringify({ respond }));
    expect(await selected.json()).toEqual({ tenant: 'globex', url: `${url}/webhooks/globex`, respond });
    expect((await send({}, '/webhooks/globex')).status).toBe(Number(respond));
    expect(inbox.list()[0]).toMatchObject({ responded: respond });
    expect((await send({}, '/webhooks/acme')).status).toBe(200);
    await select('globex', '{"respond":"200"}');
    expect((await send({}, '/webhooks/globex')).status).toBe(200);
  });

  it('can be selected in the address, so that two notifications of a tenant can differ', async () => {
    expect((await send({}, '/webhooks/acme?respond=410')).status).toBe(410);
    expect(inbox.list()[0]).toMatchObject({ responded: '410', path: '/webhooks/acme' });
    expect((await send({}, '/webhooks/acme')).status).toBe(200);
  });

  it('is listed for each tenant, and for one', async () => {
    expect(await (await fetch(`${url}/webhooks`)).json()).toEqual([
      { tenant: 'acme', url: `${url}/webhooks/acme`, respond: '200' },
      { tenant: 'globex', url: `${url}/webhooks/globex`, respond: '200' },
    ]);
    expect(await (await fetch(`${url}/webhooks/acme`)).json()).toMatchObject({ tenant: 'acme', respond: '200' });
  });

  it('is delayed if it is slow', async () => {
    const slow = await start(200);
    const started = performance.now();
    const response = await fetch(`${slow.url}/webhooks/acme?respond=slow`, { method: 'POST', body: '{}' });
    expect(response.status).toBe(200);
    expect(performance.now() - started).toBeGreaterThan(190);
    await close(slow.inbox.server);
  });

  it('does not delay the end of the inbox if it is slow', async () => {
    const slow = await start();
    const pending = fetch(`${slow.url}/webhooks/acme?respond=slow`, { method: 'POST', body: '{}' });
    const rejected = expect(pending).rejects.toThrow();
    await until(() => slow.inbox.list().length === 1);
    await close(slow.inbox.server);
    await rejected;
  });

  it.each([
    ['PUT', '/webhooks/acme', '{"respond":"404"}', 400, 'respond must be one of 200, 410, 500, slow.'],
    ['PUT', '/webhooks/acme', '{', 400, 'The body must be a JSON object such as {"respond":"410"}.'],
    ['POST', '/webhooks/a%20b', '{}', 400, 'The tenant must be 1 to 128 printable ASCII characters without spaces.'],
    ['POST', '/webhooks', '{}', 404, 'Not found. Send webhooks to /webhooks/<tenant>.'],
    ['PATCH', '/webhooks/acme', '{}', 405, 'A webhook address supports POST, and GET and PUT of its response.'],
  ])('rejects %s %s %s with %i and the reason', async (method, path, body, status, message) => {
    const response = await fetch(url + path, { method, body });
    expect([response.status, await response.json()]).toEqual([status, { message }]);
    expect(inbox.list()).toEqual([]);
  });
});

describe('the updates of the inbox', () => {
  /** Reads the stream until the text of these events has arrived. */
  const reader = async (query = '') => {
    const controller = new AbortController();
    const response = await fetch(`${url}/updates${query}`, { signal: controller.signal });
    let text = '';
    const reading = (async () => {
      for await (const chunk of response.body?.pipeThrough(new TextDecoderStream()) ?? []) text += chunk;
    })().catch(() => undefined);
    return {
      has: (part: string) => until(() => text.includes(part)),
      text: () => text,
      async stop() {
        controller.abort();
        await reading;
      },
    };
  };

  it('begin with the addresses and a snapshot, and continue with each change', async () => {
    inbox.add({ kind: 'sms', to: '+1', text: 'before', attributes: {} });
    const updates = await reader();
    await updates.has('event: snapshot\ndata: [{');
    expect(updates.text()).toContain('"title":"before"');
    expect(updates.text()).toContain('"base_url":"http://127.0.0.1:3000"');
    inbox.add({ kind: 'sms', to: '+1', text: 'after', attributes: {} });
    await updates.has('event: added\ndata: [{');
    expect(updates.text().split('"title":"before"')).toHaveLength(2);
    await select('acme', '{"respond":"500"}');
    await updates.has('"respond":"500"');
    await select('acme', '{"respond":"200"}');
    await fetch(url, { method: 'DELETE' });
    await updates.has('event: snapshot\ndata: []');
    await updates.stop();
  });

  it('end when the inbox closes', async () => {
    const other = await start();
    const response = await fetch(`${other.url}/updates`);
    const [connection] = await Promise.all([response.text().catch(() => 'ended'), close(other.inbox.server)]);
    expect(connection).toBe('ended');
  });
});
