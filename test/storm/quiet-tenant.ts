import { setTimeout as sleep } from 'node:timers/promises';
import type { Inbox } from '../../bin/local/inbox/inbox.ts';
import type { Client } from '../support/api.ts';
import { newAlarmEvent } from '../support/events.ts';
import { percentile } from '../support/percentile.ts';
import type { connectPipeline } from '../support/pipeline.ts';
import { payload, type startSink } from '../support/sink.ts';
import { until } from '../support/until.ts';

type Latencies = { p50: number; p99: number };

/** Latencies from the send of an event to its arrival, in ms. */
export type QuietLatencies = { webhook: Latencies; email: Latencies };

const ADDRESS = 'quiet@example.com';
const INTERVAL_MS = 200;

const latenciesOf = (sentAtMs: ReadonlyMap<string, number>, arrivedAtMs: ReadonlyMap<string, number>): Latencies => {
  const values = [...sentAtMs].map(([id, atMs]) => (arrivedAtMs.get(id) ?? Number.NaN) - atMs);
  return { p50: percentile(values, 0.5), p99: percentile(values, 0.99) };
};

/**
 * Creates the notifications of a tenant with five events a second, each for a webhook and an email notification.
 *
 * @returns a function that sends events until `isOver`, and returns their latencies when all have arrived
 */
export const quietTenant = async (
  client: Client,
  pipeline: Pick<ReturnType<typeof connectPipeline>, 'sendEvents'>,
  inbox: Inbox,
  sink: Awaited<ReturnType<typeof startSink>>,
): Promise<(isOver: () => boolean) => Promise<QuietLatencies>> => {
  const ids = [
    await client.create({ label: 'webhook', type: 'webhook', details: { url: sink.url } }),
    await client.create({ label: 'email', type: 'email', details: { address: ADDRESS } }),
  ];

  const emailArrivals = (): Map<string, number> =>
    new Map(
      inbox.list().flatMap((message): [string, number][] => {
        if (message.kind !== 'email' || !message.to.includes(ADDRESS)) return [];
        const [id = ''] = /\S+:enWeb\d+:\S+/.exec(message.text) ?? [];
        return [[id, Date.parse(message.sent_at)]];
      }),
    );

  return async (isOver) => {
    const sentAtMs = new Map<string, number>();
    const before = sink.received.length;
    while (!isOver()) {
      const event = newAlarmEvent(client.tenant, ids);
      sentAtMs.set(event.event_id, Date.now());
      await pipeline.sendEvents([event]);
      await sleep(INTERVAL_MS);
    }
    const received = (await sink.wait(before + sentAtMs.size)).slice(before);
    const webhooks = new Map(received.map(({ body, atMs }) => [payload.parse(JSON.parse(body)).event_id, atMs]));
    await until(async () => {
      const arrived = emailArrivals();
      return [...sentAtMs.keys()].every((id) => arrived.has(id));
    }, 500);
    const emails = emailArrivals();
    return { webhook: latenciesOf(sentAtMs, webhooks), email: latenciesOf(sentAtMs, emails) };
  };
};
