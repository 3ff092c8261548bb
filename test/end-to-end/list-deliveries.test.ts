import { DeleteCommand } from '@aws-sdk/lib-dynamodb';
import { beforeAll, describe, expect, it } from 'vitest';
import * as z from 'zod';
import type { DeliveryRecord } from '../../shared/domain/delivery-record.ts';
import { deliveryRecord, writeRecords } from '../support/delivery-records.ts';
import { newAlarmEvent } from '../support/events.ts';
import { openSink } from '../support/test-sink.ts';
import { type Client, documents, isLocal, newClient, table, webhook } from './support/api.ts';
import { collectionsOf } from './support/collections.ts';
import { delivery, sendEvents } from './support/pipeline.ts';

const listedDelivery = z.strictObject({
  event_id: z.string(),
  entity_id: z.string(),
  alarm_id: z.string(),
  state: z.string(),
  status: z.string(),
  reason: z.string().nullable(),
  attempts: z.array(
    z.strictObject({
      timestamp: z.number(),
      result: z.string(),
      status_code: z.number().nullable(),
      reason: z.string().nullable(),
      duration_ms: z.number(),
    }),
  ),
  next_attempt_at: z.number().nullable(),
  created_at: z.number(),
  updated_at: z.number(),
});
const { list, follow } = collectionsOf(listedDelivery);

/** Returns the IDs on all pages. */
const idsOf = async (...request: Parameters<typeof follow>): Promise<string[]> =>
  (await follow(...request)).map(({ event_id }) => event_id);

const START_MS = Date.now();
const TTL = Math.floor(START_MS / 1000) + 86_400;
const eventId = (time: number): string => `acme:en:al:ch:${START_MS + time}:CRITICAL`;

/** Creates a notification, and returns a function that writes the records of its deliveries, by event time. */
const newNotification = async (client: Client) => {
  const id = await client.create(webhook);
  const of = { tenant: client.tenant, notificationId: id };
  const write = (times: readonly number[], changes: Partial<DeliveryRecord> = {}) =>
    writeRecords(
      documents,
      table('Deliveries'),
      times.map((time) => deliveryRecord(of, eventId(time), { ttl: TTL, ...changes })),
    );
  const remove = (time: number) => {
    const { pk, sk } = deliveryRecord(of, eventId(time));
    return documents.send(new DeleteCommand({ TableName: table('Deliveries'), Key: { pk, sk } }));
  };
  return { id, path: `/notifications/${id}/deliveries`, write, remove };
};

