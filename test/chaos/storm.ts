import { setTimeout as sleep } from 'node:timers/promises';
import { paginateScan } from '@aws-sdk/lib-dynamodb';
import * as z from 'zod';
import { PRICES } from '../../bin/cost/prices.ts';
import { startLocalStack } from '../../bin/local/stack.ts';
import { deliveryStatuses } from '../../shared/contracts/outcomes.ts';
import { connectApi } from '../support/api.ts';
import { newAlarmEvent } from '../support/events.ts';
import { percentile } from '../support/percentile.ts';
import { connectPipeline } from '../support/pipeline.ts';
import { addressesOf } from '../support/running-stack.ts';
import { payload, type Received, startSink } from '../support/sink.ts';
import { until } from '../support/until.ts';

/** Latencies from the send of an event to its arrival, in ms. */
export type Latencies = { p50: number; p99: number };

/** What a storm of alerts of one tenant caused. */
export type StormResult = {
  /** Those of a quiet tenant, alone and beside the storm. */
  alone: Latencies;
  besideStorm: Latencies;
  /** How long sending the events of the storm took, and then how long until the last message, with steps of 2 s. */
  sendMs: number;
  lastSummaryMs: number;
  /** The alerts of the storm by status, without its summaries. */
  alerts: Readonly<Record<string, number>>;
  emails: number;
  sms: number;
  /** The price of these messages, and that of one message for each alert, in dollars. */
  dollars: number;
  dollarsWithoutSummaries: number;
};

const ALARMS = 2_000;
const EVENTS_PER_SEND = 10;
const QUIET_INTERVAL_MS = 200;
const STATES = ['CRITICAL', 'WARNING', 'CRITICAL', 'OK'] as const;

const storedDelivery = z.object({ status: z.enum(deliveryStatuses), notice: z.optional(z.string()) });

/**
 * Measures a storm: `events` alarm events of one tenant within `seconds`, each for an email and an SMS notification,
 * with summaries, beside a quiet tenant with a webhook. Takes until the last summary, at least one window and a minute.
 */
export const measureStorm = async (events: number, seconds: number, windowMinutes: number): Promise<StormResult> => {
  const stack = await startLocalStack({ settings: { deadLetterEmail: 'false' } });
  const running = addressesOf(stack);
  const api = connectApi(running);
  const pipeline = connectPipeline(running, api);
  const sink = await startSink();
  const sent = { email: 0, sms: 0, lastAtMs: 0 };
  try {
    const [stormy, quiet] = [await api.newClient(), await api.newClient()];
    await stormy.put('/account', { summaries: { window_minutes: windowMinutes } });
    const ids = [
      await stormy.create({ label: 'email', type: 'email', details: { address: 'storm@example.com' } }),
      await stormy.create({ label: 'sms', type: 'sms', details: { phone_number: '+12025550123' } }),
    ];
    const quietId = await quiet.create({ label: 'quiet', type: 'webhook', details: { url: sink.url } });

    const quietLatencies = async (isOver: () => boolean): Promise<Latencies> => {
      const sentAtMs = new Map<string, number>();
      const before = sink.received.length;
      while (!isOver()) {
        const event = newAlarmEvent(quiet.tenant, [quietId]);
        sentAtMs.set(event.event_id, Date.now());
        await pipeline.sendEvents([event]);
        await sleep(QUIET_INTERVAL_MS);
      }
      const received = (await sink.wait(before + sentAtMs.size)).slice(before);
      const latenciesMs = received.map(
        ({ body, atMs }: Received) => atMs - (sentAtMs.get(payload.parse(JSON.parse(body)).event_id) ?? atMs),
      );
      return { p50: percentile(latenciesMs, 0.5), p99: percentile(latenciesMs, 0.99) };
    };

    const sendStorm = async (): Promise<number> => {
      const startMs = Date.now();
      for (let count = 0; count < events; count += EVENTS_PER_SEND) {
        const waitMs = startMs + (count * seconds * 1_000) / events - Date.now();
        if (waitMs > 0) await sleep(waitMs);
        const batch = Array.from({ length: Math.min(EVENTS_PER_SEND, events - count) }, (_, index) =>
          newAlarmEvent(stormy.tenant, ids, {
            alarm: `al${(count + index) % ALARMS}`,
            state: STATES[Math.floor((count + index) / ALARMS) % STATES.length] ?? 'CRITICAL',
          }),
        );
        await pipeline.sendEvents(batch);
      }
      return Date.now() - startMs;
    };

    /** Counts the messages in the inbox and removes them, because it keeps the newest 10,000. */
    const collect = async (): Promise<void> => {
      const messages = (await pipeline.inbox()).filter(({ kind }) => kind === 'email' || kind === 'sms');
      await fetch(`${stack.ready.inbox_url}/`, { method: 'DELETE' });
      for (const { kind } of messages) sent[kind === 'email' ? 'email' : 'sms'] += 1;
      if (messages.length > 0) sent.lastAtMs = Date.now();
    };

    const aloneEndsMs = Date.now() + Math.min(seconds, 60) * 1_000;
    // Warms up the sandboxes.
    const warmUpEndsMs = Date.now() + 5_000;
    await quietLatencies(() => Date.now() > warmUpEndsMs);
    const alone = await quietLatencies(() => Date.now() > aloneEndsMs);
    let isSent = false;
    const [sendMs, besideStorm] = await Promise.all([
      sendStorm().finally(() => {
        isSent = true;
      }),
      quietLatencies(() => isSent),
    ]);
    const sentAtMs = Date.now();
    await until(async () => {
      await collect();
      return [...stack.queues.values()].every(({ messages }) => messages.length === 0);
    }, 2_000);
    await collect();

    const alerts: Record<string, number> = {};
    const table = { TableName: api.table('Deliveries'), FilterExpression: 'contains(pk, :tenant)' };
    const values = { ':tenant': stormy.tenant };
    for await (const { Items = [] } of paginateScan(
      { client: api.documents },
      { ...table, ExpressionAttributeValues: values },
    )) {
      for (const item of Items) {
        const { data } = storedDelivery.safeParse(item);
        if (data && data.notice === undefined) alerts[data.status] = (alerts[data.status] ?? 0) + 1;
      }
    }
    return {
      alone,
      besideStorm,
      sendMs,
      lastSummaryMs: Math.max(0, sent.lastAtMs - sentAtMs),
      alerts,
      emails: sent.email,
      sms: sent.sms,
      dollars: sent.email * PRICES.email + sent.sms * PRICES.sms,
      dollarsWithoutSummaries: events * (PRICES.email + PRICES.sms),
    };
  } finally {
    sink.close();
    await stack.stop();
  }
};
