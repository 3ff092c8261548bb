import { Duration } from 'aws-cdk-lib';
import { AccountPrincipal, AccountRootPrincipal, PolicyStatement } from 'aws-cdk-lib/aws-iam';
import { Alias } from 'aws-cdk-lib/aws-kms';
import {
  EventSourceMapping,
  FilterCriteria,
  FilterRule,
  type Function as LambdaFunction,
  StartingPosition,
} from 'aws-cdk-lib/aws-lambda';
import { Topic } from 'aws-cdk-lib/aws-sns';
import { Queue } from 'aws-cdk-lib/aws-sqs';
import { Construct } from 'constructs';
import { allow, ResourceAccess } from './resource-access.ts';
import { type FunctionDefaults, ServiceFunction } from './service-function.ts';
import { deadLetterQueue } from './work-queue.ts';

/** Records per invocation: ten batches of SNS, which are published concurrently. */
const BATCH_SIZE = 100;

/** Outcomes of a batch of ten cost a tenth (docs/operations.md#idle-cost). */
const BATCHING_WINDOW_SECONDS = 1;

/** The stream keeps records for 24 hours, so operators have 23 to repeat those that were given up. */
const MAX_RECORD_AGE = Duration.hours(1);

const text = (rule: unknown[]) => ({ S: rule });

/** The writes of delivery records that can change an outcome. Filtered records cost nothing. */
const changes = {
  eventName: FilterRule.isEqual('MODIFY'),
  dynamodb: { Keys: { pk: text(FilterRule.beginsWith('delivery#')) } },
};

const filterOf = (OldImage: Record<string, unknown>, NewImage: Record<string, unknown>) =>
  FilterCriteria.filter({ ...changes, dynamodb: { ...changes.dynamodb, OldImage, NewImage } });

const isNoNotice = { notice: text(FilterRule.notExists()) };

/** What `outcomeOf` publishes, as far as a filter can tell, which does not compare images. */
const filters = [
  filterOf(
    { status: text(FilterRule.isEqual('pending')) },
    { status: text([{ 'anything-but': ['pending'] }]), ...isNoNotice },
  ),
  // After it was delivered, or failed for some of its recipients.
  filterOf(
    { status: text([{ 'anything-but': ['pending', 'bounced'] }]) },
    { status: text(FilterRule.isEqual('bounced')), ...isNoNotice },
  ),
  // A failed attempt of a delivery whose failure has not been reported.
  filterOf(
    { status: text(FilterRule.isEqual('pending')) },
    {
      status: text(FilterRule.isEqual('pending')),
      last_cause: text(FilterRule.isEqual('destination')),
      lease_until_ms: { N: FilterRule.isEqual('0') },
      reported_status: text(FilterRule.notExists()),
      ...isNoNotice,
    },
  ),
];

/**
 * Publishes what became of each alert to a topic (docs/producers.md#delivery-outcomes), from the stream of the Deliveries
 * table. Records that cannot be published for an hour, such as one that crashes the function, are given up: a queue gets
 * their place in the stream. Those after them wait so long, because a shard has an order.
 */
export class DeliveryOutcomes extends Construct {
  readonly topic: Topic;
  readonly publisher: LambdaFunction;
  /** Where in the stream the records are that were given up, without their content. */
  readonly failedQueue: Queue;

  /** @param streamArn the stream of the Deliveries table, with old and new images */
  constructor(scope: Construct, id: string, defaults: FunctionDefaults, streamArn: string) {
    super(scope, id);
    const { producerAccounts, retryDelayScale } = defaults.settings;
    this.topic = new Topic(this, 'Topic', {
      masterKey: Alias.fromAliasName(this, 'Key', 'alias/aws/sns'),
      enforceSSL: true,
    });
    const { topicArn } = this.topic;
    this.topic.addToResourcePolicy(
      new PolicyStatement({
        sid: 'Subscribers',
        actions: ['sns:Subscribe'],
        principals: [new AccountRootPrincipal(), ...producerAccounts.map((account) => new AccountPrincipal(account))],
        resources: [topicArn],
      }),
    );
    this.failedQueue = new Queue(this, 'Failed', deadLetterQueue);
    const { queueArn } = this.failedQueue;
    const access = new ResourceAccess(
      { OUTCOMES_TOPIC: topicArn, RETRY_DELAY_SCALE: String(retryDelayScale) },
      allow(['sns:Publish'], [topicArn]),
      // Lambda sends with the role of the function.
      allow(['sqs:SendMessage'], [queueArn]),
      allow(
        ['dynamodb:DescribeStream', 'dynamodb:GetRecords', 'dynamodb:GetShardIterator', 'dynamodb:ListStreams'],
        [streamArn],
      ),
    );
    this.publisher = new ServiceFunction(this, 'publish-outcomes', defaults, access).lambda;
    new EventSourceMapping(this, 'EventSourceMapping', {
      target: this.publisher,
      eventSourceArn: streamArn,
      startingPosition: StartingPosition.TRIM_HORIZON,
      batchSize: BATCH_SIZE,
      maxBatchingWindow: Duration.seconds(BATCHING_WINDOW_SECONDS),
      filters,
      reportBatchItemFailures: true,
      bisectBatchOnError: true,
      maxRecordAge: MAX_RECORD_AGE,
      // `SqsDlq` would also grant permission to read the attributes of the queue.
      onFailure: { bind: () => ({ destination: queueArn }) },
    });
  }
}
