import { embeddedMeasurements } from 'local-aws/cloudwatch/embedded-metrics.ts';
import { MetricStore, MINUTE_MS } from 'local-aws/cloudwatch/metric-store.ts';
import type { RequestReport } from 'local-aws/gateway/gateway.ts';
import type { InvocationReport } from 'local-aws/lambda/lambda.ts';
import { parseLogLine } from 'local-aws/lambda/log-line.ts';
import type { Queue } from 'local-aws/sqs/queue.ts';
import type { MonitoringPlan } from './alarm-definition.ts';
import { type AlarmData, type AlarmState, dataPoints, nextState } from './alarm-evaluation.ts';
import { matchesPattern } from './filter-pattern.ts';

/** The properties of a queue that its metrics are measured from. */
export type SampledQueue = Pick<Queue, 'pendingReceives' | 'ageOfOldestMessageSeconds'> & {
  counts: Pick<Queue['counts'], 'visible'>;
  settings: Pick<Queue['settings'], 'name'>;
};

/** A state change of an alarm, in ms since the epoch. */
export type AlarmTransition = { alarm: string; state: AlarmState; atMs: number };

/** Options of CloudWatch. */
export type CloudWatchOptions = {
  plan: MonitoringPlan;
  /** Returns the time of the stack's clock, in ms since the epoch. */
  now: () => number;
};

/** The delay until a value is published: AWS services publish once a minute. */
const PUBLICATION_DELAY_MS = MINUTE_MS;

/**
 * Collects the metrics that functions log and that AWS services report, as far as alarms read them, and evaluates the
 * alarms of a template once a minute.
 */
export class CloudWatch {
  /** All state changes, oldest first. */
  readonly transitions: AlarmTransition[] = [];
  readonly #options: CloudWatchOptions;
  readonly #store = new MetricStore();
  readonly #states: Map<string, AlarmState>;
  /** The names of the queues whose metrics SQS reports. It stops six hours after the last use, longer than a drill. */
  readonly #activeQueues: Set<string>;

  constructor({ plan, now }: CloudWatchOptions) {
    this.#options = { plan, now };
    this.#activeQueues = new Set(plan.queuesKeptActive);
    this.#states = new Map(plan.alarms.map(({ name }) => [name, 'OK']));
  }

  /** The alarms in state ALARM. */
  get firing(): string[] {
    return [...this.#states].filter(([, state]) => state === 'ALARM').map(([name]) => name);
  }

  /** Records a log line of a function. Throws if its embedded metrics are invalid. */
  readonly log = (text: string, functionName: string): void => {
    const line = parseLogLine(text);
    if (!line) return;
    for (const measurement of embeddedMeasurements(line)) this.#store.put(measurement);
    const { plan, now } = this.#options;
    const group = plan.logGroups.get(functionName);
    if (group === undefined) return;
    for (const rule of plan.insightRules) rule.add(group, line, now());
    for (const { logGroup, pattern, metric } of plan.metricFilters) {
      if (logGroup === group && matchesPattern(pattern, line)) {
        this.#store.put({ metric, value: 1, timestampMs: now() });
      }
    }
  };

  /** Records an invocation, in the metrics of all functions of the account. */
  readonly invocation = ({ endedAtMs, result }: InvocationReport): void => {
    this.#put('AWS/Lambda', 'Throttles', result === 'throttle' ? 1 : 0, {}, endedAtMs);
  };

  /** Records a request to the HTTP API. */
  readonly request = ({ status }: RequestReport): void => {
    const { plan, now } = this.#options;
    for (const ApiId of plan.apiIds) this.#put('AWS/ApiGateway', '5xx', status >= 500 ? 1 : 0, { ApiId }, now());
  };

  /** Records the rates of the account that SES reports. */
  readonly reputation = (rates: Readonly<Record<'BounceRate' | 'ComplaintRate', number>>): void => {
    for (const [name, rate] of Object.entries(rates))
      this.#put('AWS/SES', `Reputation.${name}`, rate, {}, this.#options.now());
  };

  /** Ends a minute: measures the queues and evaluates all alarms. Call it once per minute of the stack's clock. */
  endMinute(queues: Iterable<SampledQueue>): void {
    const { plan, now } = this.#options;
    const minuteEndMs = Math.floor(now() / MINUTE_MS) * MINUTE_MS;
    for (const queue of queues) this.#sample(queue, minuteEndMs - 1);
    const data = this.#publishedData(minuteEndMs);
    for (const alarm of plan.alarms) {
      const before = this.#states.get(alarm.name) ?? 'OK';
      const state = nextState(alarm, dataPoints(alarm, data, minuteEndMs), before);
      this.#states.set(alarm.name, state);
      if (state !== before) this.transitions.push({ alarm: alarm.name, state, atMs: minuteEndMs });
    }
  }

  /** Measures a queue, unless nothing has ever received its messages or keeps it active. */
  #sample(queue: SampledQueue, timestampMs: number): void {
    const { name: QueueName } = queue.settings;
    if (queue.pendingReceives > 0) this.#activeQueues.add(QueueName);
    if (!this.#activeQueues.has(QueueName)) return;
    this.#put('AWS/SQS', 'ApproximateNumberOfMessagesVisible', queue.counts.visible, { QueueName }, timestampMs);
    const ageSeconds = queue.ageOfOldestMessageSeconds();
    if (ageSeconds === undefined) return;
    this.#put('AWS/SQS', 'ApproximateAgeOfOldestMessage', ageSeconds, { QueueName }, timestampMs);
  }

  /** Returns the data that AWS services have published at `nowMs`. */
  #publishedData(nowMs: number): AlarmData {
    const { plan } = this.#options;
    const publishedEndMs = (endMs: number) => Math.min(endMs, nowMs - PUBLICATION_DELAY_MS);
    return {
      statistic: (metric, statistic, startMs, endMs) =>
        this.#store.statistic(metric, statistic, startMs, publishedEndMs(endMs)),
      insightRule: (ruleName, metric, startMs, endMs) =>
        plan.insightRules.find(({ name }) => name === ruleName)?.metric(metric, startMs, publishedEndMs(endMs)),
    };
  }

  #put(namespace: string, name: string, value: number, dimensions: Record<string, string>, timestampMs: number): void {
    this.#store.put({ metric: { namespace, name, dimensions }, value, timestampMs });
  }
}
