import type { SQSRecord } from 'aws-lambda';
import type { AccountRepository } from '../../adapters/accounts/account-repository.ts';
import type { DeliveryRepository } from '../../adapters/deliveries/delivery-repository.ts';
import type { FailedMessages } from '../../adapters/deliveries/failed-messages.ts';
import type { IncidentLocks } from '../../adapters/deliveries/incident-locks.ts';
import type { IsTenantThrottled } from '../../adapters/dynamodb/errors.ts';
import type { Queues } from '../../adapters/queues.ts';
import { withRetries } from '../../adapters/waiting.ts';
import type { Delivery } from '../../contracts/messages.ts';
import { type NotificationTypeId, notificationTypes } from '../../contracts/notification-types.ts';
import { deliveryId } from '../../domain/delivery-key.ts';
import type { EventTime } from '../../domain/event-time.ts';
import type { Clock } from '../../domain/time.ts';

export type SenderDependencies = {
  type: NotificationTypeId;
  accounts: Pick<AccountRepository, 'isShadowed' | 'summaries'>;
  deliveries: DeliveryRepository;
  incidentLocks: IncidentLocks;
  failedMessages: FailedMessages;
  queues: Queues;
  /** The URL of each type's queue for first attempts. */
  queueUrls: Record<NotificationTypeId, string>;
  retryQueueUrl: string;
  deadLetterQueueUrl: string;
  retryDelayScale: number;
  clock: Clock;
  isTenantThrottled: IsTenantThrottled;
};

export type DeliveryJob = {
  type: NotificationTypeId;
  message: SQSRecord;
  body: Delivery;
  deliveryId: string;
  time: EventTime;
  /** True if no older event of the incident may follow a newer one. */
  isOrdered: boolean;
  timeLeft: () => number;
};

export const createJob = (
  type: NotificationTypeId,
  job: Pick<DeliveryJob, 'message' | 'body' | 'timeLeft'>,
): DeliveryJob => {
  const { event, notification_id: notificationId, accepted_at_ms: acceptedAtMs, ordered } = job.body;
  return {
    ...job,
    type,
    deliveryId: deliveryId(event, notificationId),
    time: { producedAtMs: event.produced_at_ms, acceptedAtMs },
    isOrdered: notificationTypes[type].hasIncidents || (type === 'webhook' && ordered === true),
  };
};

export const idsOf = ({ type, deliveryId, body }: DeliveryJob) => ({
  type,
  delivery_id: deliveryId,
  tenant_id: body.event.tenant_id,
  event_id: body.event.event_id,
  notification_id: body.notification_id,
  ...(body.trace && { trace_id: body.trace.id }),
});

/** Returns whether a message is a notice about other deliveries. A summary is one of alerts. */
export const isNotice = ({ notice }: Delivery): boolean => notice !== undefined && notice.kind !== 'summary';

export type QueueUrls = Pick<SenderDependencies, 'type' | 'queueUrls' | 'retryQueueUrl'>;

export const queueUrlOf = ({ eventSourceARN }: SQSRecord, { type, queueUrls, retryQueueUrl }: QueueUrls): string =>
  eventSourceARN.split(':').at(-1) === retryQueueUrl.split('/').at(-1) ? retryQueueUrl : queueUrls[type];

export const isRetry = (message: SQSRecord, urls: QueueUrls): boolean =>
  queueUrlOf(message, urls) === urls.retryQueueUrl;

export const sentAtMs = ({ attributes }: SQSRecord): number => Number(attributes.SentTimestamp);

export const firstReceivedAtMs = ({ attributes }: SQSRecord): number =>
  Number(attributes.ApproximateFirstReceiveTimestamp);

/** A time that the clock of SQS has reached: the same for all senders, unlike that of an environment. */
export const sqsTimeMs = (message: SQSRecord): number => Math.max(sentAtMs(message), firstReceivedAtMs(message));

/** The maximum duration of a write: three SDK attempts of 4 s each (`awsConfig`), with backoff. */
const MIN_TIME_TO_WRITE_MS = 13_000;
/** Each following delay is twice as long. */
const FIRST_DELAY_MS = 250;
const MAX_DELAY_MS = 1_000;

/** Repeats a write while there is time: without the record, the recipient would get the alert twice. */
export const persist = <Result>(
  { timeLeft }: Pick<DeliveryJob, 'timeLeft'>,
  write: () => Promise<Result>,
): Promise<Result> =>
  withRetries(write, ({ status }, attempts) => {
    if (status === 'fulfilled') return undefined;
    const remainingMs = timeLeft() - MIN_TIME_TO_WRITE_MS;
    return remainingMs > 0 ? Math.min(FIRST_DELAY_MS * 2 ** (attempts - 1), MAX_DELAY_MS, remainingMs) : undefined;
  });
