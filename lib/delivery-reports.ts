import { Duration } from 'aws-cdk-lib';
import {
  EventSourceMapping,
  FilterCriteria,
  type Function as LambdaFunction,
  StartingPosition,
} from 'aws-cdk-lib/aws-lambda';
import type { Topic } from 'aws-cdk-lib/aws-sns';
import { Queue } from 'aws-cdk-lib/aws-sqs';
import { Construct } from 'constructs';
import type { Delivery } from './delivery.ts';
import { allow, type FunctionDefaults, ServiceFunction } from './service-function.ts';
import type { Storage } from './storage.ts';
import { streamFilters } from './stream-filters.ts';
import { createOutcomesTopic } from './topics.ts';
import { deadLetterQueue, type WorkQueue } from './work-queue.ts';

/** Records per invocation, up to ten of a shard concurrently: only those of one item are passed in order. */
const BATCH_SIZE = 100;
const PARALLELIZATION_FACTOR = 10;

/** A batch of ten costs a tenth (docs/operations.md#idle-cost). */
const BATCHING_WINDOW_SECONDS = 1;

/** The stream keeps records for 24 hours, so operators have 12 to repeat those that were given up. */
const MAX_RECORD_AGE = Duration.hours(12);

const REPORT_CONCURRENCY = 10;

/**
 * Watches the stream of the Deliveries table, and reports what failed: to technical contacts and operators, and, with the
 * setting `deliveryOutcomes`, what became of each alert to a topic (docs/decisions/notices.md). Records of the stream that
 * cannot be sent to the queue of reports for twelve hours are given up: a queue gets their place in the stream.
 */
export class DeliveryReports extends Construct {
  readonly watcher: LambdaFunction;
  readonly reporter: LambdaFunction;
  readonly queue: WorkQueue;
  /** Undefined without the setting `deliveryOutcomes`. */
  readonly topic: Topic | undefined;
  /** Where in the stream the records are that were given up, without their content. */
  readonly failedQueue: Queue;

  constructor(scope: Construct, id: string, defaults: FunctionDefaults, storage: Storage, delivery: Delivery) {
    super(scope, id);
    const { settings } = defaults;
    this.queue = delivery.reports;
    this.topic = settings.deliveryOutcomes ? createOutcomesTopic(this, settings.producerAccounts) : undefined;
    this.failedQueue = new Queue(this, 'Failed', deadLetterQueue);
    const { queueArn } = this.failedQueue;
    const { streamArn, notifications, deliveries, accounts } = storage;
    this.watcher = new ServiceFunction(this, 'watch-deliveries', defaults, [
      // Lambda sends with the role of the function.
      allow(['sqs:SendMessage'], [queueArn]),
      allow(
        ['dynamodb:DescribeStream', 'dynamodb:GetRecords', 'dynamodb:GetShardIterator', 'dynamodb:ListStreams'],
        [streamArn],
      ),
      this.queue.allowSend(),
    ]).lambda;
    new EventSourceMapping(this, 'EventSourceMapping', {
      target: this.watcher,
      eventSourceArn: streamArn,
      startingPosition: StartingPosition.TRIM_HORIZON,
      batchSize: BATCH_SIZE,
      parallelizationFactor: PARALLELIZATION_FACTOR,
      maxBatchingWindow: Duration.seconds(BATCHING_WINDOW_SECONDS),
      filters: streamFilters(settings.deliveryOutcomes).map((pattern) => FilterCriteria.filter(pattern)),
      reportBatchItemFailures: true,
      bisectBatchOnError: true,
      maxRecordAge: MAX_RECORD_AGE,
      // `SqsDlq` would also grant permission to read the attributes of the queue.
      onFailure: { bind: () => ({ destination: queueArn }) },
    });
    this.reporter = new ServiceFunction(this, 'report-deliveries', defaults, [
      notifications.allow('BatchGetItem'),
      deliveries.allow('GetItem', 'BatchGetItem', 'Query', 'UpdateItem'),
      accounts.allow('GetItem', 'BatchGetItem', 'UpdateItem'),
      // It sends notices.
      delivery.allowSend(),
      ...this.queue.allowConsume(),
      ...(this.topic ? [allow(['sns:Publish'], [this.topic.topicArn])] : []),
    ]).lambda;
    this.queue.addConsumer(this.reporter, settings.developmentStage ? undefined : REPORT_CONCURRENCY);
  }
}
