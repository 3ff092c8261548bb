import { setTimeout as sleep } from 'node:timers/promises';
import { startLocalStack } from '../../bin/local/stack.ts';
import { connectApi } from '../support/api.ts';
import { newAlarmEvent } from '../support/events.ts';
import { connectPipeline } from '../support/pipeline.ts';
import { addressesOf } from '../support/running-stack.ts';
import { payload, type Received, startSink } from '../support/sink.ts';
import { until } from '../support/until.ts';

/** From the send of an event to its arrival, in ms. */
export type Latencies = { p50: number; p99: number };

/** What a quiet tenant's alerts take alone, beside a greedy tenant, and while DynamoDB throttles the greedy one altogether. */
export type GreedyTenant = {
  alone: Latencies;
  besideGreedy: Latencies;
  besideThrottled: Latencies;
  /** Deliveries to the greedy tenant meanwhile. */
  greedyDeliveries: number;
};

const NOTIFICATIONS = 100;
/** Bytes of each notification of the greedy tenant: 340 KB, in entries of 4,096. */
const ENTRIES = 83;
/** Between two events of the quiet tenant, in ms. */
const QUIET_PAUSE = 200;

const large = Object.fromEntries(Array.from({ length: ENTRIES }, (_, index) => [`key${index}`, 'x'.repeat(4_096)]));

const percentile = (values: readonly number[], share: number): number =>
  values.toSorted((one, other) => one - other)[Math.min(values.length - 1, Math.floor(values.length * share))] ?? 0;

/**
 * Measures what a tenant with 100 notifications of 340 KB and one event a second for all of them costs another tenant, where a
 * partition key of DynamoDB takes 3,000 read units and 1,000 write units a second.
 */
export const measureGreedyTenant = async (seconds: number): Promise<GreedyTenant> => {
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
      await sleep(350);
    }
    const quietId = await quiet.create({ label: 'quiet', type: 'webhook', details: { url: quietSink.url } });

    const latencies = async (): Promise<Latencies> => {
      const sentAt = new Map<string, number>();
      const before = quietSink.received.length;
      const count = Math.round((seconds * 1_000) / QUIET_PAUSE);
      for (let index = 0; index < count; index++) {
        const event = newAlarmEvent(quiet.tenant, [quietId]);
        sentAt.set(event.event_id, Date.now());
        await pipeline.sendEvents([event]);
        await sleep(QUIET_PAUSE);
      }
      await quietSink.wait(before + count);
      const took = quietSink.received
        .slice(before)
        .map(({ body, at }: Received) => at - (sentAt.get(payload.parse(JSON.parse(body)).event_id) ?? at));
      return { p50: percentile(took, 0.5), p99: percentile(took, 0.99) };
    };
    const besideGreedyTenant = async (): Promise<Latencies> => {
      const timer = setInterval(() => void pipeline.sendEvents([newAlarmEvent(greedy.tenant, greedyIds)]), 1_000);
      try {
        return await latencies();
      } finally {
        clearInterval(timer);
      }
    };

    await besideGreedyTenant(); // Warms the sandboxes.
    await until(async () =>
      [...stack.queues.values()].every(({ messages }) => messages.length === 0) ? true : undefined,
    );
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
