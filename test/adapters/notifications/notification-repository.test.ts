import { GetCommand } from '@aws-sdk/lib-dynamodb';
import { describe, expect, it } from 'vitest';
import { createNotificationRepository } from '../../../shared/adapters/notifications/notification-repository.ts';
import type { NotificationAttributes } from '../../../shared/contracts/notification.ts';
import { newNotificationId } from '../../../shared/domain/notification-id.ts';
import { audit } from '../../support/audit.ts';
import { useDatabase } from '../../support/dynamodb.ts';
import { countRequests } from '../../support/dynamodb-faults.ts';
import { validDetails, webhookNotification } from '../../support/notifications.ts';

const { client, connect } = useDatabase();
const notifications = createNotificationRepository(client, 'notifications');

const defaultNotification = {
  id: 'ntTechnicalContactsEmail',
  label: 'Email All Technical Contacts',
  type: 'technicalContactsEmail',
  details: {},
};

const noVersion = { version: '', chunks: 0 };

const list = async (tenant: string) => Array.fromAsync(notifications.list(tenant, null, 10));
const changed = webhookNotification({ label: 'Day shift', type: 'sms', details: validDetails.sms });

/** Creates a notification of `acme`, with changes. @returns its key */
const created = async (changes: Partial<NotificationAttributes> = {}) => ({
  tenant: 'acme',
  id: await notifications.create({ tenant: 'acme', attributes: webhookNotification(changes), audit }),
});

describe('a created notification', () => {
  it('is returned unchanged, with an ID', async () => {
    const metadata = { team: 'storage' };
    const key = await created({ metadata });
    expect(key.id).toMatch(/^nt[0-9A-HJKMNP-TV-Z]{26}$/);
    expect((await notifications.get(key))?.record).toEqual({ id: key.id, ...webhookNotification({ metadata }) });
  });

  it('distinguishes missing metadata from empty metadata', async () => {
    expect((await notifications.get(await created()))?.record).not.toHaveProperty('metadata');
    expect((await notifications.get(await created({ metadata: {} })))?.record).toMatchObject({ metadata: {} });
  });

  it('keeps the order of keys, keys such as __proto__, and any character', async () => {
    const text = '{"url":"https://a.example","z":"😀","__proto__":"p","constructor":"\\u0001","toString":"t","a":"ä"}';
    const found = await notifications.get(await created({ details: JSON.parse(text) }));
    expect(JSON.stringify(found?.record.details)).toBe(JSON.stringify(JSON.parse(text)));
  });
});

it('a notification that is created with a given ID is created once, and never replaced', async () => {
  const key = { tenant: 'acme', id: newNotificationId() };
  const attempts = ['a', 'b', 'c'].map((label) =>
    notifications.createWithId({ key, attributes: webhookNotification({ label }), audit }),
  );
  expect((await Promise.all(attempts)).toSorted()).toEqual([false, false, true]);
  const first = await notifications.get(key);
  expect(await notifications.createWithId({ key, attributes: changed, audit })).toBe(false);
  expect(await notifications.get(key)).toEqual(first);
});

describe('a replaced notification', () => {
  it('is not changed if its version has changed', async () => {
    const key = await created();
    const { stored = noVersion } = (await notifications.get(key)) ?? {};
    expect(await notifications.replace({ key, old: stored, attributes: changed, entry: audit })).toBe(true);
    expect(await notifications.replace({ key, old: stored, attributes: webhookNotification(), entry: audit })).toBe(
      false,
    );
    expect((await notifications.get(key))?.record).toEqual({ id: key.id, ...changed });
  });

  it('is not restored if it has been deleted', async () => {
    const key = await created();
    const { stored = noVersion } = (await notifications.get(key)) ?? {};
    await notifications.delete(key, audit);
    expect(await notifications.replace({ key, old: stored, attributes: changed, entry: audit })).toBe(false);
    expect(await notifications.get(key)).toBeUndefined();
  });
});

describe('the default notification', () => {
  it('exists for every tenant', async () => {
    expect((await notifications.get({ tenant: 'unknown', id: defaultNotification.id }))?.record).toEqual(
      defaultNotification,
    );
    expect(await list('unknown')).toEqual([defaultNotification]);
  });

  it('is not stored', async () => {
    const Key = { pk: 'notification#unknown', sk: defaultNotification.id };
    expect((await client.send(new GetCommand({ TableName: 'notifications', Key }))).Item).toBeUndefined();
    expect(await notifications.delete({ tenant: 'unknown', id: defaultNotification.id }, audit)).toBe(false);
  });
});

it.each(['', 'x'.repeat(5_000), `${newNotificationId()}#1`])(
  'a malformed notification ID is not found, without a request: "%.30s"',
  async (id) => {
    const database = connect();
    const counts = countRequests(database);
    const repository = createNotificationRepository(database, 'notifications');
    expect(await repository.get({ tenant: 'acme', id })).toBeUndefined();
    expect(await repository.delete({ tenant: 'acme', id }, audit)).toBe(false);
    expect(counts).toEqual({});
  },
);

it.each([
  ['acme2', 'other2'],
  ['a', 'a#ntX'],
  ['b#', 'b'],
  ['c', 'notification#c'],
  ['chunk#d', 'd'],
  ['e|f', 'e'],
  ['T', 't'],
])('two tenants cannot access each other’s notifications: %s and %s', async (owner, other) => {
  const id = await notifications.create({ tenant: owner, attributes: webhookNotification(), audit });
  const key = { tenant: other, id };
  const { stored = noVersion } = (await notifications.get({ tenant: owner, id })) ?? {};
  expect(await notifications.get(key)).toBeUndefined();
  expect(await list(other)).toEqual([defaultNotification]);
  expect(await Array.fromAsync(notifications.listByIds(other, [id], null))).toEqual([]);
  expect(await notifications.targets([key]).find(key)).toBeUndefined();
  expect(await notifications.replace({ key, old: stored, attributes: changed, entry: audit })).toBe(false);
  expect(await notifications.delete(key, audit)).toBe(false);
  expect((await notifications.get({ tenant: owner, id }))?.record).toEqual({ id, ...webhookNotification() });
});
