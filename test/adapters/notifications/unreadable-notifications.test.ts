import { deflateRawSync } from 'node:zlib';
import { DeleteCommand, UpdateCommand } from '@aws-sdk/lib-dynamodb';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { logger } from '../../../shared/adapters/logger.ts';
import {
  createNotificationRepository,
  type NotificationKey,
} from '../../../shared/adapters/notifications/notification-repository.ts';
import { audit } from '../../support/audit.ts';
import { itemsOf, useDatabase } from '../../support/dynamodb.ts';
import { incompressibleEntries, validDetails, webhookNotification } from '../../support/notifications.ts';
import { recordMetrics } from '../../support/printed-metrics.ts';

const { client, newTenant } = useDatabase();
const notifications = createNotificationRepository(client, 'notifications');

let metrics: ReturnType<typeof recordMetrics>;
beforeEach(() => {
  metrics = recordMetrics();
});
afterEach(() => {
  vi.restoreAllMocks();
});

const DEFAULT = 'ntTechnicalContactsEmail';

const large = webhookNotification({ details: { ...validDetails.webhook, ...incompressibleEntries(105, 'x') } });

const chunksOf = (tenant: string) => itemsOf(client, 'notifications', `chunk#${tenant}`);

const setAttribute = (key: { pk: unknown; sk: unknown }, name: string, value: unknown) =>
  client.send(
    new UpdateCommand({
      TableName: 'notifications',
      Key: key,
      UpdateExpression: value === undefined ? 'REMOVE #name' : 'SET #name = :value',
      ExpressionAttributeNames: { '#name': name },
      ...(value !== undefined && { ExpressionAttributeValues: { ':value': value } }),
    }),
  );

const change = ({ tenant, id }: NotificationKey, name: string, value?: unknown) =>
  setAttribute({ pk: `notification#${tenant}`, sk: id }, name, value);

const changeChunks = async ({ tenant }: NotificationKey, value: unknown) => {
  for (const { pk, sk } of await chunksOf(tenant)) await setAttribute({ pk, sk }, 'content', value);
};

const faults: [string, (key: NotificationKey) => Promise<unknown>][] = [
  ['an unknown type', (key) => change(key, 'type', 'carrierpigeon')],
  ['no fields', (key) => change(key, 'fields')],
  ['no version', (key) => change(key, 'version')],
  ['a version that is not a string', (key) => change(key, 'version', 7)],
  ['missing own fields', (key) => change(key, 'fields', {})],
  [
    'a missing chunk',
    async ({ tenant }) => {
      for (const { pk, sk } of await chunksOf(tenant)) {
        await client.send(new DeleteCommand({ TableName: 'notifications', Key: { pk, sk } }));
      }
    },
  ],
  ['a chunk that is not JSON', (key) => changeChunks(key, deflateRawSync('{"label'))],
  ['a chunk of another shape', (key) => changeChunks(key, deflateRawSync('{"text":"a"}'))],
  ['a chunk that is not compressed', (key) => changeChunks(key, Buffer.from('{}'))],
  ['more content than it states', (key) => change(key, 'content_bytes', 1)],
  ['an unknown compression', (key) => change(key, 'compression', 'zstd')],
  ['a chunk without content', (key) => changeChunks(key, undefined)],
];

describe.each(faults)('an unreadable notification: %s', (_, makeUnreadable) => {
  const prepared = async () => {
    const tenant = newTenant();
    const first = await notifications.create({ tenant, attributes: webhookNotification(), audit });
    const id = await notifications.create({ tenant, attributes: large, audit });
    await makeUnreadable({ tenant, id });
    const last = await notifications.create({ tenant, attributes: webhookNotification(), audit });
    return { tenant, key: { tenant, id }, others: [first, last] };
  };

  it('is omitted from lists, counted, and logged with its ID', async () => {
    const { tenant, key, others } = await prepared();
    const logError = vi.spyOn(logger, 'error').mockImplementation(() => undefined);
    const listed = await Array.fromAsync(notifications.list(tenant, null, 2));
    expect(listed.map(({ id }) => id)).toEqual([...others, DEFAULT]);
    const byIds = await Array.fromAsync(notifications.listByIds(tenant, [...others, key.id], null));
    expect(byIds.map(({ id }) => id)).toEqual(others);
    expect(logError.mock.calls.map(([, fields]) => fields)).toEqual(
      Array.from({ length: 2 }, () => expect.objectContaining({ tenant_id: tenant, notification_id: key.id })),
    );
    expect(metrics()).toEqual(
      Array.from({ length: 2 }, () => expect.objectContaining({ unreadable_notifications: 1 })),
    );
  });

  it('fails reads, and can be deleted', async () => {
    const { tenant, key, others } = await prepared();
    vi.spyOn(logger, 'error').mockImplementation(() => undefined);
    await expect(notifications.get(key)).rejects.toMatchObject({ name: 'UnreadableNotificationError' });
    expect(metrics()).toEqual([expect.objectContaining({ unreadable_notifications: 1 })]);
    expect(await notifications.delete(key, audit)).toBe(true);
    expect(await notifications.get(key)).toBeUndefined();
    expect(await notifications.delete(key, audit)).toBe(false);
    const listed = await Array.fromAsync(notifications.list(tenant, null, 10));
    expect(listed.map(({ id }) => id)).toEqual([...others, DEFAULT]);
  });
});
