import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { deliveryRecord, writeRecords } from '../support/delivery-records.ts';
import { newAlarmEvent } from '../support/events.ts';
import { openSink } from '../support/test-sink.ts';
import { documents, isLocal, newClient, table, webhook } from './support/api.ts';
import { collectionsOf } from './support/collections.ts';
import { delivery, sendEvents } from './support/pipeline.ts';

const { list, follow } = collectionsOf(z.looseObject({ event_id: z.string() }));

it('the deliveries of a notification are listed newest first, page by page, with links that keep limit and filters', async () => {
  const client = await newClient();
  const observer = await newClient('observer', client.tenant);
  const id = await client.create(webhook);
  const nowMs = Date.now();
  const records = [1, 2, 3].map((time) =>
    deliveryRecord({ tenant: client.tenant, notificationId: id }, `acme:en:al:ch:${nowMs + time}:CRITICAL`, {
      ttl: Math.floor(nowMs / 1000) + 86_400,
    }),
  );
  await writeRecords(documents, table('Deliveries'), records);
  const path = `/notifications/${id}/deliveries`;
  const found = await follow(observer, `${path}?limit=2&status=delivered`);
  expect(found.map(({ event_id }) => event_id)).toEqual(records.map(({ event_id }) => event_id).toReversed());
  const { metadata } = await list(observer, `${path}?limit=2&status=delivered`);
  expect(metadata.next_marker).toMatch(/^\d{13}-[0-9a-f]{64}$/);
  expect(metadata.next_href).toContain(`limit=2&status=delivered&marker=${metadata.next_marker}`);
  expect(await follow(observer, `${path}?alarm_id=alOther`)).toEqual([]);
});

describe.runIf(isLocal)('the history of an alert', () => {
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
