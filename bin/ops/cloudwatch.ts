import type { CloudWatchClient, MetricDataQuery } from '@aws-sdk/client-cloudwatch';
import { inBatches } from '../../shared/adapters/dynamodb/batches.ts';
import { notificationTypeIds } from '../../shared/contracts/notification-types.ts';
import type { MessageOutcome } from '../../shared/contracts/outcomes.ts';
import { METRICS_NAMESPACE } from '../../shared/domain/delivery-metrics.ts';
import { type OtherQueueName, otherQueueNames, type QueueName, queueNames } from './deployment.ts';
import type { OutcomeCount } from './recorded-deliveries.ts';
import type { Session } from './session.ts';

/** What is counted for each type (`shared/adapters/metrics.ts`): each is the name of a metric. */
const outcomes = Object.keys({
  delivered: true,
  retried: true,
  dead_lettered: true,
  superseded: true,
  cancelled: true,
  forwarded: true,
  duplicate: true,
  conflict: true,
  not_due: true,
  busy: true,
  unrecorded: true,
  throttled_keys: true,
  internal_error: true,
} satisfies Record<MessageOutcome, true>);

/** An alarm of the stack. */
export type Alarm = { name: string; state: string; since: string | null };

/** The client is loaded where it is needed: not for a local stack. */
const load = async ({ target }: Session) => {
  const { CloudWatchClient, ...sdk } = await import('@aws-sdk/client-cloudwatch');
  return { client: new CloudWatchClient(target.aws), sdk };
};

/** Names in one request, and alarms in one page of the response (CloudWatch). */
const MAX_ALARMS = 100;

/** The alarms of a deployed stack; undefined for a local one. */
export async function alarmsOf(session: Session): Promise<Alarm[] | undefined> {
  const { stackName } = session.target;
  if (stackName === undefined) return undefined;
  const [{ client, sdk }, names] = await Promise.all([load(session), alarmNamesOf(session, stackName)]);
  const described = async (AlarmNames: string[]) => {
    const pages = sdk.paginateDescribeAlarms({ client, pageSize: MAX_ALARMS }, { AlarmNames });
    return (await Array.fromAsync(pages)).flatMap(({ MetricAlarms = [] }) => MetricAlarms);
  };
  const alarms = await Promise.all(inBatches(names, MAX_ALARMS).map(described));
  return alarms.flat().map(({ AlarmName = '', StateValue = '', StateUpdatedTimestamp }) => ({
    name: AlarmName,
    state: StateValue,
    since: StateUpdatedTimestamp?.toISOString() ?? null,
  }));
}

/** The names of a stack's alarms, as CloudFormation lists them: by their beginning, another stack's would be among them. */
async function alarmNamesOf({ target }: Session, stackName: string): Promise<string[]> {
  const { CloudFormationClient, paginateListStackResources } = await import('@aws-sdk/client-cloudformation');
  const names: string[] = [];
  const pages = paginateListStackResources({ client: new CloudFormationClient(target.aws) }, { StackName: stackName });
  for await (const { StackResourceSummaries = [] } of pages) {
    for (const { ResourceType, PhysicalResourceId } of StackResourceSummaries) {
      if (ResourceType === 'AWS::CloudWatch::Alarm' && PhysicalResourceId) names.push(PhysicalResourceId);
    }
  }
  return names;
}

/** A metric that is asked for, and what it tells about. */
type Asked<About> = { about: About; namespace: string; name: string; dimensions: Record<string, string>; stat: string };

/** Seconds that one value of a metric stands for. */
const PERIOD = 300;

/** The values of metrics since a time (ms), newest first. */
async function read<About>(session: Session, asked: readonly Asked<About>[], since: number) {
  const { client, sdk } = await load(session);
  const queries = asked.map(({ namespace, name, dimensions, stat }, index): MetricDataQuery => {
    const Dimensions = Object.entries(dimensions).map(([Name, Value]) => ({ Name, Value }));
    return {
      Id: `m${index}`,
      MetricStat: { Metric: { Namespace: namespace, MetricName: name, Dimensions }, Period: PERIOD, Stat: stat },
    };
  });
  const values = await valuesById(client, sdk, queries, since);
  return asked.map(({ about }, index) => ({ about, values: values.get(`m${index}`) ?? [] }));
}

async function valuesById(
  client: CloudWatchClient,
  sdk: Pick<typeof import('@aws-sdk/client-cloudwatch'), 'paginateGetMetricData'>,
  queries: MetricDataQuery[],
  since: number,
): Promise<Map<string, number[]>> {
  const values = new Map<string, number[]>();
  const span = { StartTime: new Date(since), EndTime: new Date(), ScanBy: 'TimestampDescending' } as const;
  for await (const page of sdk.paginateGetMetricData({ client }, { MetricDataQueries: queries, ...span })) {
    for (const { Id = '', Values = [] } of page.MetricDataResults ?? []) {
      values.set(Id, [...(values.get(Id) ?? []), ...Values]);
    }
  }
  return values;
}

/** The age of the oldest message of each queue, in seconds; of a local stack there is none. */
export async function oldestAges(session: Session): Promise<Map<QueueName | OtherQueueName, number>> {
  const { stackName, outputs } = session.target;
  if (stackName === undefined) return new Map();
  const asked = [...queueNames, ...otherQueueNames].map((about) => ({
    about,
    namespace: 'AWS/SQS',
    name: 'ApproximateAgeOfOldestMessage',
    dimensions: { QueueName: outputs.QueueUrls[about].queue.split('/').at(-1) ?? '' },
    stat: 'Maximum',
  }));
  const found = await read(session, asked, Date.now() - 2 * PERIOD * 1000);
  return new Map(found.flatMap(({ about, values: [newest] }) => (newest === undefined ? [] : [[about, newest]])));
}

/** What became of messages of a deployed stack since a time (ms), as its senders have counted it. */
export async function deliveriesByMetric(
  session: Session,
  stackName: string,
  since: number,
): Promise<{ counts: OutcomeCount[]; isComplete: boolean }> {
  const asked = notificationTypeIds.flatMap((type) =>
    outcomes.map((outcome) => ({
      about: { type, outcome },
      namespace: METRICS_NAMESPACE,
      name: outcome,
      dimensions: { service: stackName, type },
      stat: 'Sum',
    })),
  );
  const counts = (await read(session, asked, since))
    .map(({ about, values }) => ({ ...about, deliveries: values.reduce((sum, value) => sum + value, 0) }))
    .filter(({ deliveries }) => deliveries > 0);
  return { counts, isComplete: true };
}
