import { ConditionalCheckFailedException } from '@aws-sdk/client-dynamodb';
import { type DynamoDBDocumentClient, GetCommand, UpdateCommand } from '@aws-sdk/lib-dynamodb';
import type { Context, SQSBatchResponse, SQSEvent, SQSRecord } from 'aws-lambda';
import * as z from 'zod/mini';
import { createThrottlingWatch } from '../adapters/dynamodb/key-throttling.ts';
import { errorTrace, logger } from '../adapters/logger.ts';
import { count, oldestAgeSeconds } from '../adapters/metrics.ts';
import type { Queues } from '../adapters/queues.ts';
import type { Clock } from '../domain/clock.ts';
import { type DeliveryKey, parseDeliveryPartition } from '../domain/delivery-key.ts';
import { deliveryKeyFromTags, type EmailEventKind, emailEventKinds } from '../domain/email-event.ts';
import { internalErrorDelayMs } from '../domain/retry-schedule.ts';

/** The environment of the recorder, parsed. */
export type RecorderEnvironment = { DELIVERIES_TABLE: string; EMAIL_EVENTS_QUEUE: string };

/** A mail's tags have one value each. */
const tag = z.optional(z.tuple([z.string()]));

/** What is read of an event of SES on the event bus; recipients, subjects and answers of servers are not. */
const mailEvent = z.object({
  source: z.literal('aws.ses'),
  detail: z.object({
    eventType: z.enum(emailEventKinds),
    mail: z.object({
      messageId: z.string().check(z.maxLength(128), z.regex(/^[\w.-]+$/)),
      tags: z.object({ notification: tag, tenant: tag, event: tag }),
    }),
  }),
});

/**
 * What an event did to the record: `marked` it; it was `known`; it is `untouched`; there is none, as of a test; or the event is
 * `early`: the sender has not recorded yet what it did.
 */
type Mark = 'marked' | 'known' | 'untouched' | 'no_record' | 'not_due';

const stored = z.object({ status: z.string(), lease_until_ms: z.number() });

/**
 * Marks records of deliveries as bounced, by a write that may be repeated. A record that is still open is not touched: what it
 * waits for may arrive, and its sender would overwrite the mark.
 */
const createBounceMarks = (client: DynamoDBDocumentClient, table: string, now: Clock) => {
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
      // The sender is at work, or has recorded its result while we looked.
      const isNotDue = found.status === 'delivered' || (found.status === 'pending' && found.lease_until_ms > now());
      return isNotDue ? 'not_due' : 'untouched';
    }
  };
};

/** The metric of each kind. */
const metricOf = {
  Bounce: 'email_bounces',
  Complaint: 'email_complaints',
  Reject: 'email_rejects',
} as const satisfies Record<EmailEventKind, string>;

const parseEvent = (body: string) => {
  try {
    return mailEvent.safeParse(JSON.parse(body)).data;
  } catch {
    return undefined;
  }
};

/** What came of a message: `early` ones are received again later. */
type MessageResult = 'handled' | 'not_due' | 'throttled_keys' | 'internal_error';

/**
 * Makes the Lambda handler that records what SES reports of emails it had accepted. A bounce or a reject marks the delivery as
 * `bounced`, once, however often the event is received; a complaint comes from a recipient whom the email has reached, and is
 * only counted. What is no such event is counted and deleted: receiving it again would not help.
 */
export const createEmailEventRecorder = (
  client: DynamoDBDocumentClient,
  queues: Pick<Queues, 'changeVisibility'>,
  environment: RecorderEnvironment,
  now: Clock = Date.now,
): ((event: SQSEvent, context?: Context) => Promise<SQSBatchResponse>) => {
  const markBounced = createBounceMarks(client, environment.DELIVERIES_TABLE, now);
  const isTenantThrottled = createThrottlingWatch(now);

  const record = async (body: string): Promise<MessageResult> => {
    const event = parseEvent(body);
    if (!event) {
      logger.warn('mail event ignored');
      count({ mail_events_ignored: 1 });
      return 'handled';
    }
    const { eventType: kind, mail } = event.detail;
    const { messageId, tags } = mail;
    const key = deliveryKeyFromTags({
      notification: tags.notification?.[0],
      tenant: tags.tenant?.[0],
      event: tags.event?.[0],
    });
    const place = key && parseDeliveryPartition(key.pk);
    const mark = key && kind !== 'Complaint' ? await markBounced(key) : undefined;
    logger.warn('mail event', {
      kind,
      mail_id: messageId,
      mark,
      tenant_id: place?.tenant,
      notification_id: place?.notificationId,
    });
    if (mark === 'not_due') return 'not_due';
    count(mark === 'known' ? { mail_events_repeated: 1 } : { [metricOf[kind]]: 1 });
    return 'handled';
  };

  const recordOrFail = ({ body, messageId }: SQSRecord): Promise<MessageResult> =>
    record(body).catch((error: unknown) => {
      const [tenant = messageId] = parseEvent(body)?.detail.mail.tags.tenant ?? [];
      const result = isTenantThrottled(error, tenant) ? 'throttled_keys' : 'internal_error';
      logger.error('email event not recorded', { result, message_id: messageId, ...errorTrace(error) });
      return result;
    });

  /** Makes a message visible again after a wait that grows with its receives. */
  const receiveLater = (message: SQSRecord): Promise<void> =>
    queues
      .changeVisibility(
        environment.EMAIL_EVENTS_QUEUE,
        message,
        Math.ceil(internalErrorDelayMs(Number(message.attributes.ApproximateReceiveCount), 1) / 1_000),
      )
      .catch((error: unknown) => logger.error('visibility change failed', errorTrace(error)));

  return async ({ Records }, context) => {
    logger.appendKeys({ request_id: context?.awsRequestId });
    const results = await Promise.all(
      Records.map(async (message) => ({ message, result: await recordOrFail(message) })),
    );
    const withResult = (wanted: MessageResult) =>
      results.filter(({ result }) => result === wanted).map(({ message }) => message);
    const failed = withResult('internal_error');
    const throttled = withResult('throttled_keys');
    const unfinished = [...withResult('not_due'), ...throttled, ...failed];
    await Promise.all(unfinished.map(receiveLater));
    const sentAt = failed.map(({ attributes }) => Number(attributes.SentTimestamp));
    count(
      { throttled_keys: throttled.length },
      { function: 'record-email-events' },
      {},
      {
        handled: Records.length - unfinished.length,
        internalErrors: failed.length,
        oldestUnprocessedSeconds: oldestAgeSeconds(sentAt, now()),
      },
    );
    return { batchItemFailures: unfinished.map(({ messageId }) => ({ itemIdentifier: messageId })) };
  };
};
