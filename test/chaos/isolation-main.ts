import { Console } from 'node:console';
import { type Latencies, measureGreedyTenant } from './greedy-tenant.ts';
import { measureIsolation } from './isolation.ts';
import { type Arrivals, measureSharedHost } from './shared-host.ts';

/**
 * `npm run isolation -- [events] [workers] [seconds] [alerts]`: prints how much one tenant delays another
 * (docs/benchmarks.md#isolation).
 */
const [events = 1_000, workers = 128, seconds = 20, alerts = 60] = process.argv.slice(2).map(Number);
const { table } = new Console(process.stdout);

/** The run fails if an endpoint or a path that hangs delays the first attempts of the other tenant by more. */
const MAX_DELAY_MS = 2_000;

const { aloneMs, besideHangingMs, hanging } = await measureIsolation(events, workers);
table({
  'time until 10 alerts are delivered, alone (ms)': aloneMs,
  [`beside ${events} alerts to an endpoint that hangs (ms)`]: besideHangingMs,
  'alerts that hang': hanging,
});
if (besideHangingMs > aloneMs + MAX_DELAY_MS) process.exitCode = 1;

const sharedHost = await measureSharedHost(alerts);
const arrivalsRow = ({ p50, p99, max, waiting }: Arrivals) => ({ p50, p99, max, 'not arrived': waiting });
table({
  'first attempts alone (ms)': arrivalsRow(sharedHost.alone.firstAttempts),
  'beside a path of the same host that hangs': arrivalsRow(sharedHost.besideHanging.firstAttempts),
  'retries alone (ms)': arrivalsRow(sharedHost.alone.retries),
  [`beside the path that hangs (${sharedHost.hanging} requests)`]: arrivalsRow(sharedHost.besideHanging.retries),
});
const hasWaiting = Object.values(sharedHost.besideHanging).some(({ waiting }) => waiting > 0);
const sharedHostDelayMs = sharedHost.besideHanging.firstAttempts.p99 - sharedHost.alone.firstAttempts.p99;
if (hasWaiting || sharedHostDelayMs > MAX_DELAY_MS) process.exitCode = 1;

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
