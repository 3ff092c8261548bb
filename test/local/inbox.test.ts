import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { close, listen, origin } from '../../bin/local/aws/http.ts';
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

describe('the inbox', () => {
  it('lists messages, newest first', async () => {
    expect(await list()).toEqual([
      {
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

  it('simulates the pager and stores the events that it receives', async () => {
    const response = await post('/pager', '{"incident_key":"key 1"}');
    expect([response.status, await response.json()]).toEqual([
      200,
      { status: 'success', message: 'Event processed', incident_key: 'key 1' },
    ]);
    expect(await list('?kind=incidentpager')).toMatchObject([
      { path: '/pager', content_type: 'application/json', body: '{"incident_key":"key 1"}' },
    ]);
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

  it('returns a page with escaped messages to browsers', async () => {
    inbox.add({
      kind: 'managed',
      topic: 'arn:aws:sns:x',
      subject: '<b>&',
      text: `<script>alert("1")</script>${'x'.repeat(70_000)}`,
    });
    const response = await fetch(url, { headers: { accept: 'text/html,*/*' } });
    const page = await response.text();
    expect(response.headers.get('content-type')).toBe('text/html; charset=utf-8');
    expect(page).toContain('&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt;');
    expect(page).toContain('&lt;b&gt;&amp;');
    expect(page).not.toContain('<script');
    expect(page).not.toContain('x'.repeat(65_537));
  });

  it('keeps the newest 10,000 messages', () => {
    for (let n = 0; n < 25_000; n += 1) inbox.add({ kind: 'sms', to: '+1', text: String(n), attributes: {} });
    const messages = inbox.list();
    expect(messages).toHaveLength(10_000);
    expect(messages[0]).toMatchObject({ text: '24999' });
    expect(messages.at(-1)).toMatchObject({ text: '15000' });
  });
});
