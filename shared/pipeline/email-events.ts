import type { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import type { Context, SQSBatchResponse, SQSEvent, SQSRecord } from 'aws-lambda';
import * as z from 'zod/mini';
import { createBounceRecorder } from '../adapters/deliveries/bounce-recorder.ts';
import { createThrottlingWatch } from '../adapters/dynamodb/key-throttling.ts';
import { errorTrace, logger } from '../adapters/logger.ts';
import { count, oldestAgeSeconds } from '../adapters/metrics.ts';
import type { Queues } from '../adapters/queues.ts';
import type { Clock } from '../domain/clock.ts';
import { parseDeliveryPartition } from '../domain/delivery-key.ts';
import { deliveryKeyFromTags, type EmailEventKind, emailEventKinds } from '../domain/email-event.ts';
import { returnWithBackoff } from './return-with-backoff.ts';

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

/** The result of a message. Messages with a result other than `handled` return to the queue. */
type MessageResult = 'handled' | 'not_due' | 'throttled_keys' | 'internal_error';

/**
 * Creates the Lambda handler that records what SES reports about accepted emails (DECISIONS.md#bounces). A bounce or a
 * reject sets the delivery to `bounced`. A complaint is only counted, because the email was delivered. Any other
 * message is counted and acknowledged, because retrying would not help.
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
    const notification = key && parseDeliveryPartition(key.pk);
    const result = key && kind !== 'Complaint' ? await recordBounce(key) : undefined;
    logger.warn('email event', {
      kind,
      ses_message_id: messageId,
      result,
      tenant_id: notification?.tenant,
      notification_id: notification?.notificationId,
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
    await Promise.all(returned.map((message) => returnWithBackoff(queues, environment.EMAIL_EVENTS_QUEUE, message)));
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
