import { GetCommand } from '@aws-sdk/lib-dynamodb';
import { afterAll, afterEach, describe, expect, it, vi } from 'vitest';
import { logger } from '../../../shared/adapters/logger.ts';
import { createNotificationRepository } from '../../../shared/adapters/notifications/notification-repository.ts';
import { newNotificationId } from '../../../shared/domain/notification-id.ts';
import { startDatabase } from '../../support/dynamodb.ts';
import { countRequests, withLostResponse, withThrottling } from '../../support/dynamodb-faults.ts';
import { validDetails, webhookNotification } from '../../support/notifications.ts';
import { recordMetrics } from '../../support/printed-metrics.ts';

const { client, connect, stop } = await startDatabase();
afterAll(stop);
afterEach(() => {
  vi.restoreAllMocks();
});
const notifications = createNotificationRepository(client, 'notifications');

const byDefault = {
  id: 'ntTechnicalContactsEmail',
  label: 'Email All Technical Contacts',
  type: 'technicalContactsEmail',
  details: {},
};

const noVersion = { version: '', chunks: 0 };

const list = async (tenant: string) => Array.fromAsync(notifications.list(tenant, null, 10));
const changed = webhookNotification({ label: 'Day shift', type: 'sms', details: validDetails.sms });

describe('a notification that was created', () => {
  it('is read back as it was given, with an id and nothing else', async () => {
    const attributes = webhookNotification({ metadata: { team: 'storage' } });
    const id = await notifications.create('acme', attributes);
    expect(id).toMatch(/^nt[0-9A-HJKMNP-TV-Z]{26}$/);
    expect((await notifications.get({ tenant: 'acme', id }))?.record).toEqual({ id, ...attributes });
  });

  it('has no metadata where none was given, and empty metadata where that was given', async () => {
    const without = await notifications.create('acme', webhookNotification());
    const empty = await notifications.create('acme', webhookNotification({ metadata: {} }));
    expect(Object.keys((await notifications.get({ tenant: 'acme', id: without }))?.record ?? {})).not.toContain(
      'metadata',
    );
    expect((await notifications.get({ tenant: 'acme', id: empty }))?.record).toMatchObject({ metadata: {} });
  });

  it('keeps keys that are names in JavaScript, and signs of all planes, in their order', async () => {
    const text = '{"url":"https://a.example","z":"😀","__proto__":"p","constructor":"\\u0001","toString":"t","a":"ä"}';
    const id = await notifications.create('acme', webhookNotification({ details: JSON.parse(text) }));
    const found = await notifications.get({ tenant: 'acme', id });
    expect(JSON.stringify(found?.record.details)).toBe(JSON.stringify(JSON.parse(text)));
  });

  it('comes after those that were created before', async () => {
    const ids = [];
    for (let count = 0; count < 20; count++) ids.push(await notifications.create('acme', webhookNotification()));
    expect(ids.toSorted()).toEqual(ids);
  });

  it('is reported as created where it cannot be recorded that its put was repeated, which is logged and counted', async () => {
    const warn = vi.spyOn(logger, 'warn').mockImplementation(() => undefined);
    const metrics = recordMetrics();
    const repeating = withThrottling(withLostResponse(connect(), 'PutItemCommand'), 'UpdateItemCommand');
    const id = await createNotificationRepository(repeating, 'notifications').create('acme', webhookNotification());
    expect((await notifications.get({ tenant: 'acme', id }))?.record).toEqual({ id, ...webhookNotification() });
    expect(warn).toHaveBeenCalledWith(
      'repeated create not recorded',
      expect.objectContaining({ tenant_id: 'acme', notification_id: id }),
    );
    expect(metrics()).toEqual([expect.objectContaining({ unrecorded_repeated_creates: 1 })]);
  });
});

describe('a notification that is replaced', () => {
  it('is the new one at once, under a new version', async () => {
    const id = await notifications.create('acme', webhookNotification());
    const key = { tenant: 'acme', id };
    const { stored = noVersion } = (await notifications.get(key)) ?? {};
    expect(await notifications.replace(key, stored, changed)).toBe(true);
    const found = await notifications.get(key);
    expect(found?.record).toEqual({ id, ...changed });
    expect(found?.stored.version).not.toBe(stored.version);
  });

  it('stays as it was where another one was faster', async () => {
    const id = await notifications.create('acme', webhookNotification());
    const key = { tenant: 'acme', id };
    const { stored = noVersion } = (await notifications.get(key)) ?? {};
    await notifications.replace(key, stored, changed);
    expect(await notifications.replace(key, stored, webhookNotification())).toBe(false);
    expect((await notifications.get(key))?.record).toEqual({ id, ...changed });
  });

  it('does not come back to life where it was deleted meanwhile', async () => {
    const key = { tenant: 'acme', id: await notifications.create('acme', webhookNotification()) };
    const { stored = noVersion } = (await notifications.get(key)) ?? {};
    await notifications.delete(key);
    expect(await notifications.replace(key, stored, changed)).toBe(false);
    expect(await notifications.get(key)).toBeUndefined();
  });
});

