import { CloudWatchClient, ListDashboardsCommand, paginateDescribeInsightRules } from '@aws-sdk/client-cloudwatch';
import {
  DescribeContinuousBackupsCommand,
  DescribeTableCommand,
  DescribeTimeToLiveCommand,
} from '@aws-sdk/client-dynamodb';
import { paginateListSubscriptionsByTopic, SNSClient } from '@aws-sdk/client-sns';
import { tableSchemas } from '../../../shared/contracts/table-schemas.ts';
import { describeAlarms } from '../cloudwatch.ts';
import type { Session } from '../session.ts';
import { type TableName, tableNames, tableOf } from '../tenant/stored-items.ts';
import { type Check, type DeployedStack, findingOf, ofDeployed, skipped } from './check.ts';
import { eventSourcesOf } from './event-sources.ts';

const DEPLOY_AGAIN = 'deploy again';

/** Returns the alarms of the stack, and the topics that they notify. */
const alarmsAndTopics = async (session: Session, { resources }: DeployedStack) => {
  const names = (await resources('AWS::CloudWatch::Alarm')).map(({ physicalId }) => physicalId);
  const alarms = await describeAlarms(session, names);
  const topics = new Set(alarms.flatMap(({ AlarmActions = [] }) => AlarmActions));
  return { names, alarms, topics: [...topics] };
};

/** Returns the number of confirmed subscriptions of topics, and the topics that have none. */
const subscriptionsOf = async ({ deployment }: Session, topics: readonly string[]) => {
  const client = new SNSClient(deployment.aws);
  const counts = await Promise.all(
    topics.map(async (TopicArn) => {
      const pages = await Array.fromAsync(paginateListSubscriptionsByTopic({ client }, { TopicArn }));
      const subscriptions = pages.flatMap(({ Subscriptions = [] }) => Subscriptions);
      // Those that are not confirmed have a word instead of an ARN.
      return subscriptions.filter(({ SubscriptionArn = '' }) => SubscriptionArn.startsWith('arn:')).length;
    }),
  );
  return {
    confirmed: counts.reduce((sum, count) => sum + count, 0),
    withoutAny: topics.filter((_, index) => counts[index] === 0),
  };
};

const describeSubscriptions = async (session: Session, topics: readonly string[]) => {
  const { confirmed, withoutAny } = await subscriptionsOf(session, topics);
  const problems = withoutAny.map((arn) => `${arn} has no confirmed subscription`);
  return findingOf(confirmed, 'confirmed subscription', problems);
};

/** Returns what a table lacks, if anything. */
const tableProblem = async (session: Session, table: TableName): Promise<string[]> => {
  const { documents, deployment } = session;
  const TableName = tableOf(session, table);
  const [{ Table }, { ContinuousBackupsDescription: backups }, { TimeToLiveDescription: ttl }] = await Promise.all([
    documents.send(new DescribeTableCommand({ TableName })),
    documents.send(new DescribeContinuousBackupsCommand({ TableName })),
    documents.send(new DescribeTimeToLiveCommand({ TableName })),
  ]);
  const isExpiring = ttl?.TimeToLiveStatus === 'ENABLED' && ttl.AttributeName === tableSchemas[table].ttl;
  const conditions: [property: string, isMissing: boolean][] = [
    ['point-in-time recovery', backups?.PointInTimeRecoveryDescription?.PointInTimeRecoveryStatus !== 'ENABLED'],
    ['deletion protection', deployment.outputs.Settings.deletionProtection && !Table?.DeletionProtectionEnabled],
    ['time to live', !isExpiring],
  ];
  const lacking = conditions.flatMap(([property, isMissing]) => (isMissing ? [property] : []));
  return lacking.length === 0 ? [] : [`${table} without ${lacking.join(' and ')}`];
};

