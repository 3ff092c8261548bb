import { close, listen, origin } from 'local-aws/http.ts';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import * as z from 'zod';
import { createInbox } from '../../bin/local/inbox/inbox.ts';

const inbox = createInbox();
let url: string;

beforeAll(async () => {
  url = origin(await listen(inbox.server));
  inbox.add({ kind: 'email', from: 'us@example.com', to: ['a@example.org'], subject: 'One', text: 'first', html: '' });
  inbox.add({ kind: 'sms', to: '+14155550100', text: 'second', attributes: {} });
});
afterAll(() => close(inbox.server));

const list = async (query = ''): Promise<unknown> => (await fetch(`${url}/${query}`)).json();
const post = (path: string, body: string, type = 'application/json') =>
  fetch(url + path, { method: 'POST', headers: { 'content-type': type }, body });

/** As long as the keys of PagerDuty. */
const PAGER_KEY = '0b1c2d3e4f5a6b7c8d9e0f1a2b3c4d5e';

describe('the inbox', () => {
  it('lists messages, newest first', async () => {
    expect(await list()).toEqual([
      {
        id: 2,
        kind: 'sms',
        to: '+14155550100',
        text: 'second',
        attributes: {},
        sent_at: expect.stringMatching(/^\d{4}-.*Z$/),
      },
      expect.objectContaining({ kind: 'email', subject: 'One' }),
    ]);
  });

  it('filters by kind and by recipient', async () => {
    expect(await list('?kind=email')).toMatchObject([{ kind: 'email' }]);
    expect(await list('?to=%2B14155550100')).toMatchObject([{ kind: 'sms' }]);
    expect(await list('?to=unknown')).toEqual([]);
  });

  it.each(['GET', 'DELETE'])('rejects a %s request for a kind that does not exist', async (method) => {
    const response = await fetch(`${url}/?kind=mail`, { method });
    expect([response.status, await response.json()]).toEqual([
      400,
      { message: expect.stringMatching(/^kind must be one of email, sms, webhook, .*managed\.$/) },
    ]);
  });

  it('simulates the pager and stores the events that it receives', async () => {
    const body = `{"service_key":"${PAGER_KEY}","incident_key":"key 1"}`;
    const response = await post('/pager', body);
    expect([response.status, await response.json()]).toEqual([
      200,
      { status: 'success', message: 'Event processed', incident_key: 'key 1' },
    ]);
    expect(await list('?kind=incidentpager')).toMatchObject([
      { path: '/pager', content_type: 'application/json', body },
    ]);
  });

  it.each([
    ['', "Service key can't be blank"],
    ['k', 'Service key is the wrong length (should be 32 characters)'],
  ])('refuses the service key "%s" like PagerDuty Events API v1', async (key, reason) => {
    const response = await post('/pager', JSON.stringify({ service_key: key, incident_key: 'key 1' }));
    expect([response.status, await response.json()]).toEqual([
      400,
      { status: 'invalid event', message: 'Event object is invalid', errors: [reason] },
    ]);
  });

  it.each([
    [
      `{"routing_key":"${PAGER_KEY}","event_action":"resolve","dedup_key":"key 1"}`,
      202,
      { status: 'success', dedup_key: 'key 1' },
    ],
    [
      `{"routing_key":"${PAGER_KEY}","event_action":"trigger","dedup_key":"key 1"}`,
      400,
      { status: 'invalid event', errors: [expect.stringContaining("'payload'")] },
    ],
    [
      '{"routing_key":"e+23","event_action":"resolve","dedup_key":"key 1"}',
      400,
      {
        errors: [
          "Length of 'routing_key' is incorrect (should be 32 characters)",
          "'routing_key' cannot contain non-alphanumeric characters.",
        ],
      },
    ],
    ['not JSON', 400, { status: 'invalid event' }],
  ])('answers %s like PagerDuty Events API v2: %i', async (body, status, answer) => {
    const response = await post('/v2/enqueue', body);
    expect([response.status, await response.json()]).toEqual([status, expect.objectContaining(answer)]);
    expect(await list('?kind=incidentpager')).toContainEqual(expect.objectContaining({ path: '/v2/enqueue', body }));
  });

  it('simulates the router and the feed', async () => {
    const routed = await post('/router/api-key/routing-key', '{"entity_id":"en"}');
    expect([routed.status, await routed.json()]).toEqual([200, { result: 'success', entity_id: 'en' }]);
    expect(await list('?kind=incidentrouter')).toMatchObject([{ path: '/router/api-key/routing-key' }]);
    const published = await post('/feed', '<entry/>', 'application/atom+xml;type=entry;charset=utf-8');
    expect([published.status, published.headers.get('location')]).toEqual([201, expect.stringContaining('/feed/')]);
    expect(await list('?kind=atomfeed')).toMatchObject([{ body: '<entry/>' }]);
  });

  it('returns 404 for other paths', async () => {
    expect((await post('/constructor', '{}')).status).toBe(404);
    expect((await fetch(`${url}/other`)).status).toBe(404);
  });

  it('finds messages that contain all words of a search, in any case', async () => {
    expect(await list('?q=FIRST+one')).toMatchObject([{ subject: 'One' }]);
    expect(await list('?q=first+two')).toEqual([]);
    expect(await list('?q=a%40example.org')).toMatchObject([{ subject: 'One' }]);
    expect(await list('?q=.*')).toEqual([]);
  });

  it('returns a page without any message to browsers, which permits only its own script', async () => {
    const response = await fetch(url, { headers: { accept: 'text/html,*/*' } });
    expect(response.headers.get('content-type')).toBe('text/html; charset=utf-8');
    expect(response.headers.get('content-security-policy')).toMatch(/^default-src 'none'; script-src 'self';/);
    expect(await response.text()).not.toContain('example.org');
    expect((await fetch(`${url}/script.js`)).headers.get('content-type')).toBe('text/javascript; charset=utf-8');
    expect((await fetch(`${url}/style.css`)).headers.get('content-type')).toBe('text/css; charset=utf-8');
  });

  it('returns the HTML of an email in a sandbox that can load nothing', async () => {
    inbox.add({ kind: 'email', from: 'f', to: ['t'], subject: 's', text: '', html: '<p>Hi</p>' });
    const [{ id }] = z.tuple([z.object({ id: z.number() })]).parse(await list('?to=t'));
    const response = await fetch(`${url}/messages/${id}/html`);
    expect(response.headers.get('content-security-policy')).toMatch(/^sandbox; default-src 'none';/);
    expect(await response.text()).toBe('<p>Hi</p>');
    expect(await (await fetch(`${url}/messages/${id}`)).json()).toMatchObject({ id, subject: 's' });
    expect((await fetch(`${url}/messages/2/html`)).status).toBe(404);
    expect((await fetch(`${url}/messages/999999`)).status).toBe(404);
  });

  it('deletes the messages that a filter selects, or all', async () => {
    const remove = async (query: string) => (await fetch(`${url}/${query}`, { method: 'DELETE' })).status;
    inbox.add({ kind: 'sms', to: '+1', text: 'delete me', attributes: {} });
    inbox.add({ kind: 'sms', to: '+1', text: 'keep me', attributes: {} });
    expect(await remove('?to=%2B1&q=delete')).toBe(204);
    expect(await list('?to=%2B1')).toMatchObject([{ text: 'keep me' }]);
    expect(await remove('')).toBe(204);
    expect(await list()).toEqual([]);
  });

  it('rejects a body over 6 MiB with 413', async () => {
    const response = await post('/pager', 'x'.repeat(6 * 1024 * 1024 + 1));
    expect([response.status, await response.json()]).toEqual([
      413,
      { message: 'The body is larger than 6291456 bytes.' },
    ]);
  });

  it('keeps the newest 10,000 messages', () => {
    for (let n = 0; n < 25_000; n += 1) inbox.add({ kind: 'sms', to: '+1', text: String(n), attributes: {} });
    const messages = inbox.list();
    expect(messages).toHaveLength(10_000);
    expect(messages[0]).toMatchObject({ text: '24999' });
    expect(messages.at(-1)).toMatchObject({ text: '15000' });
  });
});
