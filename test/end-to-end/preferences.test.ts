import { describe, expect, it } from 'vitest';
import { useStarted } from '../support/use-started.ts';
import { call, newClient, webhook } from './support/api.ts';

const client = useStarted(() => newClient());
const send = (method: string, path: string, prefer: string, body?: unknown) =>
  call(method, path, { token: client.token, body, headers: { prefer } });
const applied = ({ headers }: { headers: Headers }) => headers.get('preference-applied');

it('a request with Prefer: handling=strict accepts what responses return', async () => {
  const id = await client.create(webhook);
  const record = (await client.get(`/notifications/${id}`)).body;
  const updated = await send('PUT', `/notifications/${id}?_who=a&_why=b`, 'handling=strict', record);
  expect([updated.status, applied(updated)]).toEqual([204, 'handling=strict']);
  const { metadata } = Object((await client.get('/notifications?limit=1')).body);
  const next = await send('GET', metadata.next_href, 'handling=strict');
  expect([next.status, applied(next)]).toEqual([200, 'handling=strict']);
});

it.each([
  ['/failures?marker=x', 'marker: must be the next_marker of a response'],
  ['/tokens?marker=tk1', 'marker: must be the next_marker of a response'],
  ['/audits?marker=2026', 'marker: must be the next_marker of a response'],
])('an extension returns 400 without a preference: GET %s', async (path, details) => {
  const response = await client.get(path);
  expect(response.body).toMatchObject({ type: 'badRequest', code: 400, details });
  expect(applied(response)).toBeNull();
});

describe('a change with Prefer: return=representation', () => {
  const webhook_request = { headers: { authorization: 'Bearer 1' }, body: { n: 0 } };
  const body = JSON.stringify({ ...webhook, metadata: { team: 'ops' }, webhook_request }).replace('"n":0', '"n":1.0');

  it('returns the notification as GET does, with 201 and 200', async () => {
    const created = await send('POST', '/notifications', 'return=representation, handling=strict', body);
    expect([created.status, applied(created)]).toEqual([201, 'return=representation, handling=strict']);
    const location = created.headers.get('location') ?? '';
    expect(created.text).toBe((await client.get(location)).text);
    expect(created.text).toContain('{"headers":{"authorization":"***"},"body":{"n":1.0}}');

    const updated = await send('PUT', location, 'return=representation', { label: 'Renamed' });
    expect([updated.status, applied(updated)]).toEqual([200, 'return=representation']);
    expect(updated.headers.get('location')).toBe(location);
    expect(updated.body).toMatchObject({ label: 'Renamed' });
    expect(updated.text).toBe((await client.get(location)).text);
  });

  it('returns the notification that a repeated request with an Idempotency-Key created, as it is now', async () => {
    const post = () =>
      call('POST', '/notifications', {
        token: client.token,
        body: webhook,
        headers: { 'Idempotency-Key': 'representation', prefer: 'return=representation' },
      });
    const location = (await post()).headers.get('location') ?? '';
    await client.put(location, { label: 'Renamed' });
    expect((await post()).body).toMatchObject({ label: 'Renamed' });
    await client.delete(location);
    const repeated = await post();
    expect([repeated.status, repeated.headers.get('location'), repeated.text]).toEqual([201, location, '']);
    expect(applied(repeated)).toBeNull();
  });

  it('has no body with return=minimal, and no error says that a preference was applied', async () => {
    const created = await send('POST', '/notifications', 'return=minimal', webhook);
    expect([created.status, created.text, applied(created)]).toEqual([201, '', 'return=minimal']);
    const updated = await send('PUT', created.headers.get('location') ?? '', 'return=minimal', { label: 'a' });
    expect([updated.status, updated.text, applied(updated)]).toEqual([204, '', 'return=minimal']);
    const invalid = await send('POST', '/notifications', 'return=representation', {});
    expect([invalid.status, applied(invalid)]).toEqual([400, null]);
  });
});