/** The checks of what the stack deployed. */
export const resourceChecks: readonly Check[] = [
  {
    name: 'operators-topic',
    proves: 'somebody receives what is sent to the operators',
    resolve: 'subscribe to it and confirm (docs/operations.md#7-alarms-reach-a-person)',
    run: ofDeployed(({ session }) => describeSubscriptions(session, [session.deployment.outputs.ManagedTopicArn])),
  },
  {
    name: 'alarms',
    proves: 'the alarms exist and notify a topic',
    resolve: DEPLOY_AGAIN,
    run: ofDeployed(async ({ session, stack }) => {
      const { names, alarms } = await alarmsAndTopics(session, stack);
      const missing = names.filter((name) => !alarms.some(({ AlarmName }) => AlarmName === name));
      const silent = alarms.filter(({ ActionsEnabled, AlarmActions = [] }) => !ActionsEnabled || !AlarmActions.length);
      const problems = [
        ...missing.map((name) => `${name} does not exist`),
        ...silent.map(({ AlarmName }) => `${AlarmName} notifies nobody`),
      ];
      return findingOf(names.length, 'alarm', problems);
    }),
  },
  {
    name: 'alarms-topic',
    proves: 'somebody receives the alarms',
    resolve:
      'set alarmTarget, and open the confirmation that SNS sent to it (docs/operations.md#7-alarms-reach-a-person)',
    run: ofDeployed(async ({ session, stack }) => {
      const { topics } = await alarmsAndTopics(session, stack);
      return topics.length === 0 ? skipped('no alarm notifies a topic') : describeSubscriptions(session, topics);
    }),
  },
  {
    name: 'dashboard',
    proves: 'the dashboard exists',
    resolve: DEPLOY_AGAIN,
    run: ofDeployed(async ({ session: { deployment }, stack }) => {
      const client = new CloudWatchClient(deployment.aws);
      const names = (await stack.resources('AWS::CloudWatch::Dashboard')).map(({ physicalId }) => physicalId);
      const missing = await Promise.all(
        names.map(async (name) => {
          const { DashboardEntries = [] } = await client.send(new ListDashboardsCommand({ DashboardNamePrefix: name }));
          return DashboardEntries.some(({ DashboardName }) => DashboardName === name) ? [] : [`${name} does not exist`];
        }),
      );
      return findingOf(names.length, 'dashboard', missing.flat());
    }),
  },
  {
    name: 'insight-rules',
    proves: 'the rules on logs that alarms read are enabled',
    resolve: DEPLOY_AGAIN,
    run: ofDeployed(async ({ session: { deployment }, stack }) => {
      const client = new CloudWatchClient(deployment.aws);
      const pages = await Array.fromAsync(paginateDescribeInsightRules({ client }, {}));
      const states = new Map(
        pages.flatMap(({ InsightRules = [] }) => InsightRules.map(({ Name, State }) => [Name, State])),
      );
      const rules = await stack.resources('AWS::CloudWatch::InsightRule');
      const problems = rules.flatMap(({ physicalId }) => {
        // The physical ID of a rule is its ARN or its name.
        const name = physicalId.split('/').at(-1) ?? '';
        const state = states.get(name) ?? 'does not exist';
        return state === 'ENABLED' ? [] : [`${name}: ${state}`];
      });
      return findingOf(rules.length, 'rule', problems);
    }),
  },
  {
    name: 'event-sources',
    proves: 'Lambda receives the messages of every queue',
    resolve: 'enable it: docs/runbook.md#messages-wait-too-long',
    run: ofDeployed(async ({ session, stack }) => {
      const sources = await eventSourcesOf(session, stack);
      const problems = sources.flatMap(({ logicalId, mapping }) =>
        mapping?.State === 'Enabled' ? [] : [`${logicalId}: ${mapping?.State ?? 'does not exist'}`],
      );
      return findingOf(sources.length, 'event source', problems);
    }),
  },
  {
    name: 'tables',
    proves: 'the tables can be restored, are protected from deletion, and expire items',
    resolve: 'enable it: docs/operations.md#restore-a-table',
    run: ofDeployed(async ({ session }) => {
      const problems = await Promise.all(tableNames.map((table) => tableProblem(session, table)));
      return findingOf(tableNames.length, 'table', problems.flat());
    }),
  },
];
