import type { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import type { Context, SQSBatchResponse, SQSEvent, SQSRecord } from 'aws-lambda';
import * as z from 'zod/mini';
import { createAccountRepository } from '../adapters/accounts/account-repository.ts';
import { createEmailStops } from '../adapters/accounts/email-stops.ts';
import { type BounceResult, createBounceRecorder } from '../adapters/deliveries/bounce-recorder.ts';
import { createDeliveryRepository } from '../adapters/deliveries/delivery-repository.ts';
import { createDestinationListReader } from '../adapters/deliveries/destination-list.ts';
import { createThrottlingWatch } from '../adapters/dynamodb/errors.ts';
import { errorTrace, logger } from '../adapters/logger.ts';
import { count, emitMetrics, oldestAgeSeconds } from '../adapters/metrics.ts';
import { createNotificationReader } from '../adapters/notifications/notification-reader.ts';
import { createTargetReader } from '../adapters/notifications/notification-targets.ts';
import type { Queues } from '../adapters/queues.ts';
import { boundedText } from '../contracts/text.ts';
import type { Clock } from '../domain/clock.ts';
import { type DeliveryKey, parseDeliveryPartition } from '../domain/delivery-key.ts';
import { deliveryKeyFromTags, emailEventKinds, tenantOfTag } from '../domain/email-event.ts';
import type { EmailStop, Recipient } from '../domain/email-stop.ts';
import type { ParsedEnvironment } from '../environment.ts';
import { createFailureRecorder } from './failure-recorder.ts';
import { createDeliveryReports } from './notices/delivery-reports.ts';
import { eventOfRecord } from './notices/notification-notice.ts';
import { createStopNotices } from './notices/stop-notice.ts';
import { waitForNotices } from './notices/wait-for-notices.ts';
import { returnWithBackoff } from './return-with-backoff.ts';

/** A time of SES: `2026-01-01T10:00:00.123Z`. */
const time = z
  .pipe(
    boundedText({ max: 40 }),
    z.transform((text) => Date.parse(text)),
  )
  .check(z.refine(Number.isFinite));

/** SES sends tags as lists; each of this service's tags has one value. */
const tag = z.optional(z.tuple([z.string()]));

/** The fields of an SES event that are read: no subjects or server responses. Recipients are never logged. */
const emailEvent = z.object({
  eventType: z.enum(emailEventKinds),
  delivery: z.optional(z.object({ timestamp: time })),
  deliveryDelay: z.optional(z.object({ timestamp: time })),
  bounce: z.optional(z.object({ bounceType: z.optional(z.string()) })),
  complaint: z.optional(
    z.object({
      complaintFeedbackType: z.optional(z.nullable(z.string())),
      complaintSubType: z.optional(z.nullable(z.string())),
    }),
  ),
  mail: z.object({
    timestamp: z.optional(time),
    messageId: boundedText({ max: 128 }, z.regex(/^[\w.-]+$/)),
    /** Each email has one recipient. */
    destination: z.optional(z.array(z.string())),
    tags: z.object({ notification: tag, tenant: tag, event: tag, stop: tag }),
  }),
});

/** The events about emails that did not arrive or were not wanted, with their metrics. */
const problemMetrics = {
  Bounce: 'email_bounces',
  Complaint: 'email_complaints',
  Reject: 'email_rejects',
} as const;

type Problem = keyof typeof problemMetrics;

type EmailEvent = z.infer<typeof emailEvent>;

/** SES reports an email that it did not send, because an account-level list has its recipient, as a complaint. */
const asBounce = (event: EmailEvent): EmailEvent =>
  event.complaint?.complaintSubType === 'OnAccountSuppressionList'
    ? { ...event, eventType: 'Bounce', bounce: { bounceType: 'Permanent' }, complaint: undefined }
    : event;

const parseEmailEvent = (body: string): EmailEvent | undefined => {
  try {
    const { data } = emailEvent.safeParse(JSON.parse(body));
    return data && asBounce(data);
  } catch {
    return undefined;
  }
};

/** The result of a message. Messages with `throttled_keys` or `internal_error` return to the queue. */
type MessageResult = 'handled' | 'email_confirmations' | 'email_delays' | 'throttled_keys' | 'internal_error';

/** An event about an email that did not arrive or was not wanted. */
type ProblemEvent = EmailEvent & { eventType: Problem };

type Tags = EmailEvent['mail']['tags'];

/** Returns the key of the delivery record, or undefined if this service did not create the tags. */
const keyFromTags = ({ notification, tenant, event }: Partial<Tags>): DeliveryKey | undefined =>
  deliveryKeyFromTags({ notification: notification?.[0], tenant: tenant?.[0], event: event?.[0] });

const isReceivedAgain = ({ ApproximateReceiveCount }: SQSRecord['attributes']): boolean =>
  ApproximateReceiveCount !== '1';

const isProblem = (event: EmailEvent): event is ProblemEvent => event.eventType in problemMetrics;

/** Returns the recipient of an email, or undefined if SES names neither it nor the tenant. */
const recipientOf = ({ tags, destination: [address] = [] }: EmailEvent['mail']): Recipient | undefined => {
  const tenant = tenantOfTag(tags.tenant?.[0] ?? '');
  return tenant === undefined || address === undefined ? undefined : { tenant, address };
};

/**
 * Creates the Lambda handler that records what SES reports about accepted emails (docs/decisions/formats.md#email-events):
 * when an email was delivered or delayed, and in the record a bounce or a reject. A complaint leaves it unchanged, because
 * the email was delivered. Permanent bounces and complaints stop the mailbox (docs/decisions/opt-out.md). Stops and rejects
 * are reported to the technical contacts, and a delivery that has reached nobody else escalates. Any other message is
 * counted and acknowledged, because retrying would not help.
 */
export const createEmailEventRecorder = (
  client: DynamoDBDocumentClient,
  queues: Pick<Queues, 'changeVisibility' | 'sendDelayed'>,
  environment: ParsedEnvironment<'record-email-events'>,
  clock: Clock = Date.now,
): ((event: SQSEvent, context?: Context) => Promise<SQSBatchResponse>) => {
  const isTenantThrottled = createThrottlingWatch(clock);
  const deliveries = createDeliveryRepository(client, environment.DELIVERIES_TABLE);
  const recordBounce = createBounceRecorder(deliveries, clock);
  const recordFailures = createFailureRecorder(client, environment.DELIVERIES_TABLE, clock);
  const notifications = {
    ...createNotificationReader(client, environment.NOTIFICATIONS_TABLE),
    ...createTargetReader(client, environment.NOTIFICATIONS_TABLE),
  };
  const readDestinationList = createDestinationListReader(client, environment.DELIVERIES_TABLE);
  const accounts = createAccountRepository(client, environment.ACCOUNTS_TABLE, clock);
  const stops = createEmailStops(client, environment.ACCOUNTS_TABLE, clock);
  const reports = createDeliveryReports(
    { client, queues, notifications, deliveries, readDestinationList, accounts, clock },
    environment,
  );
  const reportStop = createStopNotices({ client, queues, accounts, stops, clock }, environment);

  /** Records the bounce or reject of an email. A complaint changes nothing. */
  const applyEvent = async (key: DeliveryKey, { eventType, mail }: ProblemEvent): Promise<BounceResult | undefined> => {
    if (eventType === 'Complaint') return undefined;
    const [address] = mail.destination ?? [];
    return recordBounce(key, address, eventType === 'Bounce' ? 'bounced' : 'rejected');
  };

  /**
   * Returns the reports of an email that bounced or was rejected, even if the event is repeated: the function may have
   * crashed before it reported the first one. A notice causes no further notice.
   *
   * @param sentAtMs when SQS accepted the event, ms since the epoch; the same if it is received again
   */
  const reportsOf = (
    { eventType }: ProblemEvent,
    { record, wasReached }: Exclude<BounceResult, { kind: 'no_record' }>,
    sentAtMs: number,
  ): Promise<unknown>[] => {
    const { tenant } = parseDeliveryPartition(record.pk);
    if (record.notice && record.notice !== 'summary') return [];
    const alarm = eventOfRecord(tenant, record);
    // Without a bounce, the last change of the record may be days old, but the notice belongs to the day of the report.
    const reported =
      record.status === 'bounced' ? record : { ...record, updated_at_ms: Math.max(record.updated_at_ms, sentAtMs) };
    return [
      ...(eventType === 'Reject' ? [reports.reportFailure(alarm, reported, true)] : []),
      // A recipient that had not been reached changes nothing: whoever records that it was reached finds the bounce.
      ...(wasReached ? [reports.escalateUnreached(alarm, reported, record.siblings)] : []),
    ];
  };

  const ignore = (): MessageResult => {
    logger.warn('email event ignored');
    count({ email_events_ignored: 1 });
    return 'handled';
  };

  /** Records when an email was delivered or delayed. An email of a test has no record. */
  const recordProgress = async ({ eventType, mail, delivery, deliveryDelay }: EmailEvent): Promise<MessageResult> => {
    const key = keyFromTags(mail.tags);
    const timeMs = (eventType === 'Delivery' ? delivery : deliveryDelay)?.timestamp;
    if (timeMs === undefined) return ignore();
    const [recipient, stopSinceMs] = [recipientOf(mail), Number(mail.tags.stop?.[0])];
    if (eventType === 'Delivery' && recipient && stopSinceMs > 0) await stops.endBounce(recipient, stopSinceMs);
    if (!key) return 'handled';
    const [name, metric] =
      eventType === 'Delivery'
        ? (['confirmed_at_ms', 'email_confirmations'] as const)
        : (['delayed_at_ms', 'email_delays'] as const);
    return (await deliveries.recordEmailTime(key, name, timeMs)) ? metric : 'handled';
  };

  /**
   * Stops the mailbox of an email that bounced permanently, or caused a complaint other than that it is not spam.
   *
   * @param reportedAtMs when SQS accepted the event
   * @returns the report of the stop, also if the event is repeated
   */
  const stopMailbox = async (
    { eventType, bounce, complaint, mail }: ProblemEvent,
    reportedAtMs: number,
  ): Promise<() => Promise<unknown>[]> => {
    const recipient = recipientOf(mail);
    const sentAtMs = mail.timestamp ?? reportedAtMs;
    const begin = async (): Promise<EmailStop | undefined> => {
      if (!recipient) return undefined;
      if (eventType === 'Bounce' && bounce?.bounceType === 'Permanent') return stops.bounce(recipient, sentAtMs);
      if (eventType === 'Complaint' && complaint?.complaintFeedbackType !== 'not-spam')
        return stops.complain(recipient, sentAtMs);
      return undefined;
    };
    const stop = await begin();
    return () => (recipient && stop ? [reportStop(recipient, stop)] : []);
  };

  const handleEvent = async (message: SQSRecord, timeLeft: () => number): Promise<MessageResult> => {
    const event = parseEmailEvent(message.body);
    if (!event) return ignore();
    return isProblem(event) ? handleProblem(event, message, timeLeft) : recordProgress(event);
  };

  const handleProblem = async (
    event: ProblemEvent,
    message: SQSRecord,
    timeLeft: () => number,
  ): Promise<MessageResult> => {
    const { attributes } = message;
    const { eventType: kind, mail } = event;
    const { messageId, tags } = mail;
    const key = keyFromTags(tags);
    const notification = key && parseDeliveryPartition(key.pk);
    const tenant = tenantOfTag(tags.tenant?.[0] ?? '');
    const sentAtMs = Number(attributes.SentTimestamp);
    const reportsOfStop = await stopMailbox(event, sentAtMs);
    const result = key && (await applyEvent(key, event));
    logger.warn('email event', {
      kind,
      ses_message_id: messageId,
      result: result?.kind,
      tenant_id: tenant,
      notification_id: notification?.notificationId,
    });
    // A complaint changes no record, so only the receive count tells that its report is repeated.
    const isRepeated = result?.kind === 'repeated' || (kind === 'Complaint' && isReceivedAgain(attributes));
    count(isRepeated ? { email_events_repeated: 1 } : { [problemMetrics[kind]]: 1 });
    if (result?.kind === 'bounced') {
      await recordFailures([{ record: result.record, isCounted: result.record.last_cause !== undefined }]);
    }
    const ofDelivery = result && 'record' in result ? reportsOf(event, result, sentAtMs) : [];
    await waitForNotices([...reportsOfStop(), ...ofDelivery], timeLeft);
    return 'handled';
  };

  const handleMessage = (message: SQSRecord, timeLeft: () => number): Promise<MessageResult> =>
    handleEvent(message, timeLeft).catch((error: unknown) => {
      const { body, messageId: message_id } = message;
      const key = keyFromTags(parseEmailEvent(body)?.mail.tags ?? {});
      const delivery = key && parseDeliveryPartition(key.pk);
      const result = isTenantThrottled(error, delivery?.tenant ?? message_id) ? 'throttled_keys' : 'internal_error';
      logger.error('email event not recorded', {
        result,
        message_id,
        tenant_id: delivery?.tenant,
        notification_id: delivery?.notificationId,
        ...errorTrace(error),
      });
      return result;
    });

  return async ({ Records: messages }, context) => {
    logger.appendKeys({ request_id: context?.awsRequestId });
    const timeLeft = () => context?.getRemainingTimeInMillis() ?? Number.POSITIVE_INFINITY;
    const results = await Promise.all(
      messages.map(async (message) => ({ message, result: await handleMessage(message, timeLeft) })),
    );
    const messagesWith = (wanted: MessageResult) =>
      results.filter(({ result }) => result === wanted).map(({ message }) => message);
    const failed = messagesWith('internal_error');
    const throttled = messagesWith('throttled_keys');
    count({
      email_confirmations: messagesWith('email_confirmations').length,
      email_delays: messagesWith('email_delays').length,
    });
    const returned = [...throttled, ...failed];
    await Promise.all(returned.map((message) => returnWithBackoff(queues, environment.EMAIL_EVENTS_QUEUE, message)));
    const sentAtMs = failed.map(({ attributes }) => Number(attributes.SentTimestamp));
    emitMetrics(
      {
        throttled_keys: throttled.length,
        internal_errors: failed.length,
        oldest_unprocessed_seconds: oldestAgeSeconds(sentAtMs, clock()),
      },
      { function: 'record-email-events' },
    );
    return { batchItemFailures: returned.map(({ messageId }) => ({ itemIdentifier: messageId })) };
  };
};
