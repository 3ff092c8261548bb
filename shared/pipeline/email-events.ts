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

/** The environment variables of the recorder, parsed. */
export type RecorderEnvironment = { DELIVERIES_TABLE: string; EMAIL_EVENTS_QUEUE: string };

/** SES sends tags as lists; each of this service's tags has one value. */
const tag = z.optional(z.tuple([z.string()]));

/** The fields of an SES event that are read: no recipients, subjects or server responses. */
const emailEvent = z.object({
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
 * The effect of a bounce on a delivery record. `not_delivered` records stay unchanged, `no_record` is the email of a test, and
 * `not_due` means that the sender has not recorded its result yet.
 */
type BounceResult = 'recorded' | 'already_bounced' | 'not_delivered' | 'no_record' | 'not_due';

const storedStatus = z.object({ status: z.string(), lease_until_ms: z.number() });

/**
 * Creates the function that sets the status of a delivered record to `bounced`. It is safe to repeat. A pending record stays
 * unchanged: its next attempt may succeed, and its sender would overwrite the status.
 */
const createBounceRecorder = (client: DynamoDBDocumentClient, table: string, clock: Clock) => {
  const readStatus = async ({ pk, sk }: DeliveryKey) => {
    const { Item } = await client.send(new GetCommand({ TableName: table, Key: { pk, sk }, ConsistentRead: true }));
    return Item && storedStatus.parse(Item);
  };

  return async (key: DeliveryKey): Promise<BounceResult> => {
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
      return 'recorded';
    } catch (error) {
      if (!(error instanceof ConditionalCheckFailedException)) throw error;
      const found = await readStatus(key);
      if (!found) return 'no_record';
      if (found.status === 'bounced') return 'already_bounced';
      // The sender still holds the claim, or recorded its result between the update and the read.
      const isNotDue = found.status === 'delivered' || (found.status === 'pending' && found.lease_until_ms > clock());
      return isNotDue ? 'not_due' : 'not_delivered';
    }
  };
};

const metricOf = {
  Bounce: 'email_bounces',
  Complaint: 'email_complaints',
  Reject: 'email_rejects',
} as const satisfies Record<EmailEventKind, string>;

const parseEmailEvent = (body: string) => {
  try {
    return emailEvent.safeParse(JSON.parse(body)).data;
  } catch {
    return undefined;
  }
};

/** The result of a message. All but `handled` return to the queue. */
type MessageResult = 'handled' | 'not_due' | 'throttled_keys' | 'internal_error';

/**
 * Creates the Lambda handler that records what SES reports about accepted emails (DECISIONS.md#bounces). A bounce or a reject
 * sets the delivery to `bounced`. A complaint is only counted, because the email was delivered. Any other message is counted
 * and acknowledged, because retrying would not help.
 */
export const createEmailEventRecorder = (
  client: DynamoDBDocumentClient,
  queues: Pick<Queues, 'changeVisibility'>,
  environment: RecorderEnvironment,
  clock: Clock = Date.now,
): ((event: SQSEvent, context?: Context) => Promise<SQSBatchResponse>) => {
  const recordBounce = createBounceRecorder(client, environment.DELIVERIES_TABLE, clock);
  const isTenantThrottled = createThrottlingWatch(clock);

  const handleEvent = async (body: string): Promise<MessageResult> => {
    const event = parseEmailEvent(body);
    if (!event) {
      logger.warn('email event ignored');
      count({ email_events_ignored: 1 });
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
    const result = key && kind !== 'Complaint' ? await recordBounce(key) : undefined;
    logger.warn('email event', {
      kind,
      ses_message_id: messageId,
      result,
      tenant_id: place?.tenant,
      notification_id: place?.notificationId,
    });
    if (result === 'not_due') return 'not_due';
    count(result === 'already_bounced' ? { email_events_repeated: 1 } : { [metricOf[kind]]: 1 });
    return 'handled';
  };

  const handleMessage = ({ body, messageId }: SQSRecord): Promise<MessageResult> =>
    handleEvent(body).catch((error: unknown) => {
      const [tenant = messageId] = parseEmailEvent(body)?.detail.mail.tags.tenant ?? [];
      const result = isTenantThrottled(error, tenant) ? 'throttled_keys' : 'internal_error';
      logger.error('email event not recorded', { result, message_id: messageId, ...errorTrace(error) });
      return result;
    });

  const returnToEmailEventQueue = (message: SQSRecord): Promise<void> =>
    queues
      .changeVisibility(
        environment.EMAIL_EVENTS_QUEUE,
        message,
        Math.ceil(internalErrorDelayMs(Number(message.attributes.ApproximateReceiveCount), 1) / 1_000),
      )
      .catch((error: unknown) => logger.error('visibility change failed', errorTrace(error)));

  return async ({ Records: messages }, context) => {
    logger.appendKeys({ request_id: context?.awsRequestId });
    const results = await Promise.all(
      messages.map(async (message) => ({ message, result: await handleMessage(message) })),
    );
    const messagesWith = (wanted: MessageResult) =>
      results.filter(({ result }) => result === wanted).map(({ message }) => message);
    const failed = messagesWith('internal_error');
    const throttled = messagesWith('throttled_keys');
    const returned = [...messagesWith('not_due'), ...throttled, ...failed];
    await Promise.all(returned.map(returnToEmailEventQueue));
    const sentAtMs = failed.map(({ attributes }) => Number(attributes.SentTimestamp));
    count(
      { throttled_keys: throttled.length },
      { function: 'record-email-events' },
      {},
      {
        handled: messages.length - returned.length,
        internalErrors: failed.length,
        oldestUnprocessedSeconds: oldestAgeSeconds(sentAtMs, clock()),
      },
    );
    return { batchItemFailures: returned.map(({ messageId }) => ({ itemIdentifier: messageId })) };
  };
};
