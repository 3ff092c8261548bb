import type { MetricDataQuery } from '@aws-sdk/client-cloudwatch';
import * as z from 'zod';
import { notificationTypeIds } from '../../shared/contracts/notification-types.ts';
import { messageOutcomes } from '../../shared/contracts/outcomes.ts';
import {
  DELIVERY_LATENCY,
  type DeliveryTotal,
  deliveryTotals,
  FIRST_ATTEMPT_LATENCY,
  METRICS_NAMESPACE,
} from '../../shared/domain/delivery-metrics.ts';
import { inBatches } from '../../shared/domain/in-batches.ts';
import { DAY_SECONDS } from '../../shared/domain/time.ts';
import {
  DEFAULT_STACK,
  type OtherQueueName,
  otherQueueNames,
  type QueueName,
  queueNames,
  stackResources,
} from './deployment.ts';
import type { Session } from './session.ts';

export type OutcomeCount = { type: string; outcome: string; deliveries: number };

/** An alarm of a stack, in a CloudWatch state, since an ISO 8601 time. */
export type Alarm = { name: string; state: string; since: string | null };

/** Loads the client on demand: few commands need it. */
const loadCloudWatch = async ({ deployment }: Session) => {
  const { CloudWatchClient, ...sdk } = await import('@aws-sdk/client-cloudwatch');
  return { client: new CloudWatchClient(deployment.aws), sdk };
};

const ALARM = 'AWS::CloudWatch::Alarm';

/** The CloudWatch limit on names in a request and on alarms in a response. */
const MAX_ALARMS = 100;

/** Returns the alarms of a deployed stack, or undefined for a local stack. */
export const alarmsOf = async (session: Session): Promise<Alarm[] | undefined> => {
  const { stackName } = session.deployment;
  if (stackName === undefined) return undefined;
  const resources = await stackResources(session.deployment, stackName);
  const names = resources.flatMap(({ type, physicalId }) => (type === ALARM ? [physicalId] : []));
  const { client, sdk } = await loadCloudWatch(session);
  const describe = async (AlarmNames: string[]): Promise<Alarm[]> => {
    const pages = await Array.fromAsync(sdk.paginateDescribeAlarms({ client, pageSize: MAX_ALARMS }, { AlarmNames }));
    const alarms = pages.flatMap(({ MetricAlarms = [] }) => MetricAlarms);
    return alarms.map(({ AlarmName = '', StateValue = '', StateUpdatedTimestamp }) => ({
      name: AlarmName,
      state: StateValue,
      since: StateUpdatedTimestamp?.toISOString() ?? null,
    }));
  };
  return (await Promise.all(inBatches(names, MAX_ALARMS).map(describe))).flat();
};

const logLine = z.looseObject({
  message: z.string(),
  tenant_id: z.string().optional(),
  event_id: z.string().optional(),
  notification_ids: z.array(z.string()).optional(),
  warnings: z.string().optional(),
});

export type DispatchLine = z.infer<typeof logLine> & { timeMs: number };

/** These repeat what the records and dead letters of an event say. */
const REPEATED_LINES = ['event dispatched', 'invalid event'];

/** Returns what dispatch logged about the event or message with this ID. A local stack prints its logs instead. */
export const dispatchLines = async (
  { deployment }: Session,
  id: string,
  [startTime, endTime]: readonly [startMs: number, endMs: number],
): Promise<DispatchLine[]> => {
  if (deployment.stackName === undefined) return [];
  const resources = await stackResources(deployment, deployment.stackName);
  const group = resources.find(
    ({ type, logicalId }) => type === 'AWS::Logs::LogGroup' && logicalId.startsWith('Deliverydispatchalarmevents'),
  );
  if (!group) return [];
  const { CloudWatchLogsClient, paginateFilterLogEvents } = await import('@aws-sdk/client-cloudwatch-logs');
  const client = new CloudWatchLogsClient(deployment.aws);
  const filterPattern = `{ $.event_id = ${JSON.stringify(id)} || $.message_id = ${JSON.stringify(id)} }`;
  const request = { logGroupName: group.physicalId, filterPattern, startTime, endTime };
  const pages = await Array.fromAsync(paginateFilterLogEvents({ client }, request));
  return pages
    .flatMap(({ events = [] }) => events)
    .map(({ message = '', timestamp = startTime }) => ({ ...logLine.parse(JSON.parse(message)), timeMs: timestamp }))
    .filter(({ message }) => !REPEATED_LINES.includes(message));
};

/** A metric to read. Its values are returned with its `subject`. */
type MetricRequest<Subject> = {
  subject: Subject;
  namespace: string;
  name: string;
  dimensions: Record<string, string>;
  stat: string;
};

const PERIOD_SECONDS = 300;

/** The times that metrics are read for, ms since the epoch, and the length of their periods. */
type MetricRange = { startMs: number; endMs: number; periodSeconds: number };

/** The value of a metric in a period, which starts at `startMs` since the epoch. */
type MetricValue = { startMs: number; value: number };

