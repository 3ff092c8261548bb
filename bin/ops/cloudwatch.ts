import type { MetricAlarm, MetricDataQuery } from '@aws-sdk/client-cloudwatch';
import { notificationTypeIds } from '../../shared/contracts/notification-types.ts';
import { messageOutcomes } from '../../shared/contracts/outcomes.ts';
import { DELIVERY_LATENCY, METRICS_NAMESPACE } from '../../shared/domain/delivery-metrics.ts';
import { inBatches } from '../../shared/domain/in-batches.ts';
import { type OtherQueueName, otherQueueNames, type QueueName, queueNames } from './deployment.ts';
import type { OutcomeCount } from './recorded-deliveries.ts';
import type { Session } from './session.ts';
import { stackResources } from './stack-resources.ts';

/** An alarm of a stack, in a CloudWatch state, since an ISO 8601 time. */
export type Alarm = { name: string; state: string; since: string | null };

/** Loads the client on demand: a local stack has no CloudWatch. */
const loadCloudWatch = async ({ deployment }: Session) => {
  const { CloudWatchClient, ...sdk } = await import('@aws-sdk/client-cloudwatch');
  return { client: new CloudWatchClient(deployment.aws), sdk };
};

const ALARM = 'AWS::CloudWatch::Alarm';

/** The CloudWatch limit on names in a request and on alarms in a response. */
const MAX_ALARMS = 100;

/** Returns the alarms with these names that exist. */
export const describeAlarms = async (session: Session, names: readonly string[]): Promise<MetricAlarm[]> => {
  const { client, sdk } = await loadCloudWatch(session);
  const describe = async (AlarmNames: string[]) => {
    const pages = sdk.paginateDescribeAlarms({ client, pageSize: MAX_ALARMS }, { AlarmNames });
    return (await Array.fromAsync(pages)).flatMap(({ MetricAlarms = [] }) => MetricAlarms);
  };
  return (await Promise.all(inBatches(names, MAX_ALARMS).map(describe))).flat();
};

/** Returns the alarms of a deployed stack, or undefined for a local stack. */
export const alarmsOf = async (session: Session): Promise<Alarm[] | undefined> => {
  const { stackName } = session.deployment;
  if (stackName === undefined) return undefined;
  const resources = await stackResources(session.deployment, stackName);
  const names = resources.flatMap(({ type, physicalId }) => (type === ALARM ? [physicalId] : []));
  return (await describeAlarms(session, names)).map(({ AlarmName = '', StateValue = '', StateUpdatedTimestamp }) => ({
    name: AlarmName,
    state: StateValue,
    since: StateUpdatedTimestamp?.toISOString() ?? null,
  }));
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

/** Returns the values of metrics since a time, newest first. */
const readMetrics = async <Subject>(
  session: Session,
  requests: readonly MetricRequest<Subject>[],
  sinceMs: number,
): Promise<{ subject: Subject; values: number[] }[]> => {
  const { client, sdk } = await loadCloudWatch(session);
  const queries = requests.map(({ namespace, name, dimensions, stat }, index): MetricDataQuery => {
    const Dimensions = Object.entries(dimensions).map(([Name, Value]) => ({ Name, Value }));
    return {
      Id: `m${index}`,
      MetricStat: {
        Metric: { Namespace: namespace, MetricName: name, Dimensions },
        Period: PERIOD_SECONDS,
        Stat: stat,
      },
    };
  });
  const values = new Map<string, number[]>();
  const range = { StartTime: new Date(sinceMs), EndTime: new Date(), ScanBy: 'TimestampDescending' } as const;
  for await (const page of sdk.paginateGetMetricData({ client }, { MetricDataQueries: queries, ...range })) {
    for (const { Id = '', Values = [] } of page.MetricDataResults ?? [])
      values.set(Id, [...(values.get(Id) ?? []), ...Values]);
  }
  return requests.map(({ subject }, index) => ({ subject, values: values.get(`m${index}`) ?? [] }));
};

/** Returns the age of the oldest message of each queue in seconds; nothing for a local stack. */
export const oldestMessageAges = async (session: Session): Promise<Map<QueueName | OtherQueueName, number>> => {
  const { stackName, outputs } = session.deployment;
  if (stackName === undefined) return new Map();
  const requests = [...queueNames, ...otherQueueNames].map((subject) => ({
    subject,
    namespace: 'AWS/SQS',
    name: 'ApproximateAgeOfOldestMessage',
    dimensions: { QueueName: outputs.QueueUrls[subject].queue.split('/').at(-1) ?? '' },
    stat: 'Maximum',
  }));
  const found = await readMetrics(session, requests, Date.now() - 2 * PERIOD_SECONDS * 1000);
  return new Map(found.flatMap(({ subject, values: [newest] }) => (newest === undefined ? [] : [[subject, newest]])));
};

/** Counts the message outcomes of a deployed stack since a time, from the metrics of its senders. */
export const outcomesFromMetrics = async (
  session: Session,
  stackName: string,
  sinceMs: number,
): Promise<{ counts: OutcomeCount[]; isComplete: boolean }> => {
  const requests = notificationTypeIds.flatMap((type) =>
    messageOutcomes.map((outcome) => ({
      subject: { type, outcome },
      namespace: METRICS_NAMESPACE,
      dimensions: { service: stackName, type },
      // Every delivered alert has a latency.
      ...(outcome === 'delivered' ? { name: DELIVERY_LATENCY, stat: 'SampleCount' } : { name: outcome, stat: 'Sum' }),
    })),
  );
  const counts = (await readMetrics(session, requests, sinceMs))
    .map(({ subject, values }) => ({ ...subject, deliveries: values.reduce((sum, value) => sum + value, 0) }))
    .filter(({ deliveries }) => deliveries > 0);
  return { counts, isComplete: true };
};
