import type { Message } from '@aws-sdk/client-sqs';
import { z } from 'zod';
import { jsonOrUndefined } from '../../shared/contracts/json.ts';
import { parseDeliveryPartition } from '../../shared/domain/delivery-key.ts';
import { deliveryKeyFromTags } from '../../shared/domain/email-event.ts';
import { type DeadLetterQueueName, deadLetterQueueNames, deadLetterUrl } from './deployment.ts';
import { isoTime } from './print.ts';
import { inspect, type Visited, visitMessages } from './queues.ts';
import type { Session } from './session.ts';
import { type Described, describeNotifications } from './targets.ts';

const eventIds = z.object({ tenant_id: z.string().optional(), event_id: z.string().optional() });
/** A message on a sender's queue. */
const withEvent = z.object({
  notification_id: z.string().optional(),
  producer_message_id: z.string().optional(),
  event: eventIds,
});

const tag = z.tuple([z.string()]).transform(([value]) => value);
/** What SES reports about an email. */
const emailEvent = z.object({ mail: z.object({ tags: z.object({ notification: tag, tenant: tag, event: tag }) }) });

/**
 * Describes a message of a dead-letter queue, without its contents. `detail` and `warnings` say what is wrong with an
 * invalid event, `source_arn` from which queue SQS moved it; `producer_message_id` is the ID of the alarm event's
 * message.
 */
export const deadLetter = ({ Body = '', MessageId = '', Attributes = {}, MessageAttributes = {} }: Message) => {
  const attribute = (name: string) => MessageAttributes[name]?.StringValue;
  const ids = readIds(Body, MessageId);
  const timeMs = Date.parse(attribute('time') ?? '') || Number(Attributes.SentTimestamp ?? 0);
  const attempts = attribute('attempts');
  return {
    time: isoTime(timeMs),
    reason: attribute('reason') ?? (Attributes.DeadLetterQueueSourceArn ? 'received too often' : 'unknown'),
    cause: attribute('cause') ?? 'service',
    detail: attribute('detail'),
    warnings: attribute('warnings'),
    attempts: attempts === undefined ? undefined : Number(attempts),
    tenant_id: ids.tenant_id ?? Attributes.MessageGroupId,
    notification_id: ids.notification_id,
    event_id: ids.event_id,
    producer_message_id: attribute('producer_message_id') ?? ids.producer_message_id,
    source_arn: Attributes.DeadLetterQueueSourceArn,
    message_id: MessageId,
  };
};

export type DeadLetter = ReturnType<typeof deadLetter>;

/** Reads up to `limit` dead letters. @returns them, and about how many the queue has */
export const readLetters = async ({ sqs, deployment }: Session, type: DeadLetterQueueName, limit: number) => {
  const url = deadLetterUrl(deployment.outputs, type);
  const { total } = await inspect(sqs, url);
  const letters: DeadLetter[] = [];
  for await (const { messages } of visitMessages(sqs, url, limit)) letters.push(...messages.map(deadLetter));
  return { letters, total };
};

/** What is known of a dead letter's notification. The `type` of a dead letter is that of its queue. */
export type DescribedLetter = Pick<Described, 'notification_label'> & { notification_type: Described['type'] };

export const withNotifications = async <Letter extends DeadLetter>(
  session: Pick<Session, 'notifications'>,
  letters: readonly Letter[],
): Promise<(Letter & DescribedLetter)[]> => {
  const keyOf = ({ tenant_id: tenant = '', notification_id: id = '' }: DeadLetter) => ({ tenant, id });
  const described = await describeNotifications(session, letters.map(keyOf));
  return letters.map((letter) => {
    const { notification_label, type } = described(keyOf(letter));
    return { ...letter, notification_type: type, notification_label };
  });
};

type Ids = { [name in 'tenant_id' | 'notification_id' | 'event_id' | 'producer_message_id']?: string | undefined };

const readIds = (body: string, messageId: string): Ids => {
  const value = jsonOrUndefined(body);
  const event = eventIds.safeParse(value).data;
  // An alarm event can have any other field, also one named `event`. Messages between functions have no tenant here.
  // SQS keeps the ID of a message that it moves. Dispatch sends another one, with the ID as an attribute.
  if (event?.tenant_id !== undefined) return { ...event, producer_message_id: messageId };
  const message = withEvent.safeParse(value).data;
  if (message) {
    const { event: delivered, ...ids } = message;
    return { ...ids, ...delivered };
  }
  const email = emailEvent.safeParse(value).data;
  const key = email && deliveryKeyFromTags(email.mail.tags);
  if (key) {
    const { tenant: tenant_id, id: notification_id } = parseDeliveryPartition(key.pk);
    return { tenant_id, notification_id };
  }
  return { event_id: event?.event_id };
};

export type DeadLetterCounts = Partial<Record<DeadLetterQueueName, number>>;

/** What to do with the messages of a tenant, and a function that deletes some of them. */
type Visit = (queue: DeadLetterQueueName, visited: Visited) => Promise<void>;

/**
 * Visits every dead letter and crashed message of a tenant, by its body or, if that is not readable, its message
 * group.
 */
export const visitDeadLettersOf = async (
  { sqs, deployment }: Session,
  tenant: string,
  visit: Visit,
): Promise<DeadLetterCounts> => {
  const counts: DeadLetterCounts = {};
  await Promise.all(
    deadLetterQueueNames.map(async (name) => {
      for await (const { messages, remove } of visitMessages(sqs, deadLetterUrl(deployment.outputs, name))) {
        const own = messages.filter((message) => deadLetter(message).tenant_id === tenant);
        if (own.length === 0) continue;
        counts[name] = (counts[name] ?? 0) + own.length;
        await visit(name, { messages: own, remove });
      }
    }),
  );
  return counts;
};
