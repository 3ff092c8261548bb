import { embeddedMeasurements } from 'local-aws/cloudwatch/embedded-metrics.ts';
import { MetricStore, MINUTE_MS } from 'local-aws/cloudwatch/metric-store.ts';
import type { RequestReport } from 'local-aws/gateway/gateway.ts';
import type { InvocationReport } from 'local-aws/lambda/lambda.ts';
import { parseLogLine } from 'local-aws/lambda/log-line.ts';
import type { MonitoringPlan } from './alarm-definition.ts';
import { type AlarmData, type AlarmState, dataPoints, nextState } from './alarm-evaluation.ts';
import { peakConcurrency, type RunningTime } from './concurrency.ts';
import { QueueSampler, type SampledQueue } from './queue-sampler.ts';

/** A state change of an alarm. */
export type AlarmTransition = {
  alarm: string;
  state: AlarmState;
  /** Milliseconds since the epoch. */
  atMs: number;
};

/** Options of CloudWatch. */
export type CloudWatchOptions = {
  plan: MonitoringPlan;
  /** Returns the time of the stack's clock, in ms since the epoch. */
  now: () => number;
};

/** The delay until a value is published: AWS services publish once a minute. */
const PUBLICATION_DELAY_MS = MINUTE_MS;

/**
 * Collects the metrics that functions log and that AWS services report, and evaluates the alarms of a template once a
 * minute.
 */
export class CloudWatch {
  /** All state changes, oldest first. */
  readonly transitions: AlarmTransition[] = [];
  readonly #options: CloudWatchOptions;
  readonly #store = new MetricStore();
  readonly #sampler: QueueSampler;
  readonly #states: Map<string, AlarmState>;
  /** The invocations of the current minute, by function. */
  readonly #runs = new Map<string, RunningTime[]>();

  constructor({ plan, now }: CloudWatchOptions) {
    this.#options = { plan, now };
    this.#sampler = new QueueSampler(plan.queuesKeptActive);
    this.#states = new Map(plan.alarms.map(({ name }) => [name, 'INSUFFICIENT_DATA']));
  }

  /** Returns the state of an alarm. Throws if there is no alarm with this name. */
  state(alarm: string): AlarmState {
    const state = this.#states.get(alarm);
    if (state === undefined) throw new Error(`There is no alarm ${alarm}.`);
    return state;
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
    for (const [group, owner] of plan.functionOfLogGroup) {
      if (owner !== functionName) continue;
      for (const rule of plan.insightRules) rule.add(group, line, now());
      const filters = plan.metricFilters.filter(({ logGroupName }) => logGroupName === group);
      for (const measurement of filters.flatMap((filter) => filter.measurements(line, now()))) {
        this.#store.put(measurement);
      }
    }
  };

  /** Records an invocation. A throttled invocation counts neither as an invocation nor as an error. */
  readonly invocation = ({ functionName, endedAtMs, result, durationMs }: InvocationReport): void => {
    const values: Record<string, number> =
      result === 'throttle'
        ? { Throttles: 1 }
        : { Invocations: 1, Errors: result === 'error' ? 1 : 0, Throttles: 0, Duration: durationMs };
    this.#put('AWS/Lambda', values, { FunctionName: functionName }, endedAtMs);
    // Without dimensions, the metrics cover all functions of the account.
    this.#put('AWS/Lambda', values, {}, endedAtMs);
    if (result === 'throttle') return;
    const run = { startMs: endedAtMs - durationMs, endMs: endedAtMs };
    const runs = this.#runs.get(functionName) ?? [];
    this.#runs.set(functionName, runs);
    runs.push(run);
  };

  /** Records a request to the HTTP API. */
  readonly request = ({ status, latencyMs }: RequestReport): void => {
    const values = {
      Count: 1,
      '4xx': status >= 400 && status < 500 ? 1 : 0,
      '5xx': status >= 500 ? 1 : 0,
      Latency: latencyMs,
    };
    const { plan, now } = this.#options;
    for (const ApiId of plan.apiIds) this.#put('AWS/ApiGateway', values, { ApiId }, now());
  };

  /** Ends a minute: measures the queues and evaluates all alarms. Call it once per minute of the stack's clock. */
  endMinute(queues: Iterable<SampledQueue>): void {
    const { plan, now } = this.#options;
    const nowMs = now();
    const minuteEndMs = Math.floor(nowMs / MINUTE_MS) * MINUTE_MS;
    for (const queue of queues) {
      for (const measurement of this.#sampler.sample(queue, minuteEndMs - 1)) this.#store.put(measurement);
    }
    this.#measureConcurrency(minuteEndMs - 1);
    const data = this.#publishedData(minuteEndMs);
    for (const alarm of plan.alarms) {
      const before = this.state(alarm.name);
      const state = nextState(alarm, dataPoints(alarm, data, minuteEndMs), before);
      this.#states.set(alarm.name, state);
      if (state !== before) this.transitions.push({ alarm: alarm.name, state, atMs: minuteEndMs });
    }
  }

  #measureConcurrency(timestampMs: number): void {
    for (const [FunctionName, runs] of this.#runs) {
      this.#put('AWS/Lambda', { ConcurrentExecutions: peakConcurrency(runs) }, { FunctionName }, timestampMs);
    }
    const accountConcurrency = peakConcurrency([...this.#runs.values()].flat());
    this.#put('AWS/Lambda', { ClaimedAccountConcurrency: accountConcurrency }, {}, timestampMs);
    this.#runs.clear();
  }

  /** Returns the data that AWS services have published at `nowMs`. */
  #publishedData(nowMs: number): AlarmData {
    const { plan } = this.#options;
    const publishedEndMs = (endMs: number) => Math.min(endMs, nowMs - PUBLICATION_DELAY_MS);
    return {
      statistic: (metric, statistic, startMs, endMs) =>
        this.#store.statistic(metric, statistic, startMs, publishedEndMs(endMs)),
      insightRule: (ruleName, metric, startMs, endMs) => {
        const rule = plan.insightRules.find(({ name }) => name === ruleName);
        if (!rule) throw new Error(`There is no insight rule ${ruleName}.`);
        return rule.metric(metric, startMs, publishedEndMs(endMs));
      },
    };
  }

  #put(namespace: string, values: Record<string, number>, dimensions: Record<string, string>, timestampMs: number) {
    for (const [name, value] of Object.entries(values)) {
      this.#store.put({ metric: { namespace, name, dimensions }, value, timestampMs });
    }
  }
}
