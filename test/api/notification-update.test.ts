import { describe, expect, it } from 'vitest';
import { createNotificationRepository } from '../../shared/adapters/notifications/notification-repository.ts';
import { createNotificationUpdate } from '../../shared/api/notification-update.ts';
import { parseChanges } from '../../shared/contracts/notification.ts';
import { newNotificationId } from '../../shared/domain/notification-id.ts';
import { audit } from '../support/audit.ts';
import { useDatabase } from '../support/dynamodb.ts';
import { validDetails, webhookNotification } from '../support/notifications.ts';

const { client } = useDatabase();
const notifications = createNotificationRepository(client, 'notifications');
const update = createNotificationUpdate(notifications);

const create = async (changes = {}) => ({
  tenant: 'acme',
  id: await notifications.create('acme', webhookNotification(changes), audit),
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

  it('replaces details and metadata completely', async () => {
    const key = await create({ details: { ...validDetails.webhook, old: 'x' }, metadata: { old: 'x' } });
    await put(key, { details: { url: 'https://new.example' }, metadata: { fresh: 'y' } });
    expect(await read(key)).toMatchObject({ details: { url: 'https://new.example' }, metadata: { fresh: 'y' } });
    expect(JSON.stringify(await read(key))).not.toContain('old');
  });

  it('can change the type together with its details', async () => {
    const key = await create();
    await put(key, { type: 'sms', details: validDetails.sms });
    expect(await read(key)).toMatchObject({ type: 'sms', details: validDetails.sms });
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

  it('fails with 404 for an unknown notification, with or without fields', async () => {
    const key = { tenant: 'acme', id: newNotificationId() };
    for (const body of [{ label: 'x' }, {}]) {
      await expect(put(key, body)).rejects.toMatchObject({ type: 'notFoundError' });
    }
  });

  it('fails with 404 for a notification of another tenant', async () => {
    const key = await create();
    await expect(put({ ...key, tenant: 'other' }, { label: 'x' })).rejects.toMatchObject({ type: 'notFoundError' });
    expect(await read(key)).toEqual({ id: key.id, ...webhookNotification() });
  });

  it('fails with 403 for the default notification, with or without fields', async () => {
    const key = { tenant: 'acme', id: 'ntTechnicalContactsEmail' };
    for (const body of [{ label: 'x' }, {}]) {
      await expect(put(key, body)).rejects.toMatchObject({ type: 'forbiddenError' });
    }
  });
});

describe('concurrent updates', () => {
  it('are all applied if they change different fields', async () => {
    const key = await create();
    const changes = [{ label: 'New' }, { details: { url: 'https://new.example' } }, { metadata: { team: 'b' } }];
    await Promise.all(changes.map((change) => put(key, change)));
    expect(await read(key)).toEqual({
      id: key.id,
      label: 'New',
      type: 'webhook',
      details: { url: 'https://new.example' },
      metadata: { team: 'b' },
    });
  });

  it('do not mix their types and details', async () => {
    const key = await create();
    const changes = [
      { type: 'sms', details: validDetails.sms },
      { type: 'email', details: validDetails.email },
      { type: 'atomfeed', details: validDetails.atomfeed },
    ];
    await Promise.all(changes.map((change) => put(key, change)));
    const found = await read(key);
    expect(changes).toContainEqual({ type: found?.type, details: found?.details });
  });

  it('fail with 503 if every attempt conflicts', async () => {
    const losing = createNotificationUpdate({ get: notifications.get, replace: async () => false });
    await expect(losing(await create(), { label: 'x' }, audit)).rejects.toMatchObject({ type: 'serviceUnavailable' });
  });

  it('fail with 404 if the notification is deleted', async () => {
    const key = await create();
    const overtaken = createNotificationUpdate({
      get: notifications.get,
      replace: async (target, version, attributes) => {
        await notifications.delete(target, audit);
        return notifications.replace(target, version, attributes, audit);
      },
    });
    await expect(overtaken(key, { label: 'x' }, audit)).rejects.toMatchObject({ type: 'notFoundError' });
  });
});
