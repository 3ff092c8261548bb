import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { createFailureWriter } from '../../shared/adapters/deliveries/notification-failures.ts';
import { DEFAULT_NOTIFICATION_ID, newNotificationId } from '../../shared/domain/notification-id.ts';
import { newAlarmEvent } from '../support/events.ts';
import { openSink } from '../support/test-sink.ts';
import { until } from '../support/until.ts';
import { type Client, documents, isLocal, newClient, table, webhook } from './support/api.ts';
import { collectionsOf } from './support/collections.ts';
import { sendEvents } from './support/pipeline.ts';

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
    { tenant, notificationId },
    {
      failedIds: [randomUUID()],
      firstFailedAtMs: Date.now(),
      lastFailedAtMs: Date.now(),
      lastReason: 'timeout',
    },
  );

describe.runIf(isLocal)('a notification that fails', () => {
  it('is listed with what failed, and with the next success', async () => {
    const client = await newClient();
    let status = 410;
    const sink = await openSink((response) => response.writeHead(status).end());
    const id = await client.create({ ...webhook, details: { url: sink.url } });
    await client.create(webhook);
    const send = () => sendEvents([newAlarmEvent(client.tenant, [id])]);
    const failures = async () => (await list(client, '/failures')).values;

    await send();
    await send();
    const [failing] = await until(async () => {
      const values = await failures();
      return values[0]?.failed === 2 && values;
    });
    expect(failing).toEqual({
      notification_id: id,
      notification_label: webhook.label,
      type: 'webhook',
      failed: 2,
      first_failed_at: expect.any(Number),
      last_failed_at: expect.any(Number),
      last_reason: 'http_status',
    });
    expect(failing?.last_failed_at).toBeGreaterThanOrEqual(failing?.first_failed_at ?? Infinity);

    status = 204;
    await send();
    const [recovered] = await until(async () => {
      const values = await failures();
      return values.some(({ last_delivered_at }) => last_delivered_at !== undefined) && values;
    });
    expect(recovered).toEqual({ ...failing, last_delivered_at: recovered?.last_delivered_at });
    expect(recovered?.last_delivered_at).toBeGreaterThan(failing?.last_failed_at ?? Infinity);
  });
});

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
    const values = await follow(observer, `/failures?limit=${limit}`);
    expect(values.map(({ notification_id }) => notification_id)).toEqual(expected);
  }
  expect((await list(observer, '/failures?limit=2')).metadata).toMatchObject({ count: 2, next_marker: ids[2] });
  expect(await follow(await newClient(), '/failures')).toEqual([]);
});
