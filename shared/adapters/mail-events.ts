import { ConditionalCheckFailedException } from '@aws-sdk/client-dynamodb';
import { type DynamoDBDocumentClient, GetCommand, UpdateCommand } from '@aws-sdk/lib-dynamodb';
import * as z from 'zod/mini';
import { type DeliveryKey, partitionPlace } from '../domain/delivery-key.ts';
import { deliveryOfTags, type MailEventKind, mailEventKinds } from '../domain/mail-event.ts';
import { logger } from './logger.ts';
import { count } from './metrics.ts';

/** A mail's tags have one value each. */
const tag = z.optional(z.tuple([z.string()]));

/** What is read of an event of SES on the event bus; recipients, subjects and answers of servers are not. */
const mailEvent = z.object({
  source: z.literal('aws.ses'),
  detail: z.object({
    eventType: z.enum(mailEventKinds),
    mail: z.object({
      messageId: z.string().check(z.maxLength(128), z.regex(/^[\w.-]+$/)),
      tags: z.object({ notification: tag, tenant: tag, event: tag }),
    }),
  }),
});

/** What an event did to the record: `marked` it; it was `known`; it is `untouched`; or there is none, as of a test. */
type Mark = 'marked' | 'known' | 'untouched' | 'no_record';

const stored = z.object({ status: z.string(), lease: z.number() });

/**
 * Marks records of deliveries as bounced. One that is still open is not touched: what it waits for may arrive, and its sender
 * would write over the mark. While that sender works on it, the event has come too early and must come again.
 */
const createBounceMarks = (client: DynamoDBDocumentClient, table: string, now: () => number) => {
  const read = async ({ pk, sk }: DeliveryKey) => {
    const { Item } = await client.send(new GetCommand({ TableName: table, Key: { pk, sk }, ConsistentRead: true }));
    return Item && stored.parse(Item);
  };

  return async (key: DeliveryKey): Promise<Mark> => {
    try {
      await client.send(
        new UpdateCommand({
          TableName: table,
          Key: { pk: key.pk, sk: key.sk },
          UpdateExpression: 'SET #status = :bounced',
          ConditionExpression: '#status = :delivered',
          ExpressionAttributeNames: { '#status': 'status' },
          ExpressionAttributeValues: { ':bounced': 'bounced', ':delivered': 'delivered' },
        }),
      );
      return 'marked';
    } catch (error) {
      if (!(error instanceof ConditionalCheckFailedException)) throw error;
      const found = await read(key);
      if (!found) return 'no_record';
      if (found.status === 'bounced') return 'known';
      // The sender has not recorded yet what it did, or has while we looked.
      if (found.status === 'delivered' || (found.status === 'pending' && found.lease > now()))
        throw new Error('The delivery is being worked on.');
      return 'untouched';
    }
  };
};

/** The metric of each kind. */
const metricOf = {
  Bounce: 'mail_bounces',
  Complaint: 'mail_complaints',
  Reject: 'mail_rejects',
} as const satisfies Record<MailEventKind, string>;

/**
 * Makes the Lambda handler that hears from SES what became of mails it had taken. A bounce or a reject marks the delivery as
 * `bounced`, once, however often the event comes; a complaint is of somebody whom the mail has reached, and is counted alone.
 * What is no such event is counted and let go: it would not become one by coming again.
 */
export const createMailEventRecorder = (
  client: DynamoDBDocumentClient,
  table: string,
  now: () => number = Date.now,
): ((event: unknown) => Promise<void>) => {
  const markBounced = createBounceMarks(client, table, now);
  return async (event) => {
    const parsed = mailEvent.safeParse(event);
    if (!parsed.success) {
      logger.warn('mail event ignored');
      count({ mail_events_ignored: 1 });
      return;
    }
    const { eventType: kind, mail } = parsed.data.detail;
    const { messageId, tags } = mail;
    const key = deliveryOfTags({
      notification: tags.notification?.[0],
      tenant: tags.tenant?.[0],
      event: tags.event?.[0],
    });
    const place = key && partitionPlace(key.pk);
    const mark = key && kind !== 'Complaint' ? await markBounced(key) : undefined;
    logger.warn('mail event', {
      kind,
      mail_id: messageId,
      mark,
      tenant_id: place?.tenant,
      notification_id: place?.notificationId,
    });
    count(mark === 'known' ? { mail_events_repeated: 1 } : { [metricOf[kind]]: 1 });
  };
};