describe('listing the deliveries of a notification', () => {
  let client: Client;
  beforeAll(async () => {
    client = await newClient('observer');
  });

  it('is empty for a new notification, and for the default notification', async () => {
    const admin = await newClient('admin', client.tenant);
    const { path } = await newNotification(admin);
    const empty = { count: 0, limit: 50, marker: null, next_marker: null, next_href: null };
    expect(await list(client, path)).toEqual({ values: [], metadata: empty });
    expect(await list(client, '/notifications/ntTechnicalContactsEmail/deliveries')).toMatchObject({ values: [] });
  });

  it('is newest first, page by page, with links that keep limit and filters', async () => {
    const admin = await newClient('admin', client.tenant);
    const { path, write } = await newNotification(admin);
    await write([1, 2, 3, 4, 5, 6, 7]);
    const all = [7, 6, 5, 4, 3, 2, 1].map(eventId);
    for (const limit of [1, 2, 6, 7, 8]) expect(await idsOf(client, `${path}?limit=${limit}`)).toEqual(all);
    const page = await list(client, `${path}?limit=3&color=red`);
    expect(page.metadata).toMatchObject({
      count: 3,
      limit: 3,
      next_marker: expect.stringMatching(/^\d{13}-[0-9a-f]{64}$/),
    });
    expect(page.metadata.next_href).toContain(`limit=3&color=red&marker=${page.metadata.next_marker}`);
    const next = await list(client, page.metadata.next_href ?? '');
    expect(next.metadata.marker).toBe(page.metadata.next_marker);
  });

  it('neither skips nor repeats a delivery while alerts arrive and records are deleted', async () => {
    const admin = await newClient('admin', client.tenant);
    const { path, write, remove } = await newNotification(admin);
    const times = Array.from({ length: 60 }, (_, index) => index * 10);
    await write(times);
    const [deleted, kept] = [times.filter((time) => time % 50 === 0), times.filter((time) => time % 50 !== 0)];
    const toDelete = [...deleted];
    let arrived = 0;
    const visited = await idsOf(client, `${path}?limit=4`, async () => {
      const time = toDelete.pop();
      await Promise.all([write([1_000 + arrived++, 295 - arrived]), ...(time === undefined ? [] : [remove(time)])]);
    });
    expect(new Set(visited).size).toBe(visited.length);
    expect(kept.map(eventId).filter((id) => !visited.includes(id))).toEqual([]);
  });

  it('filters by status and alarm', async () => {
    const admin = await newClient('admin', client.tenant);
    const { path, write } = await newNotification(admin);
    await write([1, 2]);
    await write([3, 4], { status: 'failed', alarm_id: 'al Disk/1' });
    await write([5], { status: 'failed' });
    expect(await idsOf(client, `${path}?status=failed`)).toEqual([5, 4, 3].map(eventId));
    expect(await idsOf(client, `${path}?status=failed&limit=1`)).toEqual([5, 4, 3].map(eventId));
    expect(await idsOf(client, `${path}?alarm_id=al%20Disk%2F1`)).toEqual([4, 3].map(eventId));
    expect(await idsOf(client, `${path}?status=delivered&alarm_id=alDisk`)).toEqual([2, 1].map(eventId));
    expect(await idsOf(client, `${path}?status=bounced`)).toEqual([]);
  });

  it.each(['dead', '', 'FAILED', '%00', 'failed,pending'])('rejects the status "%s" with 400', async (status) => {
    const response = await client.get(`/notifications/ntTechnicalContactsEmail/deliveries?status=${status}`);
    expect(response.status).toBe(400);
    expect(response.body).toMatchObject({
      type: 'badRequest',
      details: 'status: must be one of pending, delivered, failed, superseded, cancelled, bounced',
    });
  });

  it.each(['0', '1001', 'ten', ''])('rejects the limit "%s" with invalidLimit', async (limit) => {
    const response = await client.get(`/notifications/ntTechnicalContactsEmail/deliveries?limit=${limit}`);
    expect([response.status, response.body]).toEqual([400, expect.objectContaining({ type: 'invalidLimit' })]);
  });

  it.each(['%00', 'x'.repeat(5_000), '%F0%9F%98%80', 'a', '-', '#', '%ZZ', 'nt%0A', '0000000000000-'])(
    'accepts any marker, as other lists do, such as %s',
    async (marker) => {
      const response = await client.get(`/notifications/ntTechnicalContactsEmail/deliveries?marker=${marker}`);
      expect(response.status).toBe(200);
    },
  );

  it('is 404 for an unknown notification, and for that of another tenant', async () => {
    const other = await newClient();
    const { path, write } = await newNotification(other);
    await write([1]);
    for (const unknown of [
      path,
      '/notifications/nt01ARZ3NDEKTSV4RRFFQ69G5FAV/deliveries',
      '/notifications/a%23b/deliveries',
    ]) {
      expect((await client.get(unknown)).body).toMatchObject({ type: 'notFoundError' });
    }
    expect(await idsOf(other, path)).toHaveLength(1);
  });

  it('stays readable after the notification is deleted', async () => {
    const admin = await newClient('admin', client.tenant);
    const { id, path, write } = await newNotification(admin);
    await write([1]);
    await admin.delete(`/notifications/${id}`);
    expect(await idsOf(client, path)).toEqual([eventId(1)]);
    expect(await idsOf(client, `${path}?status=failed`)).toEqual([]);
    const { id: emptyId, path: emptyPath } = await newNotification(admin);
    await admin.delete(`/notifications/${emptyId}`);
    expect((await client.get(emptyPath)).status).toBe(404);
  });
});

describe.runIf(isLocal)('the history of an alert', () => {
  it('shows when it was delivered, and every attempt', async () => {
    const client = await newClient();
    const sink = await openSink((response, _request, index) => response.writeHead(index === 0 ? 500 : 204).end());
    const id = await client.create({ ...webhook, details: { url: sink.url } });
    const event = newAlarmEvent(client.tenant, [id]);
    await sendEvents([event]);
    await delivery(client.tenant, id, 'delivered');
    const { values } = await list(client, `/notifications/${id}/deliveries`);
    expect(values).toEqual([
      {
        event_id: event.event_id,
        entity_id: event.entity.id,
        alarm_id: event.alarm.id,
        state: 'CRITICAL',
        status: 'delivered',
        reason: null,
        attempts: [
          expect.objectContaining({ result: 'transient', status_code: 500, reason: 'http_status' }),
          expect.objectContaining({ result: 'delivered', status_code: 204, reason: null }),
        ],
        next_attempt_at: null,
        created_at: expect.any(Number),
        updated_at: expect.any(Number),
      },
    ]);
  });

  it('shows why it has not arrived, and that a bad destination is not in the history', async () => {
    const client = await newClient();
    const sink = await openSink((response) => response.writeHead(410).end('secret response'));
    const id = await client.create({ ...webhook, details: { url: `${sink.url}/secret-path` } });
    await sendEvents([newAlarmEvent(client.tenant, [id])]);
    await delivery(client.tenant, id, 'failed');
    const response = await client.get(`/notifications/${id}/deliveries?status=failed`);
    expect(response.body).toMatchObject({
      values: [{ status: 'failed', reason: 'http_status', next_attempt_at: null }],
    });
    expect(response.text).not.toContain('secret');
  });
});
