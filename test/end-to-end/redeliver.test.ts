import { beforeAll, describe, expect, it } from 'vitest';
import * as z from 'zod';
import { newAlarmEvent } from '../support/events.ts';
import { openSink } from '../support/test-sink.ts';
import { until } from '../support/until.ts';
import { type Client, isLocal, newClient, webhook } from './support/api.ts';
import { deliveries, sendEvents } from './support/pipeline.ts';

const result = z.strictObject({ count: z.number(), next_marker: z.string().nullable() });

const redeliver = async (client: Client, id: string, body: unknown) => {
  const response = await client.post(`/notifications/${id}/redeliver`, body);
  expect(response.status, response.text).toBe(202);
  return result.parse(response.body);
};

const MARKER_RULE = 'marker: must be the next_marker of a response';
const SINCE_RULE = 'since: must be a whole number from 0 to 9999999999999: milliseconds since the epoch';

describe('a redelivery request', () => {
  let client: Client;
  let id: string;
  beforeAll(async () => {
    client = await newClient('creator');
    id = await client.create(webhook);
  });

  it.each([
    ['not json', 'body: must be valid JSON'],
    ['', 'body: must be valid JSON'],
    ['[]', 'body: must be a JSON object'],
    ['null', 'body: must be a JSON object'],
    ['{}', 'body: must have either event_id or since'],
    ['{"event_id":null,"since":null}', 'body: must have either event_id or since'],
    ['{"event_id":"a","since":1}', 'body: must have either event_id or since'],
    ['{"event_id":""}', 'event_id: must not be empty'],
    ['{"event_id":7}', 'event_id: must be a string'],
    ['{"event_id":[]}', 'event_id: must be a string'],
    [JSON.stringify({ event_id: 'x'.repeat(513) }), 'event_id: must be at most 512 characters'],
    ['{"since":"1"}', SINCE_RULE],
    ['{"since":-1}', SINCE_RULE],
    ['{"since":1.5}', SINCE_RULE],
    ['{"since":10000000000000}', SINCE_RULE],
    ['{"since":1e20}', SINCE_RULE],
    ['{"since":1,"marker":"x"}', MARKER_RULE],
    ['{"since":1,"marker":""}', MARKER_RULE],
    ['{"since":1,"marker":7}', MARKER_RULE],
    [JSON.stringify({ since: 1, marker: `1700000000000-1700000000000-${'g'.repeat(64)}` }), MARKER_RULE],
  ])('is rejected with 400, its field and rule: %s', async (body, details) => {
    const response = await client.post(`/notifications/${id}/redeliver`, body);
    expect([response.status, response.body]).toEqual([400, expect.objectContaining({ type: 'badRequest', details })]);
  });

  it('ignores unknown keys, and redelivers nothing if nothing has failed', async () => {
    for (const body of [
      { since: 0, color: 'red', event_id: null },
      { since: 0, marker: '1700000000000' },
      { since: 0, marker: `1700000000000-1700000000000-${'a'.repeat(64)}` },
      { since: 9_999_999_999_999 },
    ]) {
      expect(await redeliver(client, id, body)).toEqual({ count: 0, next_marker: null });
    }
    expect(await redeliver(client, 'ntTechnicalContactsEmail', { since: 0 })).toEqual({ count: 0, next_marker: null });
  });

  it('is forbidden for observers', async () => {
    const observer = await newClient('observer', client.tenant);
    const response = await observer.post(`/notifications/${id}/redeliver`, { since: 0 });
    expect([response.status, response.body]).toEqual([
      403,
      expect.objectContaining({ details: 'X-Auth-Token: a token of role observer may not redeliver notifications' }),
    ]);
  });

  it("is 404 for an unknown, deleted or another tenant's notification, and for an event without a delivery", async () => {
    const admin = await newClient('admin', client.tenant);
    const deleted = await admin.create(webhook);
    await admin.delete(`/notifications/${deleted}`);
    const foreign = await (await newClient()).create(webhook);
    for (const unknown of [deleted, foreign, 'nt01ARZ3NDEKTSV4RRFFQ69G5FAV', 'ntOperators', 'a%23b']) {
      for (const body of [{ since: 0 }, { event_id: 'e' }]) {
        const response = await client.post(`/notifications/${unknown}/redeliver`, body);
        expect(response.body, unknown).toMatchObject({
          type: 'notFoundError',
          message: 'The notification was not found.',
        });
      }
    }
    for (const event_id of ['unknown', '\0', '\ud800', '#'.repeat(512)]) {
      const response = await client.post(`/notifications/${id}/redeliver`, { event_id });
      expect(response.body).toMatchObject({ type: 'notFoundError', message: 'The delivery was not found.' });
    }
  });
});

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
    expect(await redeliver(client, id, { since: 0 })).toEqual({ count: 0, next_marker: null });
    await delivered();
    const received = sink.received.map(({ body }) => Object(JSON.parse(body)).event_id);
    expect(received.toSorted()).toEqual(events.map(({ event_id }) => event_id).toSorted());
  });

  it('receives one alert if only its event is redelivered, and never for another tenant', async () => {
    const { client, sink, id, events } = await fixedWebhook(3, 'admin');
    const event_id = events[1]?.event_id ?? '';
    const stranger = await newClient();
    const foreign = await stranger.post(`/notifications/${id}/redeliver`, { event_id });
    expect(foreign.status).toBe(404);
    expect(await redeliver(client, id, { event_id })).toEqual({ count: 1, next_marker: null });
    await sink.wait(1);
    expect(Object(JSON.parse(sink.received[0]?.body ?? '')).event_id).toBe(event_id);
    expect(await redeliver(client, id, { event_id })).toEqual({ count: 0, next_marker: null });
    expect(sink.received).toHaveLength(1);
  });

  it('receives alerts that failed since a time only', async () => {
    const { client, id } = await fixedWebhook(2);
    expect(await redeliver(client, id, { since: Date.now() + 1_000 })).toEqual({ count: 0, next_marker: null });
    const history = await client.get(`/notifications/${id}/deliveries`);
    const values = z.array(z.looseObject({ updated_at: z.number() })).parse(Object(history.body).values);
    const last = Math.max(...values.map(({ updated_at }) => updated_at));
    const { count } = await redeliver(client, id, { since: last });
    expect(count).toBe(values.filter(({ updated_at }) => updated_at === last).length);
  });
});
