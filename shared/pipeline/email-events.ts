import type { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import type { Context, SQSBatchResponse, SQSEvent, SQSRecord } from 'aws-lambda';
import * as z from 'zod/mini';
import { createEmailStops } from '../adapters/accounts/email-stops.ts';
import { createDeliveryReader } from '../adapters/deliveries/delivery-reader.ts';
import { createDeliveryChanges, createDeliveryRepository } from '../adapters/deliveries/delivery-repository.ts';
import { logger } from '../adapters/logger.ts';
import type { Queues } from '../adapters/queues.ts';
import type { DeliveryRecord, EmailReport } from '../contracts/delivery-record.ts';
import { boundedText } from '../contracts/text.ts';
import { type DeliveryKey, deliveryId, parseDeliveryPartition } from '../domain/delivery-key.ts';
import { deliveryKeyFromTags, emailEventKinds, tenantOfTag } from '../domain/email-event.ts';
import { addressHash, type Recipient } from '../domain/email-stop.ts';
import type { Clock } from '../domain/time.ts';
import type { ParsedEnvironment } from '../environment.ts';
import type { Counts } from './batch-consumer.ts';
import { createQueueConsumer } from './queue-consumer.ts';
import { createStopReports } from './report-messages.ts';

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
  bounce: z.optional(z.object({ bounceType: z.optional(z.string()), timestamp: z.optional(time) })),
  complaint: z.optional(
    z.object({
      timestamp: z.optional(time),
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
    ? {
        ...event,
        eventType: 'Bounce',
        bounce: { bounceType: 'Permanent', timestamp: event.complaint.timestamp },
        complaint: undefined,
      }
    : event;

const parseEmailEvent = (body: string): EmailEvent | undefined => {
  try {
    const { data } = emailEvent.safeParse(JSON.parse(body));
    return data && asBounce(data);
  } catch {
    return undefined;
  }
};

type ProblemEvent = EmailEvent & { eventType: Problem };

type Tags = EmailEvent['mail']['tags'];

/** Undefined if this service did not create the tags. */
const keyFromTags = ({ notification, tenant, event }: Partial<Tags>): DeliveryKey | undefined =>
  deliveryKeyFromTags({ notification: notification?.[0], tenant: tenant?.[0], event: event?.[0] });

const isProblem = (event: EmailEvent): event is ProblemEvent => event.eventType in problemMetrics;

/** Returns what the record says, nothing of a complaint that it is not spam. */
const reportOf = ({ eventType, bounce, complaint }: ProblemEvent): EmailReport | undefined => {
  if (eventType === 'Bounce') return bounce?.bounceType === 'Permanent' ? 'bounce' : 'temporary_bounce';
  if (eventType === 'Reject') return 'reject';
  return complaint?.complaintFeedbackType === 'not-spam' ? undefined : 'complaint';
};

/** Undefined if SES names neither recipient nor tenant. */
const recipientOf = ({ tags, destination: [address] = [] }: EmailEvent['mail']): Recipient | undefined => {
  const tenant = tenantOfTag(tags.tenant?.[0] ?? '');
  return tenant === undefined || address === undefined ? undefined : { tenant, address };
};

/** The hash that the delivery stores. A recipient that SES does not name is the only one. */
const hashOf = (record: DeliveryRecord, address: string | undefined): string => {
  const { pk, event_id, reached_recipient_hashes = [] } = record;
  const [onlyRecipient, ...others] = reached_recipient_hashes;
  if (address === undefined && onlyRecipient !== undefined && others.length === 0) return onlyRecipient;
  const { tenant, id: notificationId } = parseDeliveryPartition(pk);
  return addressHash(deliveryId({ tenant_id: tenant, event_id }, notificationId), address ?? '');
};

/**
 * Creates the handler that records what SES reports about emails, whatever the status of the delivery
 * (docs/decisions/formats.md#email-events). Permanent bounces and complaints stop the mailbox.
 */
export const createEmailEventRecorder = (
  client: DynamoDBDocumentClient,
  queues: Pick<Queues, 'changeVisibility' | 'sendAll'>,
  environment: ParsedEnvironment<'record-email-events'>,
  clock: Clock = Date.now,
): ((event: SQSEvent, context?: Context) => Promise<SQSBatchResponse>) => {
  const { read } = createDeliveryReader(client, environment.DELIVERIES_TABLE);
  const { recordEmailReport, recordEmailTime } = createDeliveryChanges(client, environment.DELIVERIES_TABLE);
  const { markBounced } = createDeliveryRepository(client, environment.DELIVERIES_TABLE);
  const stops = createEmailStops(client, environment.ACCOUNTS_TABLE, clock);
  const reportStop = createStopReports(queues, environment.REPORTS_QUEUE);

  /** An email of a test has no record. */
  const recordProgress = async ({ eventType, mail, delivery, deliveryDelay }: EmailEvent): Promise<Counts> => {
    const key = keyFromTags(mail.tags);
    const timeMs = (eventType === 'Delivery' ? delivery : deliveryDelay)?.timestamp;
    if (timeMs === undefined) {
      logger.warn('email event ignored');
      return { email_events_ignored: 1 };
    }
    const [recipient, stopSinceMs] = [recipientOf(mail), Number(mail.tags.stop?.[0])];
    if (eventType === 'Delivery' && recipient && stopSinceMs > 0) await stops.endBounce(recipient, stopSinceMs);
    if (!key) return {};
    const [name, metric] =
      eventType === 'Delivery'
        ? (['confirmed_at_ms', 'email_confirmations'] as const)
        : (['delayed_at_ms', 'email_delays'] as const);
    return (await recordEmailTime(key, name, timeMs)) ? { [metric]: 1 } : {};
  };

  /** Stops the mailbox, and reports that, also if the event is repeated. `reportedAtMs`: when SQS accepted it. */
  const stopMailbox = async (event: ProblemEvent, reportedAtMs: number): Promise<void> => {
    const recipient = recipientOf(event.mail);
    const report = reportOf(event);
    if (!recipient || (report !== 'bounce' && report !== 'complaint')) return;
    const begin = report === 'bounce' ? stops.bounce : stops.complain;
    const stop = await begin(recipient, event.mail.timestamp ?? reportedAtMs);
    if (stop) await reportStop(recipient, stop);
  };

  /** The sender finds a bounce that comes before it has recorded all sends. `no_record`: the email was a test. */
  const recordReport = async (
    key: DeliveryKey,
    { eventType, mail: { destination: [address] = [] } }: ProblemEvent,
    report: EmailReport,
    atMs: number,
  ): Promise<'bounced' | 'recorded' | 'repeated' | 'no_record'> => {
    const found = await read(key);
    if (!found) return 'no_record';
    const bounced = eventType === 'Complaint' ? undefined : hashOf(found, address);
    const isRepeated = bounced
      ? found.bounced_recipient_hashes?.has(bounced)
      : found.email_report === report && found.email_reported_at_ms === atMs;
    const added = await recordEmailReport(key, report, atMs, bounced);
    if (!added) return 'no_record';
    const { status } = await markBounced(added, clock());
    if (isRepeated) return 'repeated';
    return status === 'bounced' ? 'bounced' : 'recorded';
  };

  const recordProblem = async (event: ProblemEvent, { attributes }: SQSRecord): Promise<Counts> => {
    const { eventType: kind, mail, bounce, complaint } = event;
    const key = keyFromTags(mail.tags);
    const acceptedAtMs = Number(attributes.SentTimestamp);
    await stopMailbox(event, acceptedAtMs);
    const report = reportOf(event);
    const atMs = (bounce ?? complaint)?.timestamp ?? acceptedAtMs;
    const result = key && report && (await recordReport(key, event, report, atMs));
    logger.warn('email event', {
      kind,
      ses_message_id: mail.messageId,
      result,
      tenant_id: tenantOfTag(mail.tags.tenant?.[0] ?? ''),
      notification_id: key && parseDeliveryPartition(key.pk).id,
    });
    return result === 'repeated' ? { email_events_repeated: 1 } : { [problemMetrics[kind]]: 1 };
  };

  return createQueueConsumer<EmailEvent>({
    name: 'record-email-events',
    queueUrl: environment.EMAIL_EVENTS_QUEUE,
    queues,
    clock,
    parse: parseEmailEvent,
    invalidMetric: 'email_events_ignored',
    idsOf({ mail: { tags } }) {
      const key = keyFromTags(tags);
      const delivery = key && parseDeliveryPartition(key.pk);
      return { tenant_id: delivery?.tenant, notification_id: delivery?.id };
    },
    process: async ({ message, body: event }) =>
      isProblem(event) ? recordProblem(event, message) : recordProgress(event),
  });
};
