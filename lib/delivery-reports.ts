import { Duration } from 'aws-cdk-lib';
import { AccountPrincipal, AccountRootPrincipal, PolicyStatement } from 'aws-cdk-lib/aws-iam';
import { Alias } from 'aws-cdk-lib/aws-kms';
import {
  EventSourceMapping,
  FilterCriteria,
  type Function as LambdaFunction,
  StartingPosition,
} from 'aws-cdk-lib/aws-lambda';
import { Topic } from 'aws-cdk-lib/aws-sns';
import { Queue } from 'aws-cdk-lib/aws-sqs';
import { Construct } from 'constructs';
import { allow, flag, ResourceAccess } from './resource-access.ts';
import { type FunctionDefaults, ServiceFunction } from './service-function.ts';
import type { Settings } from './settings.ts';
import type { Storage } from './storage.ts';
import { streamFilters } from './stream-filters.ts';
import { deadLetterQueue, WorkQueue } from './work-queue.ts';

/** Records per invocation, up to ten of a shard concurrently: only those of one item are passed in order. */
const BATCH_SIZE = 100;
const PARALLELIZATION_FACTOR = 10;

/** A batch of ten costs a tenth (docs/operations.md#idle-cost). */
const BATCHING_WINDOW_SECONDS = 1;

/** The stream keeps records for 24 hours, so operators have 12 to repeat those that were given up. */
const MAX_RECORD_AGE = Duration.hours(12);

/** The concurrent batches of reports. */
const REPORT_CONCURRENCY = 10;

/**
 * Creates the topic of delivery outcomes (docs/producers.md#delivery-outcomes), which the account of the stack and those of
 * producers may subscribe to.
 */
const createOutcomesTopic = (scope: Construct, { producerAccounts }: Settings): Topic => {
  const topic = new Topic(scope, 'Outcomes', {
    masterKey: Alias.fromAliasName(scope, 'OutcomesKey', 'alias/aws/sns'),
    enforceSSL: true,
  });
  topic.addToResourcePolicy(
    new PolicyStatement({
      sid: 'Subscribers',
      actions: ['sns:Subscribe'],
      principals: [new AccountRootPrincipal(), ...producerAccounts.map((account) => new AccountPrincipal(account))],
      resources: [topic.topicArn],
    }),
  );
  return topic;
};

/** The queue of delivery reports, to which the watcher, dispatch and others send. */
export class ReportsQueue extends WorkQueue {
  /** Grants permission to send reports. */
  sendAccess(): ResourceAccess<{ REPORTS_QUEUE: string }> {
    const { queueUrl, queueArn } = this.queue;
    return new ResourceAccess({ REPORTS_QUEUE: queueUrl }, allow(['sqs:SendMessage'], [queueArn]));
  }
}

/** What the watcher and the reporter use. */
export type ReportResources = {
  storage: Storage;
  queue: ReportsQueue;
  /** Sends notices. */
  sendAccess: ResourceAccess<{ SENDER_QUEUES: string }>;
  apiUrl: string;
};

/**
 * Watches the stream of the Deliveries table, and reports what failed: to technical contacts and operators, and, with the
 * setting `deliveryOutcomes`, what became of each alert to a topic (docs/decisions/notices.md). Records of the stream that
 * cannot be sent to the queue of reports for twelve hours are given up: a queue gets their place in the stream.
 */
export class DeliveryReports extends Construct {
  readonly watcher: LambdaFunction;
  readonly reporter: LambdaFunction;
  readonly queue: ReportsQueue;
  /** The topic of delivery outcomes; undefined without the setting. */
  readonly topic: Topic | undefined;
  /** Where in the stream the records are that were given up, without their content. */
  readonly failedQueue: Queue;

  constructor(scope: Construct, id: string, defaults: FunctionDefaults, resources: ReportResources) {
    super(scope, id);
    const { settings } = defaults;
    this.queue = resources.queue;
    this.topic = settings.deliveryOutcomes ? createOutcomesTopic(this, settings) : undefined;
    this.failedQueue = new Queue(this, 'Failed', deadLetterQueue);
    this.watcher = this.#createWatcher(defaults, resources);
    this.reporter = this.#createReporter(defaults, resources);
  }

  #createWatcher(defaults: FunctionDefaults, { storage, queue }: ReportResources): LambdaFunction {
    const { deliveryOutcomes, retryDelayScale } = defaults.settings;
    const { streamArn } = storage;
    const { queueArn } = this.failedQueue;
    const access = new ResourceAccess(
      { RETRY_DELAY_SCALE: String(retryDelayScale), DELIVERY_OUTCOMES: flag(deliveryOutcomes) },
      // Lambda sends with the role of the function.
      allow(['sqs:SendMessage'], [queueArn]),
      allow(
        ['dynamodb:DescribeStream', 'dynamodb:GetRecords', 'dynamodb:GetShardIterator', 'dynamodb:ListStreams'],
        [streamArn],
      ),
    ).and(queue.sendAccess());
    const { lambda } = new ServiceFunction(this, 'watch-deliveries', defaults, access);
    new EventSourceMapping(this, 'EventSourceMapping', {
      target: lambda,
      eventSourceArn: streamArn,
      startingPosition: StartingPosition.TRIM_HORIZON,
      batchSize: BATCH_SIZE,
      parallelizationFactor: PARALLELIZATION_FACTOR,
      maxBatchingWindow: Duration.seconds(BATCHING_WINDOW_SECONDS),
      filters: streamFilters(deliveryOutcomes).map((pattern) => FilterCriteria.filter(pattern)),
      reportBatchItemFailures: true,
      bisectBatchOnError: true,
      maxRecordAge: MAX_RECORD_AGE,
      // `SqsDlq` would also grant permission to read the attributes of the queue.
      onFailure: { bind: () => ({ destination: queueArn }) },
    });
    return lambda;
  }

  #createReporter(defaults: FunctionDefaults, { storage, queue, sendAccess, apiUrl }: ReportResources): LambdaFunction {
    const { settings } = defaults;
    const { notifications, deliveries, accounts } = storage;
    const { topic } = this;
    const access = notifications
      .access('BatchGetItem')
      .and(deliveries.access('GetItem', 'BatchGetItem', 'Query', 'UpdateItem'))
      .and(accounts.access('GetItem', 'BatchGetItem', 'UpdateItem'))
      .and(sendAccess)
      .and(queue.visibilityAccess())
      .and(
        new ResourceAccess(
          {
            REPORTS_QUEUE: queue.queue.queueUrl,
            API_URL: apiUrl,
            ESCALATE_UNREACHED: settings.escalateUnreached,
            RETRY_DELAY_SCALE: String(settings.retryDelayScale),
            DEAD_LETTER_EMAIL: flag(settings.deadLetterEmail),
            FAILING_NOTICES: flag(settings.failingNotices),
            OUTCOMES_TOPIC: topic?.topicArn,
          },
          ...(topic ? [allow(['sns:Publish'], [topic.topicArn])] : []),
        ),
      );
    const { lambda } = new ServiceFunction(this, 'report-deliveries', defaults, access);
    queue.addConsumer(lambda, settings.developmentStage ? undefined : REPORT_CONCURRENCY);
    return lambda;
  }
}
