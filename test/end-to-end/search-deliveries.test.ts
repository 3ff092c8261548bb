import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { deliveryRecord, writeRecords } from '../support/delivery-records.ts';
import { newAlarmEvent } from '../support/events.ts';
import { openSink } from '../support/test-sink.ts';
import { documents, isLocal, newClient, table, webhook } from './support/api.ts';
import { collectionsOf } from './support/collections.ts';
import { delivery, sendEvents } from './support/pipeline.ts';

const { list, follow } = collectionsOf(z.looseObject({ notification_id: z.string(), event_id: z.string() }));

describe.runIf(isLocal)('an alert of several notifications', () => {
  it('is found by its event ID, alarm, entity, time and status, with the names of what it is about', async () => {
    const client = await newClient();
    const observer = await newClient('observer', client.tenant);
    const sink = await openSink((response, { path }) => response.writeHead(path === '/broken' ? 410 : 204).end());
    const create = (label: string) =>
      client.create({ label, type: 'webhook', details: { url: `${sink.url}/${label}` } });
    const [works, broken] = [await create('works'), await create('broken')];
    const event = newAlarmEvent(client.tenant, [works, broken]);
    const startedMs = Date.now();
    await sendEvents([event, newAlarmEvent(client.tenant, [works], { alarm: 'alCpu' })]);
    await delivery(client.tenant, works, 'delivered');
    await delivery(client.tenant, broken, 'failed');
    await client.create(webhook);

    const ofEvent = await follow(observer, `/deliveries?event_id=${event.event_id}`);
    expect(ofEvent).toMatchObject([
      {
        notification_id: works,
        notification_label: 'works',
        type: 'webhook',
        event_id: event.event_id,
        entity_label: event.entity.label,
        alarm_label: event.alarm.label,
        status: 'delivered',
      },
      { notification_id: broken, notification_label: 'broken', type: 'webhook', status: 'failed' },
    ]);
    const found = async (query: string) =>
      (await follow(observer, `/deliveries?${query}`)).map(({ notification_id }) => notification_id);
    expect(await found('alarm_id=alDisk')).toEqual([works, broken]);
    expect(await found(`alarm_id=alDisk&entity_id=${event.entity.id}&from=${startedMs}`)).toEqual([works, broken]);
    expect(await found('status=failed&status=bounced')).toEqual([broken]);
    expect(await found(`to=${startedMs - 60_000}`)).toEqual([]);
    expect(await follow(await newClient(), `/deliveries?event_id=${event.event_id}`)).toEqual([]);
  });
});

describe('a search for deliveries', () => {
  it('has links that keep its filters, for every role, and refuses what it does not understand', async () => {
    const client = await newClient();
    const ids = [await client.create(webhook), await client.create(webhook)];
    const nowMs = Date.now();
    const records = ids.flatMap((notificationId) =>
      [1, 2].map((time) =>
        deliveryRecord({ tenant: client.tenant, notificationId }, `a:${nowMs + time}:OK`, {
          ttl: Math.floor(nowMs / 1000) + 86_400,
        }),
      ),
    );
    await writeRecords(documents, table('Deliveries'), records);
    for (const limit of [1, 3, 50]) {
      const values = await follow(client, `/deliveries?status=delivered&status=failed&limit=${limit}`);
      expect(values.map(({ notification_id }) => notification_id)).toEqual(ids.flatMap((id) => [id, id]));
    }
    const { metadata } = await list(client, '/deliveries?status=delivered&status=failed&limit=1');
    expect(metadata.next_href).toContain('status=delivered&status=failed&limit=1&marker=');
    for (const query of ['status=dead', 'event_id=a&status=failed', 'from=7', 'marker=x', 'limit=0'])
      expect((await client.get(`/deliveries?${query}`)).status, query).toBe(400);
  });
});
