import { afterEach, describe, expect, it, vi } from 'vitest';
import { createNotificationRepository } from '../../shared/adapters/notifications/notification-repository.ts';
import { createNotificationUpdate } from '../../shared/api/notification-change.ts';
import { parseChanges } from '../../shared/contracts/notification.ts';
import { urlRule } from '../../shared/domain/egress.ts';
import { newNotificationId } from '../../shared/domain/notification-id.ts';
import { audit } from '../support/audit.ts';
import { useDatabase } from '../support/dynamodb.ts';
import { validDetails, webhookNotification } from '../support/notifications.ts';

const { client } = useDatabase();
const notifications = createNotificationRepository(client, 'notifications', () => Date.now());
const isAllowedUrl = urlRule(['10.1.0.0/16']);
const update = createNotificationUpdate(notifications, isAllowedUrl);

afterEach(() => {
  vi.useRealTimers();
});

const create = async (changes = {}) => ({
  tenant: 'acme',
  id: await notifications.create({ tenant: 'acme', attributes: webhookNotification(changes), audit }),
});
const read = async (key: { tenant: string; id: string }) => (await notifications.get(key))?.record;
/** Updates a notification with the body of a request. */
const put = (key: { tenant: string; id: string }, body: unknown) => update(key, parseChanges(body).data ?? {}, audit);

describe('an update', () => {
  it('changes the given fields and keeps all others', async () => {
    const key = await create({ metadata: { team: 'a' } });
    await put(key, { label: 'Day shift' });
    expect(await read(key)).toEqual({
      id: key.id,
      ...webhookNotification({ label: 'Day shift', metadata: { team: 'a' } }),
    });
  });

  it('rejects a new type that does not match the old details', async () => {
    const key = await create();
    await expect(put(key, { type: 'email' })).rejects.toMatchObject({
      type: 'badRequest',
      details: 'details.address: is required',
    });
    expect(await read(key)).toEqual({ id: key.id, ...webhookNotification() });
  });

  it('can change only the type if the old details match', async () => {
    const key = await create();
    await put(key, { type: 'managed' });
    expect(await read(key)).toMatchObject({ type: 'managed', details: validDetails.webhook });
  });

  it('refuses a private IP address, unless it is permitted or stored', async () => {
    const key = await create({ details: { url: 'https://192.168.0.1/old' } });
    const refused = { details: 'details.url: must not have a private IP address' };
    await expect(put(key, { details: { url: 'https://192.168.0.2' } })).rejects.toMatchObject(refused);
    await put(key, { label: 'New', details: { url: 'https://192.168.0.1/old', own: 'https://192.168.0.2' } });
    await put(key, { details: { url: 'https://10.1.2.3' } });
    expect(await read(key)).toMatchObject({ label: 'New', details: { url: 'https://10.1.2.3' } });
  });

  it('reports all invalid fields', async () => {
    const change = put(await create(), { label: '', details: {}, metadata: { a: 1 } });
    await expect(change).rejects.toMatchObject({
      details: 'label: must be 1 to 255 characters long; details.url: is required; metadata.a: must be a string',
    });
  });

  it.each([{}, { label: null, type: null, details: null, metadata: null }, { unknown: 1 }])(
    'changes nothing without fields: %j',
    async (body) => {
      const key = await create({ metadata: { team: 'a' } });
      const before = await notifications.get(key);
      await put(key, body);
      expect(await notifications.get(key)).toEqual(before);
    },
  );

  it('fails with 404 for a notification that is unknown or of another tenant, with or without fields', async () => {
    const known = await create();
    for (const key of [
      { tenant: 'acme', id: newNotificationId() },
      { ...known, tenant: 'other' },
    ]) {
      for (const body of [{ label: 'x' }, {}])
        await expect(put(key, body)).rejects.toMatchObject({ type: 'notFoundError' });
    }
    expect(await read(known)).toEqual({ id: known.id, ...webhookNotification() });
  });

  it('fails with 403 for the default notification, with or without fields', async () => {
    const key = { tenant: 'acme', id: 'ntTechnicalContactsEmail' };
    for (const body of [{ label: 'x' }, {}]) {
      await expect(put(key, body)).rejects.toMatchObject({ type: 'forbiddenError' });
    }
  });
});

