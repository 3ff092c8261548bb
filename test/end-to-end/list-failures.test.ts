import { randomUUID } from 'node:crypto';
import { expect, it } from 'vitest';
import * as z from 'zod';
import { createFailureWriter } from '../../shared/adapters/deliveries/notification-failures.ts';
import { DEFAULT_NOTIFICATION_ID, newNotificationId } from '../../shared/domain/notification-id.ts';
import { type Client, documents, newClient, table, webhook } from './support/api.ts';
import { collectionsOf } from './support/collections.ts';

const { list, follow } = collectionsOf(
  z.looseObject({
    notification_id: z.string(),
    failed: z.number(),
    first_failed_at: z.number(),
    last_failed_at: z.number(),
    last_delivered_at: z.number().optional(),
  }),
);

const writeFailures = createFailureWriter(documents, table('Deliveries'));
const fail = ({ tenant }: Client, notificationId: string) =>
  writeFailures(
    { tenant, id: notificationId },
    {
      failedIds: [randomUUID()],
      firstFailedAtMs: Date.now(),
      lastFailedAtMs: Date.now(),
      lastReason: 'timeout',
    },
  );

it('the list of failing notifications has those that exist, for every role of the tenant, page by page', async () => {
  const client = await newClient();
  const observer = await newClient('observer', client.tenant);
  const ids: string[] = [];
  for (let count = 0; count < 3; count++) ids.push(await client.create(webhook));
  const deleted = await client.create(webhook);
  const foreign = await (await newClient()).create(webhook);
  const expected = [...ids, DEFAULT_NOTIFICATION_ID];
  for (const id of [...expected, deleted, foreign, newNotificationId(), 'ntOperators']) await fail(client, id);
  await client.delete(`/notifications/${deleted}`);
  for (const limit of [1, 3, 4, 1_000]) {
    const found = await follow(observer, `/failures?limit=${limit}`);
    expect(found.map(({ notification_id }) => notification_id)).toEqual(expected);
  }
  const { values, metadata } = await list(observer, '/failures?limit=2');
  expect(metadata).toMatchObject({ count: 2, next_marker: ids[2] });
  expect(values[0]).toEqual({
    notification_id: ids[0],
    notification_label: webhook.label,
    type: 'webhook',
    failed: 1,
    first_failed_at: expect.any(Number),
    last_failed_at: expect.any(Number),
    last_reason: 'timeout',
  });
  expect(await follow(await newClient(), '/failures')).toEqual([]);
});
