import type { SQSRecord } from 'aws-lambda';
import type { DeliveryRepository } from '../../adapters/deliveries/delivery-repository.ts';
import type { FailedMessages } from '../../adapters/deliveries/failed-messages.ts';
import type { IncidentLocks } from '../../adapters/deliveries/incident-locks.ts';
import type { IsTenantThrottled } from '../../adapters/dynamodb/key-throttling.ts';
import type { Queues } from '../../adapters/queues.ts';
import type { Delivery } from '../../contracts/messages.ts';
import type { NotificationTypeId } from '../../contracts/notification-types.ts';
import type { MessageOutcome } from '../../contracts/outcomes.ts';
import type { Clock } from '../../domain/clock.ts';
import { deliveryId } from '../../domain/delivery-key.ts';
import type { Settlement } from '../../domain/delivery-metrics.ts';
import type { DeliveryRecord } from '../../domain/delivery-record.ts';
import { type EventTime, readEventTime } from '../../domain/event-time.ts';
import type { Transport } from '../../domain/transport.ts';
import type { DeliveryReports } from '../notices/delivery-reports.ts';

/** The type, transport, repository, queues and settings of a sender. */
export type SenderDependencies = {
  type: NotificationTypeId;
  transport: Transport;
  deliveries: DeliveryRepository;
  incidentLocks: IncidentLocks;
  failedMessages: FailedMessages;
  queues: Queues;
  /** The URL of each type's queue for first attempts. */
  queueUrls: Record<NotificationTypeId, string>;
  /** The URL of this type's retry queue. */
  retryQueueUrl: string;
  deadLetterQueueUrl: string;
  retryDelayScale: number;
  reports: DeliveryReports;
  clock: Clock;
  isTenantThrottled: IsTenantThrottled;
};

/** A message of the batch that the sender is processing. */
export type DeliveryJob = {
  dependencies: SenderDependencies;
  message: SQSRecord;
  /** The parsed body of the message. */
  body: Delivery;
  deliveryId: string;
  /** The times of the event. */
  time: EventTime;
  /** Shared by the jobs of a batch: how many of them are not settled (`settledJob`). */
  batch: { unsettled: number };
  /** Returns the milliseconds until the function times out. */
  timeLeft: () => number;
};

/** Creates the job of a message. */
export const createJob = (job: Omit<DeliveryJob, 'deliveryId' | 'time'>): DeliveryJob => {
  const { event, notification_id: notificationId, accepted_at_ms: acceptedAtMs } = job.body;
  return { ...job, deliveryId: deliveryId(event, notificationId), time: readEventTime(event, acceptedAtMs).time };
};

/** Returns the log fields that identify a delivery. */
export const idsOf = ({ dependencies, deliveryId, body }: DeliveryJob) => ({
  type: dependencies.type,
  delivery_id: deliveryId,
  tenant_id: body.event.tenant_id,
  event_id: body.event.event_id,
  notification_id: body.notification_id,
});

/** The result of processing a message. */
export type SettledMessage = Settlement & {
  outcome: MessageOutcome;
  /**
   * True if the message stays on its queue, with its visibility timeout already set. All other messages are
   * acknowledged.
   */
  isReturned?: true;
  /** The latency of a delivered and recorded alert in ms (`deliveryLatency`). */
  latencyMs?: number;
  /**
   * True if the delivery is unrecorded because DynamoDB throttles the tenant's partition key, which is not an outage.
   */
  isTenantThrottled?: boolean;
  /** True for a duplicate of a message that was delivered. */
  wasDelivered?: boolean;
  /**
   * The record, as written, of a delivery to report: it is failing, was dead-lettered, was cancelled, or bounced before
   * the sender had recorded it, so that the event may have reached nobody.
   */
  failing?: DeliveryRecord | undefined;
};

/** A job and its result. */
export type SettledJob = { job: DeliveryJob; settled: SettledMessage };
