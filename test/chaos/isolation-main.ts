import { Console } from 'node:console';
import { type Latencies, measureGreedyTenant } from './greedy-tenant.ts';
import { measureIsolation } from './isolation.ts';

/**
 * `npm run isolation -- [events] [workers] [seconds]`: prints how much one tenant delays another
 * (BENCHMARKS.md#isolation).
 */
const [events = 1_000, workers = 128, seconds = 20] = process.argv.slice(2).map(Number);
const { table } = new Console(process.stdout);

/** The run fails if the endpoint that hangs delays the other tenant by more. */
const MAX_DELAY_MS = 2_000;

const { aloneMs, besideHangingMs, hanging } = await measureIsolation(events, workers);
table({
  'time until 10 alerts are delivered, alone (ms)': aloneMs,
  [`beside ${events} alerts to an endpoint that hangs (ms)`]: besideHangingMs,
  'alerts that hang': hanging,
});
if (besideHangingMs > aloneMs + MAX_DELAY_MS) process.exitCode = 1;

const greedy = await measureGreedyTenant(seconds);
const latencyRow = ({ p50, p99 }: Latencies) => ({
  p50,
  p99,
  'p50 relative to alone': Number((p50 / greedy.alone.p50).toFixed(2)),
  'p99 relative to alone': Number((p99 / greedy.alone.p99).toFixed(2)),
});
table({
  'latency alone (ms)': latencyRow(greedy.alone),
  [`beside 100 notifications of 340 KB and one event per second (${greedy.greedyDeliveries} deliveries)`]: latencyRow(
    greedy.besideGreedy,
  ),
  'the same, throttled by DynamoDB': latencyRow(greedy.besideThrottled),
});
