import { Console } from 'node:console';
import { type Latencies, measureGreedyTenant } from './greedy-tenant.ts';
import { measureIsolation } from './isolation.ts';

/** `npm run isolation -- [events] [workers] [seconds]`: what one tenant costs another, whose own destination is well. */
const [events = 1_000, workers = 128, seconds = 20] = process.argv.slice(2).map(Number);
const { table } = new Console(process.stdout);

const { alone, besideHanging, hanging } = await measureIsolation(events, workers);
table({
  'ten alerts alone (ms to the last arrival)': alone,
  [`the same beside ${events} alerts to an endpoint that hangs`]: besideHanging,
  'alerts hanging meanwhile': hanging,
});
if (besideHanging > alone + 2_000) process.exitCode = 1;

const greedy = await measureGreedyTenant(seconds);
const ratio = ({ p50, p99 }: Latencies) => ({
  p50,
  p99,
  'p50 to alone': Number((p50 / greedy.alone.p50).toFixed(2)),
  'p99 to alone': Number((p99 / greedy.alone.p99).toFixed(2)),
});
table({
  'a quiet tenant alone (ms)': ratio(greedy.alone),
  [`beside ${greedy.greedyDeliveries} deliveries of a greedy one`]: ratio(greedy.besideGreedy),
  'while DynamoDB throttles the greedy one': ratio(greedy.besideThrottled),
});
