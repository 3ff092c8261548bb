import { Aws, CfnOutput, CfnRule, type Environment, Fn, Lazy, Stack, Stage, Token } from 'aws-cdk-lib';
import type { Construct } from 'constructs';
import { Api } from './api.ts';
import { bundleFunctions } from './bundles.ts';
import { CrashedQueue } from './crashed-queue.ts';
import { Delivery } from './delivery.ts';
import { Email } from './email.ts';
import { EmailEvents } from './email-events.ts';
import { EmailIdentity } from './email-identity.ts';
import { ManagedTopic } from './managed-topic.ts';
import type { MonitoredResources } from './monitoring/monitored-resources.ts';
import { Monitoring } from './monitoring.ts';
import { Network } from './network.ts';
import type { Settings } from './settings.ts';
import { NOT_IN_CHINA } from './stages.ts';
import { Storage } from './storage.ts';
import { tenantLimitsJson } from './tenant-limits.ts';
import { addWarnings } from './warnings.ts';
import type { WorkQueueWithDeadLetters } from './work-queue.ts';

/** The service in one stack. It uses no fixed physical names, so an account can have several of these stacks. */
export class NotificationsStack extends Stack {
  /** @param env the account and region; if empty, those of the credentials at deployment */
  constructor(scope: Construct, id: string, settings: Settings, env: Environment = {}) {
    super(scope, id, {
      env,
      description: 'Monitoring Notifications: delivers alarm events to the destinations that tenants configure',
    });
    const bundleOf = bundleFunctions(Stage.of(this)?.outdir ?? 'cdk.out');
    const defaults = { settings, bundleOf };
    const storage = new Storage(this, 'Storage', settings);
    const email = new Email(this, 'Email', settings);
    const managedTopic = new ManagedTopic(this, 'ManagedTopic');
    if (settings.emailIdentity) new EmailIdentity(this, 'EmailIdentity', settings);
    const network = settings.egress === 'static' ? new Network(this, 'Network', settings) : undefined;
    const crashedQueue = new CrashedQueue(this, 'CrashedQueue');
    // The API needs the senders, which run tests, and the senders need its URL.
    const apiUrl = Lazy.string({ produce: () => api.baseUrl });
    const sendingResources = { email, managedTopic, network, apiUrl };
    const delivery = new Delivery(this, 'Delivery', defaults, storage, sendingResources, crashedQueue);
    const api: Api = new Api(this, 'Api', defaults, storage, delivery);
    const emailEvents = new EmailEvents(this, 'EmailEvents', defaults, email, delivery, crashedQueue);
    const resources = { api, delivery, emailEvents };

    addOutputs(this, settings, storage, managedTopic, resources);
    addSettingsOutput(this, settings);
    if (!settings.developmentStage) addMonitoring(this, settings, resources);
    if (Token.isUnresolved(this.region)) addRegionRule(this);
    addWarnings(this, settings);
  }

  /**
   * Two zones that CloudFormation selects at deployment. For a stack with an account and a region, the CDK would look
   * up the zones at synthesis, which needs credentials.
   */
  override get availabilityZones(): string[] {
    return [0, 1].map((index) => Fn.select(index, Fn.getAzs()));
  }
}

/** Lets CloudFormation reject, before it creates anything, the regions that `targetSchema` rejects at synthesis. */
const addRegionRule = (stack: Stack): void => {
  const isInChina = Fn.conditionContains(['cn-north-1', 'cn-northwest-1'], Aws.REGION);
  new CfnRule(stack, 'SupportedRegion', {
    assertions: [{ assert: Fn.conditionNot(isInChina), assertDescription: `The region ${NOT_IN_CHINA}.` }],
  });
};

const outputOf =
  (stack: Stack) =>
  (name: string, value: string, description: string): CfnOutput =>
    new CfnOutput(stack, name, { value, description });

/** Adds the alarms, the dashboard and their outputs. */
const addMonitoring = (stack: Stack, settings: Settings, resources: MonitoredResources): void => {
  const monitoring = new Monitoring(stack, 'Monitoring', settings, resources);
  const output = outputOf(stack);
  output('AlarmsTopicArn', monitoring.topicArn, 'SNS topic for the CloudWatch alarms of the stack');
  output('Dashboard', monitoring.dashboardName, 'Name of the CloudWatch dashboard');
};

/** Adds the settings that `ops verify` and `ops tenant delete` need. None is secret. */
const addSettingsOutput = (stack: Stack, settings: Settings): void => {
  const { emailFrom, smsPerTenantPerDay, smsMonthlyBudgetUsd, lambdaConcurrencyQuota } = settings;
  const { deletionProtection, logRetentionDays } = settings;
  const limits = { smsPerTenantPerDay, smsMonthlyBudgetUsd, lambdaConcurrencyQuota };
  outputOf(stack)(
    'Settings',
    JSON.stringify({ emailFrom, ...limits, deletionProtection, logRetentionDays }),
    'Settings that the account must permit, and of retention, as JSON',
  );
};

/** Adds the outputs that operators and the operations CLI need. */
const addOutputs = (
  stack: Stack,
  settings: Settings,
  storage: Storage,
  managedTopic: ManagedTopic,
  { api, delivery, emailEvents }: MonitoredResources,
): void => {
  const output = outputOf(stack);
  output('BaseUrl', api.baseUrl, 'Base URL of the API');
  output('AlarmEventsQueueUrl', delivery.alarmEvents.queue.queueUrl, 'URL of the queue for alarm events');
  output(
    'AlarmEventsQueueArn',
    delivery.alarmEvents.queue.queueArn,
    'ARN of the queue for alarm events, for IAM policies of producers',
  );
  output(
    'ManagedTopicArn',
    managedTopic.topic.topicArn,
    'SNS topic for notifications of type managed. Subscribe operators to it.',
  );
  output('TokensTable', storage.tokens.table.tableName, 'DynamoDB table of API tokens, stored as hashes');
  output('DeliveriesTable', storage.deliveries.table.tableName, 'DynamoDB table of delivery records, kept for 30 days');
  output(
    'AccountsTable',
    storage.accounts.table.tableName,
    'DynamoDB table of accounts: technical contacts and webhook credentials',
  );
  output('TenantLimits', tenantLimitsJson(settings), 'Limits of each tenant that has no overrides, as JSON');
  output('NotificationsTable', storage.notifications.table.tableName, 'DynamoDB table of notifications');
  output('AuditsTable', storage.audits.table.tableName, 'DynamoDB table of audit entries');
  output('AuditRetentionDays', String(settings.auditRetentionDays), 'How many days audit entries are kept');
  output(
    'QueueUrls',
    stack.toJsonString(queueUrls(delivery, emailEvents)),
    'URLs of all queues as JSON: work queues, retry queues, dead-letter queues and the crashed queue',
  );
};

/** Returns the URLs of all queues: by notification type, and under `alarm-events`, `email-events` and `crashed`. */
const queueUrls = (
  { alarmEvents, senders, crashedQueue }: MonitoredResources['delivery'],
  emailEvents: EmailEvents,
): Record<string, Record<string, string>> => {
  const urls = ({ queue, deadLetterQueue }: WorkQueueWithDeadLetters) => ({
    queue: queue.queueUrl,
    deadLetters: deadLetterQueue.queueUrl,
  });
  return {
    'alarm-events': urls(alarmEvents),
    ...Object.fromEntries(
      senders.map(({ type, queue }) => [type, { ...urls(queue), retries: queue.retries.queueUrl }]),
    ),
    'email-events': { queue: emailEvents.queue.queue.queueUrl },
    crashed: { queue: crashedQueue.queueUrl },
  };
};
