import { Annotations, Aws, CfnOutput, CfnRule, type Environment, Fn, Stack, Stage, Tags, Token } from 'aws-cdk-lib';
import { CfnEventSourceMapping } from 'aws-cdk-lib/aws-lambda';
import type { Topic } from 'aws-cdk-lib/aws-sns';
import { Queue } from 'aws-cdk-lib/aws-sqs';
import type { Construct } from 'constructs';
import packageJson from '../package.json' with { type: 'json' };
import type { VariableName } from '../shared/environment.ts';
import { Api } from './api.ts';
import { bundleFunctions } from './bundles.ts';
import { Delivery, type Sender, type SendingResources } from './delivery.ts';
import { DeliveryReports } from './delivery-reports.ts';
import { addEmailIdentity, createConfigurationSet, EmailEvents } from './email.ts';
import type { MonitoredResources } from './monitoring/alarms.ts';
import { Monitoring } from './monitoring.ts';
import { Network } from './network.ts';
import { addOperatorsPolicies } from './operators-policies.ts';
import { ServiceFunction } from './service-function.ts';
import {
  changedSettings,
  PLACEHOLDER_SENDER,
  type Settings,
  tenantLimitsJson,
  withoutCredentials,
} from './settings.ts';
import { NOT_IN_CHINA } from './stages.ts';
import { createStorage, type Storage } from './storage.ts';
import { createManagedTopic, createTopicKey } from './topics.ts';
import { deadLetterQueue, type WorkQueueWithDeadLetters } from './work-queue.ts';

