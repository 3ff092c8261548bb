import { setTimeout as sleep } from 'node:timers/promises';
import { startLocalStack } from '../../bin/local/stack.ts';
import { connectApi } from '../support/api.ts';
import { newAlarmEvent } from '../support/events.ts';
import { entries } from '../support/notifications.ts';
import { percentile } from '../support/percentile.ts';
import { connectPipeline } from '../support/pipeline.ts';
import { addressesOf } from '../support/running-stack.ts';
import { payload, type Received, startSink } from '../support/sink.ts';
import { until } from '../support/until.ts';

/** Latencies from the send of an event to its arrival, in ms. */
export type Latencies = { p50: number; p99: number };

/** The latencies of a quiet tenant: alone, with a greedy tenant, and while DynamoDB throttles the greedy tenant. */
export type GreedyTenantResult = {
  alone: Latencies;
  besideGreedy: Latencies;
  besideThrottled: Latencies;
  /** Deliveries to the greedy tenant before DynamoDB throttles it, including the warm-up. */
  greedyDeliveries: number;
};

const NOTIFICATIONS = 100;
/** The number of entries of 4,096 characters: 340 KB per notification of the greedy tenant. */
const ENTRIES = 83;
const QUIET_INTERVAL_MS = 200;
/** Creating notifications faster would throttle the partition key. */
const CREATE_INTERVAL_MS = 350;

const large = entries(ENTRIES, 'x'.repeat(4_096));

/**
 * Measures how much a tenant with 100 notifications of 340 KB and one event per second delays another tenant. The local
 * DynamoDB limits a partition key to 3,000 read units and 1,000 write units per second, as AWS does. Takes four times
 * `seconds`, plus about a minute.
 */
export const measureGreedyTenant = async (seconds: number): Promise<GreedyTenantResult> => {
  const stack = await startLocalStack({
    settings: { deadLetterEmail: 'false', senderConcurrencyByType: 'webhook=12' },
  });
  const running = addressesOf(stack);
  const api = connectApi(running);
  const pipeline = connectPipeline(running, api);
  const [greedySink, quietSink] = [await startSink(), await startSink()];
  try {
    const [greedy, quiet] = [await api.newClient(), await api.newClient()];
    const greedyIds: string[] = [];
    for (let index = 0; index < NOTIFICATIONS; index++) {
      const details = { ...large, url: greedySink.url };
      greedyIds.push(await greedy.create({ label: `n${index}`, type: 'webhook', details }));
      await sleep(CREATE_INTERVAL_MS);
    }
    const quietId = await quiet.create({ label: 'quiet', type: 'webhook', details: { url: quietSink.url } });

    const latencies = async (): Promise<Latencies> => {
      const sentAtMs = new Map<string, number>();
      const before = quietSink.received.length;
      const count = Math.round((seconds * 1_000) / QUIET_INTERVAL_MS);
      for (let index = 0; index < count; index++) {
        const event = newAlarmEvent(quiet.tenant, [quietId]);
        sentAtMs.set(event.event_id, Date.now());
        await pipeline.sendEvents([event]);
        await sleep(QUIET_INTERVAL_MS);
      }
      await quietSink.wait(before + count);
      const latenciesMs = quietSink.received
        .slice(before)
        .map(({ body, atMs }: Received) => atMs - (sentAtMs.get(payload.parse(JSON.parse(body)).event_id) ?? atMs));
      return { p50: percentile(latenciesMs, 0.5), p99: percentile(latenciesMs, 0.99) };
    };
    const besideGreedyTenant = async (): Promise<Latencies> => {
      const timer = setInterval(() => void pipeline.sendEvents([newAlarmEvent(greedy.tenant, greedyIds)]), 1_000);
      try {
        return await latencies();
      } finally {
        clearInterval(timer);
      }
    };

    // Warms up the sandboxes.
    await besideGreedyTenant();
    await until(() => [...stack.queues.values()].every(({ messages }) => messages.length === 0));
    const alone = await latencies();
    const besideGreedy = await besideGreedyTenant();
    const greedyDeliveries = greedySink.received.length;
    const recover = stack.dynamodb.throttle({ partitionKey: (key) => key.includes(greedy.tenant) });
    const besideThrottled = await besideGreedyTenant();
    recover();
    return { alone, besideGreedy, besideThrottled, greedyDeliveries };
  } finally {
    greedySink.close();
    quietSink.close();
    await stack.stop();
  }
};
