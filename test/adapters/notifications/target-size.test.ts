import { type AttributeValue, GetItemCommand } from '@aws-sdk/client-dynamodb';
import { marshall } from '@aws-sdk/util-dynamodb';
import { describe, expect, it } from 'vitest';
import { notificationItems } from '../../../shared/adapters/notifications/notification-items.ts';
import { createNotificationRepository } from '../../../shared/adapters/notifications/notification-repository.ts';
import type { NotificationAttributes } from '../../../shared/contracts/notification.ts';
import { newNotificationId } from '../../../shared/domain/notification-id.ts';
import { audit } from '../../support/audit.ts';
import { useDatabase } from '../../support/dynamodb.ts';
import { entries, incompressibleEntries, webhookNotification } from '../../support/notifications.ts';

const { client } = useDatabase();
const notifications = createNotificationRepository(client, 'notifications');

/** The longest tenant name. */
const tenant = 't'.repeat(128);

/** The size of an attribute in bytes (AWS documentation, "DynamoDB item sizes and formats"). */
const attributeBytes = ({ S, N, B, M }: AttributeValue): number => {
  if (S !== undefined) return Buffer.byteLength(S);
  if (N !== undefined) return Math.ceil(N.length / 2) + 1;
  if (B !== undefined) return B.byteLength;
  if (M !== undefined) return 3 + bytesOf(M) + Object.keys(M).length;
  throw new Error('Unexpected attribute type.');
};

const bytesOf = (item: Record<string, AttributeValue>): number =>
  Object.entries(item).reduce((sum, [name, value]) => sum + Buffer.byteLength(name) + attributeBytes(value), 0);

/** Returns the read units of a strongly consistent read of the target: DynamoDB charges for the whole item. */
const readUnits = async (attributes: NotificationAttributes): Promise<number> => {
  const id = await notifications.create({ tenant, attributes, audit });
  const { Item = {} } = await client.send(
    new GetItemCommand({
      TableName: 'notifications',
      Key: { pk: { S: `notification#${tenant}` }, sk: { S: id } },
      ConsistentRead: true,
    }),
  );
  expect((await notifications.get({ tenant, id }))?.record).toEqual({ id, ...attributes });
  return Math.ceil(bytesOf(Item) / 4_096);
};

/** Returns a notification whose own fields have a size of `bytes`. */
const withOwnFields = (bytes: number, others: Record<string, string> = {}, metadata = {}): NotificationAttributes => {
  const url = 'https://a.example/';
  // A field may have 4,096 characters, of up to four bytes each.
  const rest = bytes - url.length;
  const wide = Math.max(0, Math.ceil((rest - (4_096 - url.length)) / 3));
  const text = '😀'.repeat(wide) + 'x'.repeat(rest - 4 * wide);
  return webhookNotification({ details: { url: url + text, ...others }, metadata });
};

it.each([
  ['own fields of 1 KB', withOwnFields(1_024), 1],
  ['own fields of 1 KB, 340 KB that compress well in total', withOwnFields(1_024, entries(84, 'x'.repeat(4_096))), 1],
  ['own fields of 1 KB, 20 KB that compress badly in total', withOwnFields(1_024, incompressibleEntries(5, 'x')), 5],
  ['own fields of 1 KB, 480 KB that compress badly in total', withOwnFields(1_024, incompressibleEntries(120, 'x')), 1],
  ['own fields of 1 KB, 7 KB in total', withOwnFields(1_024, entries(3, 'x'.repeat(2_000))), 2],
  ['own fields of 7 KB, 340 KB in total', withOwnFields(7_167, entries(82, 'x'.repeat(4_096))), 3],
  ['own fields of 16 KB', withOwnFields(16_300), 5],
  [
    'own fields of 16 KB, 480 KB that compress badly in total',
    withOwnFields(16_300, incompressibleEntries(120, 'x')),
    5,
  ],
])(
  'reading a target costs read units for the fields of the type and for content that is in it: %s',
  async (_, attributes, units) => {
    expect(await readUnits(attributes)).toBe(units);
  },
);

describe('the content of a notification', () => {
  const key = { tenant: 'acme', id: newNotificationId() };
  const itemsOf = (attributes: NotificationAttributes) =>
    notificationItems(key, '01M7W36KGQDJ8S2D76FCWK3Z00', attributes);
  const sizeOf = (target: ReturnType<typeof itemsOf>['target']): number =>
    bytesOf(marshall(target, { removeUndefinedValues: true }));

  it('is not compressed while the item is smaller than 8 KB', () => {
    const targets = Array.from(
      { length: 400 },
      (_, extra) => itemsOf(withOwnFields(20, entries(2, 'x'.repeat(3_700 + extra)))).target,
    );
    const plain = targets.filter((target) => !('compression' in target)).map((target) => sizeOf(target));
    expect(plain.length).toBeGreaterThan(0);
    expect(plain.length).toBeLessThan(400);
    expect(Math.max(...plain)).toBeLessThan(8 * 1024);
    expect(Math.max(...plain)).toBeGreaterThan(8 * 1024 - 200);
  });

  it('is in the target while the item has at most 300 KB', () => {
    const bytes = Array.from({ length: 20 }, (_, index) =>
      itemsOf(withOwnFields(20, incompressibleEntries(90 + index, 'x'))),
    )
      .filter(({ chunks }) => chunks.length === 0)
      .map(({ target }) => sizeOf(target));
    expect(bytes.length).toBeLessThan(20);
    expect(Math.max(...bytes)).toBeLessThanOrEqual(300 * 1024);
    expect(Math.max(...bytes)).toBeGreaterThan(296 * 1024);
  });

  it('does not repeat the fields that are in the target', () => {
    const { target } = itemsOf(withOwnFields(5_000, { own: 'x'.repeat(1_000) }));
    const content = 'content' in target ? target.content.toString() : '';
    expect(content).toContain('xxx');
    expect(content).not.toContain('a.example');
  });

  it.each([
    '{"url":"https://a.example","z":"1","__proto__":"2","0":"3","a":"4"}',
    '{"z":"1","url":"https://a.example","service_key":"5"}',
  ])('keeps the order of all keys, compressed or not, in the target or in chunks: %s', async (text) => {
    for (const rest of [{}, entries(3, 'x'.repeat(4_000)), incompressibleEntries(101, 'x')]) {
      const details: Record<string, string> = JSON.parse(
        JSON.stringify(rest).slice(0, -1) + (Object.keys(rest).length > 0 ? ',' : '') + text.slice(1),
      );
      const id = await notifications.create({ tenant: 'acme', attributes: webhookNotification({ details }), audit });
      const found = await notifications.get({ tenant: 'acme', id });
      const [listed] = await Array.fromAsync(notifications.listByIds('acme', [id], null));
      expect(JSON.stringify(found?.record.details)).toBe(JSON.stringify(details));
      expect(JSON.stringify(listed)).toBe(JSON.stringify({ id, ...webhookNotification({ details }) }));
    }
  });
});