describe('a notification that is deleted', () => {
  it('is gone, and was there only once', async () => {
    const key = { tenant: 'acme', id: await notifications.create('acme', webhookNotification()) };
    expect(await notifications.delete(key)).toBe(true);
    expect(await notifications.get(key)).toBeUndefined();
    expect(await notifications.delete(key)).toBe(false);
  });
});

describe('the default notification', () => {
  it('is every tenant’s without having been made', async () => {
    expect((await notifications.get({ tenant: 'nobody', id: byDefault.id }))?.record).toEqual(byDefault);
    expect(await list('nobody')).toEqual([byDefault]);
  });

  it('is stored nowhere', async () => {
    const Key = { pk: 'notification#nobody', sk: byDefault.id };
    expect((await client.send(new GetCommand({ TableName: 'notifications', Key }))).Item).toBeUndefined();
    expect(await notifications.delete({ tenant: 'nobody', id: byDefault.id })).toBe(false);
  });
});

describe('an id that no stored notification can have', () => {
  it.each([
    '',
    'nt',
    '__proto__',
    'x'.repeat(5_000),
    newNotificationId().toLowerCase(),
    `${newNotificationId()}#1`,
    '\0',
  ])('finds and deletes nothing, and costs no read: "%.30s"', async (id) => {
    const database = connect();
    const counts = countRequests(database);
    const repository = createNotificationRepository(database, 'notifications');
    expect(await repository.get({ tenant: 'acme', id })).toBeUndefined();
    expect(await repository.delete({ tenant: 'acme', id })).toBe(false);
    expect(counts).toEqual({});
  });
});

describe('two tenants', () => {
  it.each([
    ['acme2', 'other2'],
    ['a', 'a#ntX'],
    ['b#', 'b'],
    ['c', 'notification#c'],
    ['chunk#d', 'd'],
    ['e|f', 'e'],
    ['T', 't'],
  ])('never see each other: %s and %s', async (one, other) => {
    const id = await notifications.create(one, webhookNotification());
    const key = { tenant: other, id };
    const { stored = noVersion } = (await notifications.get({ tenant: one, id })) ?? {};
    expect(await notifications.get(key)).toBeUndefined();
    expect(await list(other)).toEqual([byDefault]);
    expect(await Array.fromAsync(notifications.listByIds(other, [id], null))).toEqual([]);
    expect(await notifications.targets([key]).find(key)).toBeUndefined();
    expect(await notifications.replace(key, stored, changed)).toBe(false);
    expect(await notifications.delete(key)).toBe(false);
    expect((await notifications.get({ tenant: one, id }))?.record).toEqual({ id, ...webhookNotification() });
  });

  it('never see each other where the name of one holds the id of the other’s notification', async () => {
    const id = await notifications.create('g', webhookNotification());
    expect(await list(`g#${id}`)).toEqual([byDefault]);
  });
});

describe('a table that throttles', () => {
  it.each([
    ['reading', 'GetItemCommand'],
    ['deleting', 'GetItemCommand'],
    ['deleting', 'DeleteItemCommand'],
  ])('makes %s fail (%s), and is never taken for "not there"', async (what, command) => {
    const key = { tenant: 'acme', id: await notifications.create('acme', webhookNotification()) };
    const repository = createNotificationRepository(
      withThrottling(connect({ maxAttempts: 1 }), command),
      'notifications',
    );
    const attempt = what === 'reading' ? repository.get(key) : repository.delete(key);
    await expect(attempt).rejects.toMatchObject({ name: 'ProvisionedThroughputExceededException' });
  });

  it('is asked again before it makes anything fail', async () => {
    const repository = createNotificationRepository(withThrottling(connect(), 'PutItemCommand', 1), 'notifications');
    const id = await repository.create('acme', webhookNotification());
    expect(await notifications.get({ tenant: 'acme', id })).toBeDefined();
  });
});
