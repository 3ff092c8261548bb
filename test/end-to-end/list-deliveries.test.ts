import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import type { DeliveryRecord } from '../../shared/domain/delivery-record.ts';
import { deliveryRecord, writeRecords } from '../support/delivery-records.ts';
import { newAlarmEvent } from '../support/events.ts';
import { openSink } from '../support/test-sink.ts';
import { useStarted } from '../support/use-started.ts';
import { type Client, documents, isLocal, newClient, table, webhook } from './support/api.ts';
import { collectionsOf } from './support/collections.ts';
import { delivery, sendEvents } from './support/pipeline.ts';

const { list, follow } = collectionsOf(z.looseObject({ event_id: z.string() }));

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
  return { id, path: `/notifications/${id}/deliveries`, write };
};

describe('listing the deliveries of a notification', () => {
  const client = useStarted(() => newClient('observer'));

  it('is newest first, page by page, with links that keep limit and filters', async () => {
    const admin = await newClient('admin', client.tenant);
    const { path, write } = await newNotification(admin);
    await write([1, 2, 3, 4, 5, 6, 7]);
    const all = [7, 6, 5, 4, 3, 2, 1].map(eventId);
    for (const limit of [1, 2, 6, 7, 8]) expect(await idsOf(client, `${path}?limit=${limit}`)).toEqual(all);
    expect(await idsOf(client, `${path}?status=failed`)).toEqual([]);
    expect(await idsOf(client, `${path}?alarm_id=alOther`)).toEqual([]);
    expect(await idsOf(client, `${path}?event_id=${eventId(3)}`)).toEqual([eventId(3)]);
    const page = await list(client, `${path}?limit=3&status=delivered`);
    expect(page.metadata).toMatchObject({
      count: 3,
      limit: 3,
      next_marker: expect.stringMatching(/^\d{13}-[0-9a-f]{64}$/),
    });
    expect(page.metadata.next_href).toContain(`limit=3&status=delivered&marker=${page.metadata.next_marker}`);
    const next = await list(client, page.metadata.next_href ?? '');
    expect(next.metadata.marker).toBe(page.metadata.next_marker);
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
        entity_label: event.entity.label,
        alarm_label: event.alarm.label,
        state: 'CRITICAL',
        status: 'delivered',
        reason: null,
        attempts: [
          expect.objectContaining({ result: 'transient', status_code: 500, reason: 'http_status' }),
          expect.objectContaining({ result: 'delivered', status_code: 204, reason: null }),
        ],
        accepted_at: expect.any(Number),
        next_attempt_at: null,
        created_at: expect.any(Number),
        updated_at: expect.any(Number),
      },
    ]);
  });

  it('shows why it has not arrived, and neither a bad destination nor, to observers, its response', async () => {
    const client = await newClient();
    const observer = await newClient('observer', client.tenant);
    const sink = await openSink((response) => response.writeHead(410).end('It is gone'));
    const id = await client.create({ ...webhook, details: { url: `${sink.url}/secret-path` } });
    await sendEvents([newAlarmEvent(client.tenant, [id])]);
    await delivery(client.tenant, id, 'failed');
    const path = `/notifications/${id}/deliveries?status=failed`;
    const [full, observed] = [await client.get(path), await observer.get(path)];
    expect(full.body).toMatchObject({
      values: [
        {
          status: 'failed',
          reason: 'http_status',
          attempts: [{ response_text: 'It is gone' }],
          next_attempt_at: null,
        },
      ],
    });
    expect(full.text).not.toContain('secret');
    expect(observed.text).not.toContain('It is gone');
    expect(observed.body).toMatchObject({ values: [{ attempts: [{ status_code: 410 }] }] });
  });
});