/** The service in one stack. It uses no fixed physical names, so an account can have several of these stacks. */
export class NotificationsStack extends Stack {
  /**
   * @param env the account and region; if empty, those of the credentials at deployment
   * @param commit the commit of the sources
   */
  constructor(scope: Construct, id: string, settings: Settings, env: Environment, commit: string) {
    super(scope, id, {
      env,
      // Its indentation would be a third of the template, whose size has a limit.
      suppressTemplateIndentation: true,
      terminationProtection: !settings.developmentStage,
      description: 'Monitoring Notifications: delivers alarm events to the destinations that tenants configure',
    });
    const bundleOf = bundleFunctions(Stage.of(this)?.outdir ?? 'cdk.out');
    const defaults = { settings, bundleOf };
    const storage = createStorage(this, settings);
    const configurationSet = createConfigurationSet(this);
    const managedTopic = createManagedTopic(this);
    if (settings.emailIdentity) addEmailIdentity(this, settings);
    const network = settings.egress === 'static' ? new Network(this, 'Network', settings) : undefined;
    // SQS moves a message here from any work queue after too many receives, because its function crashed or timed out
    // (docs/decisions/deliveries.md#crashed-queue). A redrive returns each message to its source queue.
    const crashedQueue = new Queue(this, 'CrashedQueue', deadLetterQueue);
    const sendingResources = { configurationSet, managedTopic, network };
    const delivery = new Delivery(this, 'Delivery', defaults, storage, sendingResources, crashedQueue);
    const api = new Api(this, 'Api', defaults, storage, delivery);
    // A key costs $1 a month: more than the rest of a development stage without queues.
    const topicKey = settings.developmentStage ? undefined : createTopicKey(this);
    const emailEvents = new EmailEvents(this, 'EmailEvents', defaults, storage, delivery, configurationSet, topicKey);
    const reports = new DeliveryReports(this, 'Reports', defaults, storage, delivery);
    const resources = { api, delivery, emailEvents, reports };
    // After all resources, because they refer to each other: the API tests with the senders, which need its URL.
    const variables = variablesOf(this, settings, storage, sendingResources, resources);
    for (const construct of this.node.findAll()) {
      if (construct instanceof ServiceFunction) construct.setVariables(variables);
    }

    const outputs = outputsOf(this, settings, storage, managedTopic, resources);
    const { read, change } = addOperatorsPolicies(this, storage, managedTopic, resources);
    outputs.OperatorsReadPolicyArn = [read.managedPolicyArn, 'IAM policy for commands of operators that read'];
    outputs.OperatorsChangePolicyArn = [change.managedPolicyArn, 'IAM policy for commands that change, in addition'];
    outputs.Version = [packageJson.version, 'Version of the service'];
    outputs.Commit = [commit, 'Commit of the deployed sources'];
    if (topicKey) {
      const { topicArn, dashboardName } = new Monitoring(this, 'Monitoring', settings, resources, topicKey);
      outputs.AlarmsTopicArn = [topicArn, 'SNS topic for the CloudWatch alarms of the stack'];
      outputs.Dashboard = [dashboardName, 'Name of the CloudWatch dashboard'];
    }
    for (const [name, [value, description]] of Object.entries(outputs)) {
      new CfnOutput(this, name, { value, description });
    }
    if (Token.isUnresolved(this.region)) addRegionRule(this);
    for (const [name, value] of Object.entries(settings.tags)) Tags.of(this).add(name, value);
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

/**
 * Returns the environment variables that have one value for all functions that have them (`environments`). The others are
 * `DEAD_LETTER_QUEUE` and `RETRY_QUEUE`.
 */
const variablesOf = (
  stack: Stack,
  settings: Settings,
  { notifications, accounts, tokens, deliveries, audits }: Storage,
  { configurationSet, managedTopic }: SendingResources,
  { api, emailEvents, reports, delivery }: MonitoredResources & { delivery: Delivery },
): Record<Exclude<VariableName, 'DEAD_LETTER_QUEUE' | 'RETRY_QUEUE'>, string | undefined> => {
  const bySender = (read: (sender: Sender) => string) =>
    stack.toJsonString(Object.fromEntries(delivery.senders.map((sender) => [sender.type, read(sender)])));
  return {
    NOTIFICATIONS_TABLE: notifications.table.tableName,
    ACCOUNTS_TABLE: accounts.table.tableName,
    TOKENS_TABLE: tokens.table.tableName,
    DELIVERIES_TABLE: deliveries.table.tableName,
    AUDITS_TABLE: audits.table.tableName,
    ALARM_EVENTS_QUEUE: delivery.alarmEvents.queue.queueUrl,
    EMAIL_EVENTS_QUEUE: emailEvents.queue.queue.queueUrl,
    REPORTS_QUEUE: delivery.reports.queue.queueUrl,
    SENDER_QUEUES: bySender(({ queue }) => queue.queue.queueUrl),
    SENDER_FUNCTIONS: bySender(({ lambda }) => lambda.functionName),
    MANAGED_TOPIC: managedTopic.topicArn,
    OUTCOMES_TOPIC: reports.topic?.topicArn,
    CONFIGURATION_SET: configurationSet.configurationSetName,
    API_URL: api.baseUrl,
    HEARTBEAT_ROLE_ID: delivery.heartbeatRoleId,
    HEARTBEAT_URL: settings.heartbeatUrl,
    PAGER_ENDPOINT: settings.pagerEndpoint,
    ROUTER_ENDPOINT: settings.routerEndpoint,
    FEED_ENDPOINT: settings.feedEndpoint,
    ALARM_URL: settings.alarmUrl,
    LINK_SCHEME: settings.linkScheme,
    EMAIL_FROM: settings.emailFrom,
    EMAIL_REPLY_TO: settings.emailReplyTo,
    SMS_COUNTRIES: settings.smsCountries.join(','),
    SMS_SENDER_ID: settings.smsSenderId,
    SMS_ORIGINATION_NUMBER: settings.smsOriginationNumber,
    SMS_MAX_PRICE_USD: settings.smsMaxPriceUsd?.toString(),
    EGRESS_ALLOW: settings.egressAllow.join(','),
    TENANT_LIMITS: tenantLimitsJson(settings),
    TOKEN_CACHE_SECONDS: String(settings.tokenCacheSeconds),
    AUDIT_RETENTION_DAYS: String(settings.auditRetentionDays),
    RETRY_DELAY_SCALE: String(settings.retryDelayScale),
    COUNT_EVENTS: String(settings.expectedEventIntervalMinutes !== undefined),
    DELIVERY_OUTCOMES: String(settings.deliveryOutcomes),
    ESCALATE_UNREACHED: settings.escalateUnreached,
    DEAD_LETTER_EMAIL: String(settings.deadLetterEmail),
    FAILING_NOTICES: String(settings.failingNotices),
  };
};

/** What operators and their command line need. */
const outputsOf = (
  stack: Stack,
  settings: Settings,
  storage: Storage,
  managedTopic: Topic,
  { api, delivery, emailEvents, reports }: MonitoredResources,
): Record<string, [value: string, description: string]> => {
  const { emailFrom, smsPerTenantPerDay, smsMonthlyBudgetUsd, lambdaConcurrencyQuota } = settings;
  const { notifications, accounts, tokens, deliveries, audits } = storage;
  const { alarmEvents, senders, crashedQueue } = delivery;
  const { queueUrl, queueArn } = alarmEvents.queue;
  const urls = ({ queue, deadLetterQueue }: WorkQueueWithDeadLetters) => ({
    queue: queue.queueUrl,
    deadLetters: deadLetterQueue.queueUrl,
  });
  const queueUrls = {
    'alarm-events': urls(alarmEvents),
    ...Object.fromEntries(
      senders.map(({ type, queue }) => [type, { ...urls(queue), retries: queue.retries.queueUrl }]),
    ),
    'email-events': { queue: emailEvents.queue.queue.queueUrl },
    'delivery-reports': { queue: reports.queue.queue.queueUrl },
    crashed: { queue: crashedQueue.queueUrl },
  };
  return {
    BaseUrl: [api.baseUrl, 'Base URL of the API'],
    AlarmEventsQueueUrl: [queueUrl, 'URL of the queue for alarm events'],
    AlarmEventsQueueArn: [queueArn, 'ARN of the queue for alarm events, for IAM policies of producers'],
    ManagedTopicArn: [managedTopic.topicArn, 'SNS topic for notifications of type managed. Subscribe operators to it.'],
    ...(reports.topic && {
      DeliveryOutcomesTopicArn: [
        reports.topic.topicArn,
        'SNS topic of delivery outcomes. Subscribe your pipeline to it.',
      ],
    }),
    TokensTable: [tokens.table.tableName, 'DynamoDB table of API tokens, stored as hashes'],
    DeliveriesTable: [deliveries.table.tableName, 'DynamoDB table of delivery records, kept for 30 days'],
    AccountsTable: [accounts.table.tableName, 'DynamoDB table of accounts: technical contacts and webhook credentials'],
    TenantLimits: [tenantLimitsJson(settings), 'Limits of each tenant that has no overrides, as JSON'],
    NotificationsTable: [notifications.table.tableName, 'DynamoDB table of notifications'],
    AuditsTable: [audits.table.tableName, 'DynamoDB table of audit entries'],
    AuditRetentionDays: [String(settings.auditRetentionDays), 'How many days audit entries are kept'],
    QueueUrls: [
      stack.toJsonString(queueUrls),
      'URLs of all queues as JSON: work queues, retry queues, dead-letter queues and the crashed queue',
    ],
    // What the operators' command line needs. None is secret.
    Settings: [
      JSON.stringify({
        emailFrom,
        smsPerTenantPerDay,
        smsMonthlyBudgetUsd,
        lambdaConcurrencyQuota,
        pagerEndpoint: withoutCredentials(settings.pagerEndpoint),
        routerEndpoint: withoutCredentials(settings.routerEndpoint),
        feedEndpoint: withoutCredentials(settings.feedEndpoint ?? ''),
        changed: changedSettings(settings),
      }),
      'Settings that the command line needs, and all that differ from their defaults, as JSON',
    ],
  };
};

/** The memory that a function can have in a new AWS account, in MB. */
const NEW_ACCOUNT_MEMORY_MB = 3_008;

/** Adds warnings about settings. Call it after all event sources have been added. */
const addWarnings = (stack: Stack, settings: Settings): void => {
  const { lambdaConcurrencyQuota, memoryMb = 0, memoryMbByType, smsCountries, smsPerTenantPerDay } = settings;
  const maxConcurrency = maxConcurrencyOf(stack);
  const memory = { memoryMb, memoryMbByType: Math.max(0, ...Object.values(memoryMbByType)) };
  const warnings: [id: string, applies: boolean, message: string][] = [
    [
      'feedEndpoint',
      settings.feedEndpoint === undefined,
      'Notifications of type atomfeed are not delivered until the setting feedEndpoint is the URL of an AtomPub collection.',
    ],
    [
      'emailFrom',
      settings.emailFrom === PLACEHOLDER_SENDER,
      `Emails are not delivered until the setting emailFrom is an address that SES has verified. It is ${PLACEHOLDER_SENDER}.`,
    ],
    ...Object.entries(settings.existingTables).map(([table, name]): (typeof warnings)[number] => [
      `existingTables:${table}`,
      true,
      `The stack does not manage its ${table} table, ${name}: no deployment protects or deletes it. Import it and remove the setting existingTables (docs/operations.md#restore-a-table).`,
    ]),
    [
      'alarmTarget',
      settings.alarmTarget === undefined && !settings.developmentStage,
      'Nobody receives the alarms: set alarmTarget to an email address or a topic, or developmentStage to true (docs/operations.md#7-alarms-reach-a-person).',
    ],
    [
      'smsCountries',
      smsCountries.length === 0 && smsPerTenantPerDay > 0,
      'SMS go to every country, at its price: set smsCountries to the countries of your recipients, or smsPerTenantPerDay to 0 if no tenant uses SMS (docs/operations.md#3-sms-origination-and-spending-limit).',
    ],
    [
      'lambdaConcurrencyQuota',
      maxConcurrency >= lambdaConcurrencyQuota,
      `The event sources can use ${maxConcurrency} concurrent executions, and lambdaConcurrencyQuota is ${lambdaConcurrencyQuota}: under load Lambda throttles the senders, dispatch and the API. Request a higher quota and set lambdaConcurrencyQuota to it (docs/operations.md#1-lambda-quotas), or lower senderConcurrency, senderConcurrencyByType or dispatchConcurrency.`,
    ],
    ...Object.entries(memory).map(([name, largest]): (typeof warnings)[number] => [
      name,
      largest > NEW_ACCOUNT_MEMORY_MB,
      `${name} is above 3,008 MB, the limit of new AWS accounts: there, the deployment fails and rolls back until AWS has raised the limit (docs/operations.md#1-lambda-quotas).`,
    ]),
  ];
  for (const [id, applies, message] of warnings) {
    if (applies) Annotations.of(stack).addWarningV2(`notifications:${id}`, message);
  }
};

/** Returns how many executions the event sources can use at the same time. One without a maximum counts as 0. */
const maxConcurrencyOf = (stack: Stack): number =>
  stack.node.findAll().reduce((total, construct) => {
    const scaling = construct instanceof CfnEventSourceMapping ? construct.scalingConfig : undefined;
    return total + (scaling && 'maximumConcurrency' in scaling ? (scaling.maximumConcurrency ?? 0) : 0);
  }, 0);