describe('an update of a notification with a request of its own', () => {
  const headers = { Authorization: 'Bearer 1', 'x-key': 'k' };
  const webhook_request = { headers, body: { text: '{{alert.title}}' } };
  const stored = async (key: { tenant: string; id: string }) =>
    (await notifications.get(key))?.unmasked.webhook_request;

  it.each([
    { label: 'Day shift' },
    { details: { ...validDetails.webhook, extra: 'x' } },
    { details: { url: `${validDetails.webhook.url}/other?path` } },
    { type: 'webhook', metadata: { a: 'b' } },
    { webhook_request: null },
  ])('keeps the request if it does not contain it: %j', async (body) => {
    const key = await create({ webhook_request });
    await put(key, body);
    expect(await stored(key)).toEqual(webhook_request);
  });

  it('changes nothing with what was read', async () => {
    const key = await create({ webhook_request, metadata: { a: 'b' } });
    const before = await notifications.get(key);
    expect(JSON.stringify(before?.record)).not.toContain('Bearer');
    await put(key, before?.record);
    expect(await notifications.get(key)).toEqual(before);
  });

  it('replaces the request as a whole, and keeps masked values', async () => {
    const key = await create({ webhook_request });
    await put(key, { webhook_request: { headers: { authorization: '***', 'x-new': 'n' } } });
    expect(await stored(key)).toEqual({ headers: { authorization: 'Bearer 1', 'x-new': 'n' } });
    await expect(put(key, { webhook_request: { headers: { 'x-key': '***' } } })).rejects.toMatchObject({
      type: 'badRequest',
      details: expect.stringMatching(/^webhook_request\.headers\.x-key: must be the value/),
    });
  });

  it.each([
    ['an empty request', { webhook_request: {} }],
    ['another type', { type: 'sms', details: validDetails.sms }],
    ['another type and an empty request', { type: 'sms', details: validDetails.sms, webhook_request: {} }],
  ])('removes the request with %s', async (_, body) => {
    const key = await create({ webhook_request });
    await put(key, body);
    expect(await stored(key)).toBeUndefined();
    await put(key, { type: 'webhook', details: validDetails.webhook });
    expect(await read(key)).not.toHaveProperty('webhook_request');
  });

  it.each([
    ['another host', 'https://hooks.example.org/alerts'],
    ['another port', 'https://hooks.example.com:8443/alerts'],
    ['another scheme', 'http://hooks.example.com/alerts'],
    ['the host as user', 'https://hooks.example.com@evil.example/alerts'],
  ])('that sends it to %s must contain the values again', async (_, url) => {
    const key = await create({ webhook_request });
    const refused = { type: 'badRequest', details: expect.stringMatching(/must be the value.*origin of details\.url/) };
    await expect(put(key, { details: { url } })).rejects.toMatchObject(refused);
    const masked = { headers: { authorization: '***' } };
    await expect(put(key, { details: { url }, webhook_request: masked })).rejects.toMatchObject(refused);
    expect(await stored(key)).toEqual(webhook_request);
    const sentAgain = { headers: { authorization: 'Bearer 1' } };
    await put(key, { details: { url }, webhook_request: sentAgain });
    expect(await stored(key)).toEqual(sentAgain);
  });

  it('that changes the origin keeps a body without headers', async () => {
    const key = await create({ webhook_request: { body: '{{alert.text}}' } });
    await put(key, { details: { url: 'https://other.example' } });
    expect(await stored(key)).toEqual({ body: '{{alert.text}}' });
  });
});

describe('a mute', () => {
  const targetOf = (key: { tenant: string; id: string }) => notifications.targets([key]).find(key);

  it('lasts, with its start, until a request ends it or its time has passed', async () => {
    vi.useFakeTimers({ now: 10_000, toFake: ['Date'] });
    const key = await create({ muted_until: 20_000 });
    vi.setSystemTime(11_000);
    await put(key, { muted_until: 30_000 });
    await put(key, { label: 'Day shift' });
    expect(await read(key)).toMatchObject({ label: 'Day shift', muted_until: 30_000 });
    expect((await targetOf(key))?.mutes).toEqual([{ from_ms: 10_000, until_ms: 30_000 }]);
    vi.setSystemTime(12_000);
    await put(key, { muted_until: 0 });
    expect(await read(key)).not.toHaveProperty('muted_until');
    vi.setSystemTime(13_000);
    await put(key, { muted_until: 14_000 });
    vi.setSystemTime(14_000);
    expect(await read(key)).not.toHaveProperty('muted_until');
    await put(key, { label: 'Night shift' });
    // Events of both times may still be queued.
    expect((await targetOf(key))?.mutes).toEqual([
      { from_ms: 10_000, until_ms: 12_000 },
      { from_ms: 13_000, until_ms: 14_000 },
    ]);
  });

  it('keeps the last ten times', async () => {
    vi.useFakeTimers({ now: 10_000, toFake: ['Date'] });
    const key = await create();
    for (let minute = 1; minute < 15; minute++) {
      vi.setSystemTime(minute * 60_000);
      await put(key, { muted_until: minute * 60_000 + 1 });
    }
    expect((await targetOf(key))?.mutes?.map(({ until_ms }) => until_ms)).toEqual(
      Array.from({ length: 10 }, (_, index) => (index + 5) * 60_000 + 1),
    );
  });
});

describe('concurrent updates', () => {
  it('fail with 503 if every attempt conflicts', async () => {
    const losing = createNotificationUpdate({ get: notifications.get, replace: async () => false }, isAllowedUrl);
    await expect(losing(await create(), { label: 'x' }, audit)).rejects.toMatchObject({ type: 'serviceUnavailable' });
  });

  it('fail with 404 if the notification is deleted', async () => {
    const key = await create();
    const replace: typeof notifications.replace = async (replacement) => {
      await notifications.delete(replacement.key, audit);
      return notifications.replace(replacement);
    };
    const overtaken = createNotificationUpdate({ get: notifications.get, replace }, isAllowedUrl);
    await expect(overtaken(key, { label: 'x' }, audit)).rejects.toMatchObject({ type: 'notFoundError' });
  });
});
