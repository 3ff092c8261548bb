import { CfnOutput, Stack } from 'aws-cdk-lib';
import type { PolicyStatement } from 'aws-cdk-lib/aws-iam';
import type { IKey } from 'aws-cdk-lib/aws-kms';
import type { Function as LambdaFunction } from 'aws-cdk-lib/aws-lambda';
import {
  ConfigurationSet,
  ConfigurationSetEventDestination,
  EmailIdentity,
  EmailSendingEvent,
  EventDestination,
  Identity,
} from 'aws-cdk-lib/aws-ses';
import { Topic } from 'aws-cdk-lib/aws-sns';
import { SqsSubscription } from 'aws-cdk-lib/aws-sns-subscriptions';
import type { IQueue } from 'aws-cdk-lib/aws-sqs';
import { Construct } from 'constructs';
import { allow, type FunctionDefaults, ServiceFunction } from './service-function.ts';
import type { Settings } from './settings.ts';
import type { Storage } from './storage.ts';
import { servicePrincipal } from './topics.ts';
import { WorkQueue } from './work-queue.ts';

export const createConfigurationSet = (parent: Construct): ConfigurationSet =>
  new ConfigurationSet(new Construct(parent, 'Email'), 'ConfigurationSet', {
    reputationMetrics: true,
    // The list of the account would silence an address for all tenants after a bounce or complaint of one.
    disableSuppressionList: true,
  });

/**
 * Allows to send from this address only. A condition says so, because SES may authorize against the identity of the
 * address, its domain or a parent domain.
 */
export const allowSendEmail = (configurationSet: ConfigurationSet, emailFrom: string): PolicyStatement => {
  const { configurationSetName: resourceName } = configurationSet;
  const stack = Stack.of(configurationSet);
  return allow(
    ['ses:SendRawEmail'],
    [
      stack.formatArn({ service: 'ses', resource: 'identity', resourceName: '*' }),
      stack.formatArn({ service: 'ses', resource: 'configuration-set', resourceName }),
    ],
    { StringEquals: { 'ses:FromAddress': emailFrom } },
  );
};

/**
 * Adds the SES identity of the sender's domain (setting `emailIdentity`). SES verifies it once DNS contains the records
 * in the outputs.
 */
export const addEmailIdentity = (stack: Stack, { emailFrom }: Settings): void => {
  const domain = emailFrom.slice(emailFrom.lastIndexOf('@') + 1);
  const scope = new Construct(stack, 'EmailIdentity');
  const { dkimRecords } = new EmailIdentity(scope, 'Identity', { identity: Identity.domain(domain) });
  dkimRecords.forEach(({ name, value }, index) => {
    new CfnOutput(stack, `DkimRecord${index + 1}`, {
      value: `${name} CNAME ${value}`,
      description: `DKIM record ${index + 1} of 3. Add all three to the DNS of ${domain} so that SES can verify it.`,
    });
  });
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

  /** @param topicKey encrypts the topic; a development stage has none */
  constructor(
    scope: Construct,
    id: string,
    defaults: FunctionDefaults,
    { accounts, deliveries }: Storage,
    { reports, crashedQueue }: { reports: WorkQueue; crashedQueue: IQueue },
    configurationSet: ConfigurationSet,
    topicKey: IKey | undefined,
  ) {
    super(scope, id);
    const topic = new Topic(this, 'Topic', { ...(topicKey && { masterKey: topicKey }), enforceSSL: true });
    topicKey?.grant(servicePrincipal(this, 'ses'), 'kms:Decrypt', 'kms:GenerateDataKey*');
    this.queue = new WorkQueue(this, 'Queue', crashedQueue, BATCHING_WINDOW_SECONDS);
    const subscription = topic.addSubscription(
      new SqsSubscription(this.queue.queue, { rawMessageDelivery: true, deadLetterQueue: crashedQueue }),
    );
    const { DELIVERY, DELIVERY_DELAY, BOUNCE, COMPLAINT, REJECT } = EmailSendingEvent;
    const destination = new ConfigurationSetEventDestination(this, 'Destination', {
      configurationSet,
      destination: EventDestination.snsTopic(topic),
      events: [DELIVERY, DELIVERY_DELAY, BOUNCE, COMPLAINT, REJECT],
    });
    // The CDK permits SES to publish. Without the permission, SES refuses the destination, to which it publishes a test.
    // Without the subscription, SNS would discard events.
    destination.node.addDependency(topic, subscription);
    this.recorder = new ServiceFunction(this, 'record-email-events', defaults, [
      deliveries.allow('GetItem', 'UpdateItem'),
      accounts.allow('GetItem', 'UpdateItem'),
      reports.allowSend(),
      ...this.queue.allowConsume(),
    ]).lambda;
    // Without a maximum concurrency: SES limits the rate of emails.
    this.queue.addConsumer(this.recorder, undefined);
  }
}
