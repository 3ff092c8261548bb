import { join } from 'node:path';
import { Annotations, CfnOutput, Stack, Stage } from 'aws-cdk-lib';
import type { Construct } from 'constructs';
import { Api } from './api.ts';
import { bundleFunctions } from './bundles.ts';
import { CrashedQueue } from './crashed-queue.ts';
import { Delivery } from './delivery.ts';
import { Email } from './email.ts';
import { EmailEvents } from './email-events.ts';
import { EmailIdentity } from './email-identity.ts';
import { ManagedTopic } from './managed-topic.ts';
import { Monitoring } from './monitoring.ts';
import { Network } from './network.ts';
import { PLACEHOLDER_SENDER, type Settings } from './settings.ts';
import { Storage } from './storage.ts';
import type { WorkQueueWithDeadLetters } from './work-queue.ts';

/** The whole service in one stack. It has no fixed physical names, so that several can live in one account. */
export class NotificationsStack extends Stack {
  constructor(scope: Construct, id: string, settings: Settings) {
    super(scope, id, { description: 'Monitoring Notifications: destinations of alarms, and their delivery' });
    const assembly = Stage.of(this)?.outdir ?? 'cdk.out';
    const defaults = { settings, bundleOf: bundleFunctions(join(assembly, 'bundles')) };
    const storage = new Storage(this, 'Storage', settings);
    const mail = new Email(this, 'Email', settings);
    const managed = new ManagedTopic(this, 'Managed');
    if (settings.emailIdentity) new EmailIdentity(this, 'EmailIdentity', settings);
    const network = settings.egress === 'static' ? new Network(this, 'Network', settings) : undefined;
    const crashed = new CrashedQueue(this, 'Crashed');
    const delivery = new Delivery(this, 'Delivery', defaults, storage, { mail, managed, network }, crashed);
    const api = new Api(this, 'Api', defaults, storage, delivery);
    const emailEvents = new EmailEvents(this, 'EmailEvents', defaults, storage, mail, crashed);
    const monitoring = new Monitoring(this, 'Monitoring', settings, { api, delivery, emailEvents });

    const output = (name: string, value: string, description: string) =>
      new CfnOutput(this, name, { value, description });
    output('BaseUrl', api.baseUrl, 'Base address of the API');
    output('AlarmEventsQueueUrl', delivery.alarmEvents.queue.queueUrl, 'Where the alarm pipeline sends alarm events');
    output('AlarmEventsQueueArn', delivery.alarmEvents.queue.queueArn, 'The same queue, for the policies of producers');
    output(
      'ManagedTopicArn',
      managed.topic.topicArn,
      'What notifications of type managed tell; subscribe the operators',
    );
    output('AlarmsTopicArn', monitoring.topicArn, 'Where the alarms of the stack go');
    output('Dashboard', monitoring.dashboardName, 'The dashboard, in CloudWatch');
    output('TokensTable', storage.tokens.table.tableName, 'Tokens of the API, by their hash');
    output('DeliveriesTable', storage.deliveries.table.tableName, 'The record of each delivery, for 30 days');
    output('AccountsTable', storage.accounts.table.tableName, 'Accounts: technical contacts, webhook credentials');
    output('NotificationsTable', storage.notifications.table.tableName, 'Notifications of all tenants');
    output(
      'QueueUrls',
      this.toJsonString(queueUrls(delivery, emailEvents)),
      'Each queue, its dead-letter queue and its retries, and the queue of crashed messages, as JSON',
    );

    if (settings.feedEndpoint === undefined) {
      Annotations.of(this).addWarningV2(
        'notifications:feedEndpoint',
        'No notification of type atomfeed will be delivered before the setting feedEndpoint names an AtomPub collection.',
      );
    }
    if (settings.emailFrom === PLACEHOLDER_SENDER) {
      Annotations.of(this).addWarningV2(
        'notifications:emailFrom',
        `No mail will be delivered before the setting emailFrom names an address that SES has verified; it is ${PLACEHOLDER_SENDER}.`,
      );
    }
  }
}

/**
 * The URLs of every queue, by notification type. Alarm events have no retries; email events and crashed messages have one queue
 * alone.
 */
const queueUrls = (
  { alarmEvents, lines, crashed }: Delivery,
  emailEvents: EmailEvents,
): Record<string, Record<string, string>> => {
  const urls = ({ queue, deadLetterQueue }: WorkQueueWithDeadLetters) => ({
    queue: queue.queueUrl,
    deadLetters: deadLetterQueue.queueUrl,
  });
  return {
    'alarm-events': urls(alarmEvents),
    ...Object.fromEntries(lines.map(({ type, queue }) => [type, { ...urls(queue), retries: queue.retries.queueUrl }])),
    'email-events': { queue: emailEvents.queue.queue.queueUrl },
    crashed: { queue: crashed.queueUrl },
  };
};
