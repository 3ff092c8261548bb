import { EventBus, Rule } from 'aws-cdk-lib/aws-events';
import { SqsQueue } from 'aws-cdk-lib/aws-events-targets';
import type { Function as LambdaFunction } from 'aws-cdk-lib/aws-lambda';
import { EmailSendingEvent, EventDestination } from 'aws-cdk-lib/aws-ses';
import { Construct } from 'constructs';
import type { CrashedQueue } from './crashed-queue.ts';
import type { Email } from './email.ts';
import { ResourceAccess } from './resource-access.ts';
import { type FunctionDefaults, ServiceFunction } from './service-function.ts';
import type { Storage } from './storage.ts';
import { WorkQueue } from './work-queue.ts';

/** Batches of email events at work at one time: they come as fast as emails bounce, and each costs a single write. */
const MAX_CONCURRENCY = 5;

/**
 * Records what SES reports of emails after it accepted them. Bounces, complaints and rejects of our configuration set go over the
 * account's event bus, on which only AWS can publish as `aws.ses`, to a queue, which keeps them for four days and redrives
 * to the crashed queue. The bus retries a send to the queue for 24 hours, which only a changed queue policy can outlast; the
 * metric `FailedInvocations` of the rule shows that.
 */
export class EmailEvents extends Construct {
  readonly queue: WorkQueue;
  readonly rule: Rule;
  readonly recorder: LambdaFunction;

  constructor(
    scope: Construct,
    id: string,
    defaults: FunctionDefaults,
    storage: Storage,
    mail: Email,
    crashed: CrashedQueue,
  ) {
    super(scope, id);
    mail.configurationSet.addEventDestination('Events', {
      // SES takes no other bus than the account's own.
      destination: EventDestination.eventBus(EventBus.fromEventBusName(this, 'Bus', 'default')),
      events: [EmailSendingEvent.BOUNCE, EmailSendingEvent.COMPLAINT, EmailSendingEvent.REJECT],
    });
    this.queue = new WorkQueue(this, 'Queue', crashed);
    const access = storage.deliveries
      .access('GetItem', 'UpdateItem')
      .and(this.queue.changingVisibility())
      .and(new ResourceAccess({ EMAIL_EVENTS_QUEUE: this.queue.queue.queueUrl }));
    this.recorder = new ServiceFunction(this, 'record-email-events', defaults, access).lambda;
    this.queue.feed(this.recorder, MAX_CONCURRENCY);
    this.rule = new Rule(this, 'Rule', {
      description: 'What became of the emails of this stack',
      eventPattern: {
        source: ['aws.ses'],
        // SES adds this tag to every email: another stack's emails are not ours to record.
        detail: { mail: { tags: { 'ses:configuration-set': [mail.configurationSet.configurationSetName] } } },
      },
      // The queue's policy lets this rule alone send to it.
      targets: [new SqsQueue(this.queue.queue)],
    });
  }
}
