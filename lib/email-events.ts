import { EventBus, Rule } from 'aws-cdk-lib/aws-events';
import { SqsQueue } from 'aws-cdk-lib/aws-events-targets';
import type { Function as LambdaFunction } from 'aws-cdk-lib/aws-lambda';
import { EmailSendingEvent, EventDestination } from 'aws-cdk-lib/aws-ses';
import type { IQueue } from 'aws-cdk-lib/aws-sqs';
import { Construct } from 'constructs';
import type { Delivery } from './delivery.ts';
import type { Email } from './email.ts';
import { ResourceAccess } from './resource-access.ts';
import { type FunctionDefaults, ServiceFunction } from './service-function.ts';
import { WorkQueue } from './work-queue.ts';

/**
 * Records bounces, complaints and rejects that SES reports after it accepted an email
 * (docs/decisions/formats.md#bounces). The events pass through the default event bus of the account, where only AWS can
 * publish as `aws.ses`, to a queue. EventBridge retries a failed send to the queue for 24 hours; the metric
 * `FailedInvocations` of the rule counts failures.
 */
export class EmailEvents extends Construct {
  readonly queue: WorkQueue;
  readonly recorder: LambdaFunction;

  constructor(
    scope: Construct,
    id: string,
    defaults: FunctionDefaults,
    email: Email,
    delivery: Delivery,
    crashedQueue: IQueue,
  ) {
    super(scope, id);
    email.configurationSet.addEventDestination('Events', {
      // SES supports only the default event bus.
      destination: EventDestination.eventBus(EventBus.fromEventBusName(this, 'Bus', 'default')),
      events: [EmailSendingEvent.BOUNCE, EmailSendingEvent.COMPLAINT, EmailSendingEvent.REJECT],
    });
    this.queue = new WorkQueue(this, 'Queue', crashedQueue);
    const access = delivery.reportAccess
      .and(this.queue.visibilityAccess())
      .and(new ResourceAccess({ EMAIL_EVENTS_QUEUE: this.queue.queue.queueUrl }));
    this.recorder = new ServiceFunction(this, 'record-email-events', defaults, access).lambda;
    // Without a maximum concurrency: SES limits the emails, so their events are few.
    this.queue.addConsumer(this.recorder, undefined);
    new Rule(this, 'Rule', {
      description: 'Bounces, complaints and rejects of emails sent by this stack',
      eventPattern: {
        source: ['aws.ses'],
        // SES adds this tag to every email, so events of other stacks are left out.
        detail: { mail: { tags: { 'ses:configuration-set': [email.configurationSet.configurationSetName] } } },
      },
      // The queue policy allows only this rule to send.
      targets: [new SqsQueue(this.queue.queue)],
    });
  }
}
