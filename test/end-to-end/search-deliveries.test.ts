import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { newAlarmEvent } from '../support/events.ts';
import { openSink } from '../support/test-sink.ts';
import { isLocal, newClient, webhook } from './support/api.ts';
import { collectionsOf } from './support/collections.ts';
import { delivery, sendEvents } from './support/pipeline.ts';

const { follow } = collectionsOf(z.looseObject({ notification_id: z.string(), event_id: z.string() }));

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
    expect(await found('status=delivered&status=pending&status=failed&limit=1')).toEqual([works, works, broken]);
    expect((await observer.get('/deliveries?marker=x')).status).toBe(400);
    expect(await found(`to=${startedMs - 60_000}`)).toEqual([]);
    expect(await follow(await newClient(), `/deliveries?event_id=${event.event_id}`)).toEqual([]);
  });
});
