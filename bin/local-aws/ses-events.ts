import type { AwsCall } from './aws-service.ts';
import type { Queue } from './sqs/queue.ts';

/** Where SES publishes the events about the emails of a configuration set. */
export type EmailDestination = { configurationSet: string; topicArn: string; types: readonly string[] };

/** A queue that gets the messages to a topic as they are published. */
export type Subscription = { topicArn: string; queueArn: string };

/** The email in an event: https://docs.aws.amazon.com/ses/latest/dg/event-publishing-retrieving-sns-contents.html */
export type Mail = {
  timestamp: string;
  messageId: string;
  destination: readonly string[];
  tags: Readonly<Record<string, readonly string[]>>;
};

const CONFIGURATION_SET_TAG = 'ses:configuration-set';

/** Returns the email of a call that SES accepted. */
export const mailOf = ({ body }: AwsCall, destination: readonly string[], nowMs: number): Mail => {
  const form = new URLSearchParams(body.toString());
  const tags = [...form]
    .filter(([name]) => /^Tags\.member\.\d+\.Name$/.test(name))
    .map(([name, tag]) => [tag, [form.get(name.replace(/Name$/, 'Value')) ?? '']] as const);
  return {
    timestamp: new Date(nowMs).toISOString(),
    messageId: crypto.randomUUID(),
    destination,
    tags: { [CONFIGURATION_SET_TAG]: [form.get('ConfigurationSetName') ?? ''], ...Object.fromEntries(tags) },
  };
};

/** The events about an email, with the fields that depend on their type. */
export const emailEvents = {
  delivery: (mail: Mail, timestamp: string) => ({
    eventType: 'Delivery',
    mail,
    delivery: { timestamp, recipients: mail.destination, smtpResponse: '250 OK', processingTimeMillis: 1 },
  }),
  delay: (mail: Mail, timestamp: string) => ({
    eventType: 'DeliveryDelay',
    mail,
    deliveryDelay: { timestamp, delayType: 'TransientCommunicationFailure', delayedRecipients: recipientsOf(mail) },
  }),
  bounce: (mail: Mail, timestamp: string, bounceType = 'Permanent', bounceSubType = 'General') => ({
    eventType: 'Bounce',
    mail,
    bounce: { timestamp, bounceType, bounceSubType, bouncedRecipients: recipientsOf(mail) },
  }),
  complaint: (mail: Mail, timestamp: string, complaintSubType: string | null = null) => ({
    eventType: 'Complaint',
    mail,
    complaint: { timestamp, complaintSubType, complainedRecipients: recipientsOf(mail) },
  }),
  reject: (mail: Mail) => ({ eventType: 'Reject', mail, reject: { reason: 'Bad content' } }),
};

const recipientsOf = ({ destination }: Mail) => destination.map((emailAddress) => ({ emailAddress }));

/** What SES reports about an email that it accepted. */
export type EmailEvent = { eventType: string; mail: Mail };

const ON_ACCOUNT_LIST = 'OnAccountSuppressionList';

/** Returns what happens to an email, by its address: those of the SES mailbox simulator bounce or complain. */
export const eventsOf = (mail: Mail): EmailEvent[] => {
  const [address = ''] = mail.destination;
  const { timestamp } = mail;
  const [, kind, label] =
    /^(bounce|suppressionlist|complaint)(?:\+([^@]*))?@simulator\.amazonses\.com$/.exec(address) ?? [];
  if (kind === 'bounce') return [emailEvents.bounce(mail, timestamp)];
  // An address on the suppression list of the account, or on the global one of SES. Neither is sent to.
  if (kind === 'suppressionlist')
    return [emailEvents.bounce(mail, timestamp, 'Permanent', label === 'account' ? ON_ACCOUNT_LIST : 'Suppressed')];
  if (kind === 'complaint' && label === 'suppressed') return [emailEvents.complaint(mail, timestamp, ON_ACCOUNT_LIST)];
  const delivery = emailEvents.delivery(mail, timestamp);
  return kind === 'complaint' ? [delivery, emailEvents.complaint(mail, timestamp)] : [delivery];
};

/** Creates what publishes the events of SES to the queues that are subscribed to their topics. */
export const createEmailEventPublisher =
  (
    { emailDestinations, subscriptions }: { emailDestinations: EmailDestination[]; subscriptions: Subscription[] },
    queues: Iterable<Queue>,
  ) =>
  (event: EmailEvent): void => {
    const [name] = event.mail.tags[CONFIGURATION_SET_TAG] ?? [];
    const type = event.eventType.charAt(0).toLowerCase() + event.eventType.slice(1);
    const topics = emailDestinations.filter((each) => each.configurationSet === name && each.types.includes(type));
    const arns = subscriptions.filter(({ topicArn }) => topics.some((topic) => topic.topicArn === topicArn));
    for (const queue of queues) {
      if (!arns.some(({ queueArn }) => queueArn === queue.settings.arn)) continue;
      queue.send({ body: JSON.stringify(event), attributes: new Map(), senderId: 'sns' });
    }
  };
