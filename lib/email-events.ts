import { Stack } from 'aws-cdk-lib';
import { ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import type { IKey } from 'aws-cdk-lib/aws-kms';
import type { Function as LambdaFunction } from 'aws-cdk-lib/aws-lambda';
import { ConfigurationSetEventDestination, EmailSendingEvent, EventDestination } from 'aws-cdk-lib/aws-ses';
import { Topic } from 'aws-cdk-lib/aws-sns';
import { SqsSubscription } from 'aws-cdk-lib/aws-sns-subscriptions';
import type { IQueue } from 'aws-cdk-lib/aws-sqs';
import { Construct } from 'constructs';
import type { Delivery } from './delivery.ts';
import type { Email } from './email.ts';
import { type FunctionDefaults, ServiceFunction } from './service-function.ts';
import type { Storage } from './storage.ts';
import { WorkQueue } from './work-queue.ts';

/** The resources that email events use. `topicKey` encrypts their topic; a development stage has none. */
type EmailEventResources = {
  email: Email;
  storage: Storage;
  delivery: Pick<Delivery, 'reports'>;
  crashedQueue: IQueue;
  topicKey: IKey | undefined;
};

/** Each email causes an event. A batch of ten costs a tenth, and no event is urgent: SES itself takes seconds. */
const BATCHING_WINDOW_SECONDS = 5;

/**
 * Records what SES reports after it accepted an email (docs/decisions/formats.md#email-events). The events pass through an
 * SNS topic to a queue, because EventBridge gets them at best effort:
 * https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-service-event-delivery-level.html
 * What SNS cannot send to the queue for 23 days goes to the crashed queue.
 */
export class EmailEvents extends Construct {
  readonly queue: WorkQueue;
  readonly recorder: LambdaFunction;

  constructor(
    scope: Construct,
    id: string,
    defaults: FunctionDefaults,
    { email: { configurationSet }, storage, delivery, crashedQueue, topicKey }: EmailEventResources,
  ) {
    super(scope, id);
    const topic = new Topic(this, 'Topic', { ...(topicKey && { masterKey: topicKey }), enforceSSL: true });
    // AWS documents no other condition: https://docs.aws.amazon.com/ses/latest/dg/configure-sns-notifications.html
    const ses = new ServicePrincipal('ses.amazonaws.com', {
      conditions: { StringEquals: { 'aws:SourceAccount': Stack.of(this).account } },
    });
    topicKey?.grant(ses, 'kms:Decrypt', 'kms:GenerateDataKey*');
    this.queue = new WorkQueue(this, 'Queue', crashedQueue, BATCHING_WINDOW_SECONDS);
    const subscription = topic.addSubscription(
      new SqsSubscription(this.queue.queue, { rawMessageDelivery: true, deadLetterQueue: crashedQueue }),
    );
    const destination = new ConfigurationSetEventDestination(this, 'Destination', {
      configurationSet,
      destination: EventDestination.snsTopic(topic),
      events: [
        EmailSendingEvent.DELIVERY,
        EmailSendingEvent.DELIVERY_DELAY,
        EmailSendingEvent.BOUNCE,
        EmailSendingEvent.COMPLAINT,
        EmailSendingEvent.REJECT,
      ],
    });
    // The CDK permits SES to publish. Without the permission, SES refuses the destination, to which it publishes a test.
    // Without the subscription, SNS would discard events.
    destination.node.addDependency(topic, subscription);
    this.recorder = new ServiceFunction(this, 'record-email-events', defaults, [
      storage.deliveries.allow('GetItem', 'UpdateItem'),
      storage.accounts.allow('GetItem', 'UpdateItem'),
      delivery.reports.allowSend(),
      ...this.queue.allowConsume(),
    ]).lambda;
    // Without a maximum concurrency: SES limits the rate of emails.
    this.queue.addConsumer(this.recorder, undefined);
  }
}
