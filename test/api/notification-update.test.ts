import { afterAll, describe, expect, it } from 'vitest';
import { createNotificationRepository } from '../../shared/adapters/notifications/notification-repository.ts';
import { createNotificationUpdate } from '../../shared/api/notification-update.ts';
import { parseChanges } from '../../shared/contracts/notification.ts';
import { newNotificationId } from '../../shared/domain/notification-id.ts';
import { startDatabase } from '../support/dynamodb.ts';
import { validDetails, webhookNotification } from '../support/notifications.ts';

const { client, stop } = await startDatabase();
afterAll(stop);
const notifications = createNotificationRepository(client, 'notifications');
const update = createNotificationUpdate(notifications);

const created = async (changes = {}) => ({
  tenant: 'acme',
  id: await notifications.create('acme', webhookNotification(changes)),
});
const read = async (key: { tenant: string; id: string }) => (await notifications.get(key))?.record;
/** An update as its handler makes it of the body of a request. */
const put = (key: { tenant: string; id: string }, body: unknown) => update(key, parseChanges(body).data ?? {});

describe('an update', () => {
  it('changes what it names and keeps all else', async () => {
    const key = await created({ metadata: { team: 'a' } });
    await put(key, { label: 'Day shift' });
    expect(await read(key)).toEqual({
      id: key.id,
      ...webhookNotification({ label: 'Day shift', metadata: { team: 'a' } }),
    });
  });

  it('replaces details and metadata whole', async () => {
    const key = await created({ details: { ...validDetails.webhook, old: 'x' }, metadata: { old: 'x' } });
    await put(key, { details: { url: 'https://new.example' }, metadata: { fresh: 'y' } });
    expect(await read(key)).toMatchObject({ details: { url: 'https://new.example' }, metadata: { fresh: 'y' } });
    expect(JSON.stringify(await read(key))).not.toContain('old');
  });

  it('can change the type together with its details', async () => {
    const key = await created();
    await put(key, { type: 'sms', details: validDetails.sms });
    expect(await read(key)).toMatchObject({ type: 'sms', details: validDetails.sms });
  });

  it('is refused where the type alone changes and the old details do not fit', async () => {
    const key = await created();
    await expect(put(key, { type: 'email' })).rejects.toMatchObject({
      type: 'badRequest',
      details: 'details.address: is required',
    });
    expect(await read(key)).toEqual({ id: key.id, ...webhookNotification() });
  });

  it('can change the type alone where the old details fit', async () => {
    const key = await created();
    await put(key, { type: 'managed' });
    expect(await read(key)).toMatchObject({ type: 'managed', details: validDetails.webhook });
  });

  it('is told every field that failed', async () => {
    const change = put(await created(), { label: '', details: {}, metadata: { a: 1 } });
    await expect(change).rejects.toMatchObject({
      details: 'label: must be 1 to 255 characters long; details.url: is required; metadata.a: must be a string',
    });
  });

  it.each([{}, { label: null, type: null, details: null, metadata: null }, { unknown: 1 }])(
    'that names nothing changes nothing: %j',
    async (body) => {
      const key = await created({ metadata: { team: 'a' } });
      const before = await notifications.get(key);
      await put(key, body);
      expect(await notifications.get(key)).toEqual(before);
    },
  );

  it('of what does not exist finds nothing, named or not', async () => {
    const key = { tenant: 'acme', id: newNotificationId() };
    for (const body of [{ label: 'x' }, {}]) {
      await expect(put(key, body)).rejects.toMatchObject({ type: 'notFoundError' });
    }
  });

  it('of another tenant’s notification finds nothing', async () => {
    const key = await created();
    await expect(put({ ...key, tenant: 'other' }, { label: 'x' })).rejects.toMatchObject({ type: 'notFoundError' });
    expect(await read(key)).toEqual({ id: key.id, ...webhookNotification() });
  });

  it('of the default notification is forbidden, even where it names nothing', async () => {
    const key = { tenant: 'acme', id: 'ntTechnicalContactsEmail' };
    for (const body of [{ label: 'x' }, {}]) {
      await expect(put(key, body)).rejects.toMatchObject({ type: 'forbiddenError' });
    }
  });
});

describe('updates at the same time', () => {
  it('all count: one of the label, one of the details, one of the metadata', async () => {
    const key = await created();
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

  it('of type and details never mix', async () => {
    const key = await created();
    const changes = [
      { type: 'sms', details: validDetails.sms },
      { type: 'email', details: validDetails.email },
      { type: 'atomfeed', details: validDetails.atomfeed },
    ];
    await Promise.all(changes.map((change) => put(key, change)));
    const found = await read(key);
    expect(changes).toContainEqual({ type: found?.type, details: found?.details });
  });

  it('are told to come again where others are always faster', async () => {
    const slow = createNotificationUpdate({ get: notifications.get, replace: async () => false });
    await expect(slow(await created(), { label: 'x' })).rejects.toMatchObject({ type: 'serviceUnavailable' });
  });

  it('find nothing where it is deleted meanwhile', async () => {
    const key = await created();
    const overtaken = createNotificationUpdate({
      get: notifications.get,
      replace: async (place, version, attributes) => {
        await notifications.delete(place);
        return notifications.replace(place, version, attributes);
      },
    });
    await expect(overtaken(key, { label: 'x' })).rejects.toMatchObject({ type: 'notFoundError' });
  });
});