/** Returns the values of metrics, newest first. */
const readMetrics = async <Subject>(
  session: Session,
  requests: readonly MetricRequest<Subject>[],
  { startMs, endMs, periodSeconds }: MetricRange,
): Promise<{ subject: Subject; values: MetricValue[] }[]> => {
  const { client, sdk } = await loadCloudWatch(session);
  const queries = requests.map(({ namespace, name, dimensions, stat }, index): MetricDataQuery => {
    const Dimensions = Object.entries(dimensions).map(([Name, Value]) => ({ Name, Value }));
    return {
      Id: `m${index}`,
      MetricStat: {
        Metric: { Namespace: namespace, MetricName: name, Dimensions },
        Period: periodSeconds,
        Stat: stat,
      },
    };
  });
  const values = new Map<string, MetricValue[]>();
  const range = { StartTime: new Date(startMs), EndTime: new Date(endMs), ScanBy: 'TimestampDescending' } as const;
  for await (const page of sdk.paginateGetMetricData({ client }, { MetricDataQueries: queries, ...range })) {
    for (const { Id = '', Values = [], Timestamps = [] } of page.MetricDataResults ?? []) {
      const found = Values.map((value, index) => ({ startMs: Timestamps[index]?.getTime() ?? startMs, value }));
      values.set(Id, [...(values.get(Id) ?? []), ...found]);
    }
  }
  return requests.map(({ subject }, index) => ({ subject, values: values.get(`m${index}`) ?? [] }));
};

/** The start of the first period, as CloudWatch rounds it. */
const since = (startMs: number): MetricRange => ({
  startMs: startMs - (startMs % (PERIOD_SECONDS * 1000)),
  endMs: Date.now(),
  periodSeconds: PERIOD_SECONDS,
});

/** Returns the age of the oldest message of each queue in seconds. A local stack has no metrics of SQS. */
export const oldestMessageAges = async (session: Session): Promise<Map<QueueName | OtherQueueName, number>> => {
  const { outputs } = session.deployment;
  const requests = [...queueNames, ...otherQueueNames].map((subject) => ({
    subject,
    namespace: 'AWS/SQS',
    name: 'ApproximateAgeOfOldestMessage',
    dimensions: { QueueName: outputs.QueueUrls[subject].queue.split('/').at(-1) ?? '' },
    stat: 'Maximum',
  }));
  const found = await readMetrics(session, requests, since(Date.now() - 2 * PERIOD_SECONDS * 1000));
  return new Map(found.flatMap(({ subject, values: [newest] }) => (newest ? [[subject, newest.value]] : [])));
};

/** Returns the value of the dimension `service`. */
const serviceOf = ({ deployment }: Session): string => deployment.stackName ?? DEFAULT_STACK;

/** Counts the message outcomes since a time, from the metrics of the senders. */
export const outcomesSince = async (session: Session, sinceMs: number): Promise<OutcomeCount[]> => {
  const requests = notificationTypeIds.flatMap((type) =>
    messageOutcomes.map((outcome) => ({
      subject: { type, outcome },
      namespace: METRICS_NAMESPACE,
      dimensions: { service: serviceOf(session), type },
      // Every delivered alert has a latency.
      ...(outcome === 'delivered' ? { name: DELIVERY_LATENCY, stat: 'SampleCount' } : { name: outcome, stat: 'Sum' }),
    })),
  );
  return (await readMetrics(session, requests, since(sinceMs)))
    .map(({ subject, values }) => ({ ...subject, deliveries: values.reduce((sum, { value }) => sum + value, 0) }))
    .filter(({ deliveries }) => deliveries > 0);
};

/** The bounds of the shares in a report, in seconds. */
export const reportedSeconds = [10, 60, 300] as const;

/** The statistics of a day that CloudWatch returns: the counts of deliveries, and statistics of their latency in ms. */
export type DailyStatistics = { [name in DeliveryTotal | LatencyStatistic | FirstAttemptStatistic]?: number };

/** A statistic of the latency: the number of values, percentiles, and percentages up to a bound in ms. */
export type LatencyStatistic = 'SampleCount' | 'p50' | 'p99' | `PR(:${number})`;

/** A percentile of the time to the first attempt, in ms. */
export type FirstAttemptStatistic = `first_attempt_${'p50' | 'p99'}`;

const latencyStatistics: readonly LatencyStatistic[] = [
  'SampleCount',
  'p50',
  'p99',
  ...reportedSeconds.map((seconds) => `PR(:${seconds * 1000})` as const),
];

/** Returns the statistics of each UTC day that has deliveries, between two times in ms since the epoch. */
export const dailyStatistics = async (
  session: Session,
  startMs: number,
  endMs: number,
): Promise<Map<number, DailyStatistics>> => {
  const metric = { namespace: METRICS_NAMESPACE, dimensions: { service: serviceOf(session) } };
  const requests: MetricRequest<keyof DailyStatistics>[] = [
    ...deliveryTotals.map((name) => ({ ...metric, subject: name, name, stat: 'Sum' })),
    ...latencyStatistics.map((stat) => ({ ...metric, subject: stat, name: DELIVERY_LATENCY, stat })),
    ...(['p50', 'p99'] as const).map(
      (stat) => ({ ...metric, subject: `first_attempt_${stat}`, name: FIRST_ATTEMPT_LATENCY, stat }) as const,
    ),
  ];
  const days = new Map<number, DailyStatistics>();
  for (const { subject, values } of await readMetrics(session, requests, {
    startMs,
    endMs,
    periodSeconds: DAY_SECONDS,
  })) {
    for (const { startMs: dayMs, value } of values) days.set(dayMs, { ...days.get(dayMs), [subject]: value });
  }
  return days;
};
