import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { newAlarmEvent } from '../support/events.ts';
import { openSink } from '../support/test-sink.ts';
import { until } from '../support/until.ts';
import { type Client, isLocal, newClient, webhook } from './support/api.ts';
import { deliveries, sendEvents } from './support/pipeline.ts';

const result = z.strictObject({ count: z.number(), next_marker: z.string().nullable(), reason: z.string().optional() });

const redeliver = async (client: Client, id: string, body: unknown) => {
  const response = await client.post(`/notifications/${id}/redeliver`, body);
  expect(response.status, response.text).toBe(202);
  return result.parse(response.body);
};

describe.runIf(isLocal)('a webhook that failed and is fixed', () => {
  /** Creates a webhook that has rejected this many alerts and accepts the next ones. */
  const fixedWebhook = async (count: number, role: 'admin' | 'creator' = 'creator') => {
    const client = await newClient(role);
    let status = 410;
    const sink = await openSink((response) => response.writeHead(status).end());
    const id = await client.create({ ...webhook, details: { url: sink.url } });
    const events = Array.from({ length: count }, (_, index) =>
      newAlarmEvent(client.tenant, [id], { alarm: `al${index}` }),
    );
    await sendEvents(events);
    const ended = (wanted: string) =>
      until(async () => {
        const records = await deliveries(client.tenant, id);
        return records.filter((record) => record.status === wanted).length === count || undefined;
      });
    await ended('failed');
    sink.received.length = 0;
    status = 200;
    return { client, sink, id, events, delivered: () => ended('delivered') };
  };

  it('receives each alert once, with the same ID, also if the request is repeated', async () => {
    const { client, sink, id, events, delivered } = await fixedWebhook(12);
    expect(await redeliver(client, id, { since: 0 })).toEqual({ count: 12, next_marker: null });
    expect(await redeliver(client, id, { since: 0 })).toMatchObject({
      count: 0,
      next_marker: null,
      reason: expect.any(String),
    });
    await delivered();
    const received = sink.received.map(({ body }) => Object(JSON.parse(body)).event_id);
    expect(received.toSorted()).toEqual(events.map(({ event_id }) => event_id).toSorted());
  });
});
