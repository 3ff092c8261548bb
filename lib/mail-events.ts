import { EventBus, Rule } from 'aws-cdk-lib/aws-events';
import { LambdaFunction as Target } from 'aws-cdk-lib/aws-events-targets';
import type { Function as LambdaFunction } from 'aws-cdk-lib/aws-lambda';
import { EmailSendingEvent, EventDestination } from 'aws-cdk-lib/aws-ses';
import { Construct } from 'constructs';
import type { Mail } from './mail.ts';
import { type FunctionDefaults, ServiceFunction } from './service-function.ts';
import type { Storage } from './storage.ts';

/**
 * What becomes of mails after SES took them: bounces, complaints and rejects of our configuration set reach a function over
 * the account's event bus, which is encrypted, keeps nothing, tries for a day, and on which nobody but AWS can speak as
 * `aws.ses`. So there is no topic to guard.
 */
export class MailEvents extends Construct {
  readonly recorder: LambdaFunction;

  constructor(scope: Construct, id: string, defaults: FunctionDefaults, storage: Storage, mail: Mail) {
    super(scope, id);
    mail.configurationSet.addEventDestination('Events', {
      // SES takes no other bus than the account's own.
      destination: EventDestination.eventBus(EventBus.fromEventBusName(this, 'Bus', 'default')),
      events: [EmailSendingEvent.BOUNCE, EmailSendingEvent.COMPLAINT, EmailSendingEvent.REJECT],
    });
    const access = storage.deliveries.access('GetItem', 'UpdateItem');
    this.recorder = new ServiceFunction(this, 'record-mail-events', defaults, access).lambda;
    new Rule(this, 'Rule', {
      description: 'What became of the mails of this stack',
      eventPattern: {
        source: ['aws.ses'],
        // SES adds this tag to every mail: another stack's mails are not ours to record.
        detail: { mail: { tags: { 'ses:configuration-set': [mail.configurationSet.configurationSetName] } } },
      },
      targets: [new Target(this.recorder)],
    });
  }
}
