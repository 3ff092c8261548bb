import { deliveryTotals } from '../../../shared/domain/delivery-metrics.ts';
import type { Observations } from '../world/observations.ts';
import { plannedDeliveries } from './planned-alerts.ts';
import type { Rule } from './rule.ts';

/** The counts of what became of planned deliveries. */
const ends = deliveryTotals.filter((name) => name !== 'deliveries_planned');

/** The metrics of a batch, by name. */
type Metrics = Partial<Record<string, unknown>>;

const metricsIn = (logs: readonly string[]): Metrics[] =>
  logs
    .flatMap((text) => text.split('\n'))
    .flatMap((line): Metrics[] => (line.startsWith('{"_aws"') ? [JSON.parse(line)] : []));

const sumOf = (metrics: readonly Metrics[], name: string): number =>
  metrics.reduce((sum, { [name]: value }) => sum + (typeof value === 'number' ? value : 0), 0);

/** Returns whether faults or people may have changed how often a delivery is counted. */
const isDisturbed = ({ faults, kills, people, redrives, scenario }: Observations): boolean =>
  faults.length > 0 ||
  kills.length > 0 ||
  redrives.length > 0 ||
  scenario.rates.duplicateReceives > 0 ||
  scenario.rates.slowCall > 0 ||
  people.some(({ action }) => action.kind === 'redeliver');

/**
 * Without faults, the metrics count each planned delivery once, and once what became of it. If the copies of an event are
 * delivered at the same time, one of them is not counted as repeated.
 */
export const metricsCountDeliveries: Rule = {
  name: 'metrics count deliveries',
  violations(observations) {
    const { scenario, logs, history, people } = observations;
    if (isDisturbed(observations)) return [];
    const metrics = metricsIn(logs);
    const deliveries = plannedDeliveries(scenario);
    const repeats = deliveries.reduce(
      (sum, { event }) => sum + event.repeatsAfterMs.length + Number(event.alteredAfterMs !== undefined),
      0,
    );
    const planned = sumOf(metrics, 'deliveries_planned');
    const ended = ends.reduce((sum, name) => sum + sumOf(metrics, name), 0);
    const delivered = sumOf(metrics, 'deliveries_delivered');
    const latencies = metrics.flatMap(({ delivery_latency: values }) => (values === undefined ? [] : values)).length;
    const arrived = history.filter(
      ({ status, event_id }) => (status === 'delivered' || status === 'bounced') && event_id.includes(':ch'),
    );
    // Dispatch plans no delivery to a deleted notification.
    const isPlanned = people.some(({ action }) => action.kind === 'delete') || planned === deliveries.length + repeats;
    return [
      ...(isPlanned ? [] : [`${deliveries.length + repeats} deliveries were planned, and ${planned} are counted.`]),
      ...(ended <= planned && ended >= planned - repeats
        ? []
        : [`Of ${planned} planned deliveries, ${ended} are counted as ended.`]),
      ...(delivered === arrived.length ? [] : [`${arrived.length} arrived, and ${delivered} are counted.`]),
      ...(latencies === delivered ? [] : [`${delivered} are counted as delivered, ${latencies} with a latency.`]),
    ];
  },
};
