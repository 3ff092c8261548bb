import type { SQSRecord } from 'aws-lambda';
import type { Delivery } from '../../contracts/messages.ts';
import type { NotificationTypeId } from '../../contracts/notification-types.ts';
import type { MessageOutcome } from '../../contracts/outcomes.ts';
import { deliveryId } from '../../domain/delivery-key.ts';
import type { Settlement } from '../../domain/delivery-metrics.ts';
import { eventTime } from '../../domain/event-header.ts';
import type { EventTime } from '../../domain/event-time.ts';
import { createDeliveryWrites, type DeliveryWrites } from './delivery-writes.ts';
import type { SenderDependencies } from './sender-dependencies.ts';

/** A message of the batch that the sender is processing. */
export type DeliveryJob = {
  type: NotificationTypeId;
  message: SQSRecord;
  /** The parsed body of the message. */
  body: Delivery;
  deliveryId: string;
  /** The times of the event. */
  time: EventTime;
  /** Returns the milliseconds until the function times out. */
  timeLeft: () => number;
  /** The writes of the delivery's record. */
  writes: DeliveryWrites;
};

/** Creates the job of a message. */
export const createJob = (
  dependencies: Pick<SenderDependencies, 'type' | 'deliveries' | 'clock'>,
  job: Pick<DeliveryJob, 'message' | 'body' | 'timeLeft'>,
): DeliveryJob => {
  const { event, notification_id: notificationId, accepted_at_ms: acceptedAtMs } = job.body;
  return {
    ...job,
    type: dependencies.type,
    deliveryId: deliveryId(event, notificationId),
    time: eventTime(event, acceptedAtMs),
    writes: createDeliveryWrites(dependencies),
  };
};

/** Returns the log fields that identify a delivery. */
export const idsOf = ({ type, deliveryId, body }: DeliveryJob) => ({
  type,
  delivery_id: deliveryId,
  tenant_id: body.event.tenant_id,
  event_id: body.event.event_id,
  notification_id: body.notification_id,
  ...(body.trace && { trace_id: body.trace.id }),
});

/** The result of processing a message. */
export type SettledMessage = Settlement & {
  outcome: MessageOutcome;
  /**
   * True if the message stays on its queue, with its visibility timeout already set. All other messages are
   * acknowledged.
   */
  isReturned?: true;
  /**
   * True if the delivery is unrecorded because DynamoDB throttles the tenant's partition key, which is not an outage.
   */
  isTenantThrottled?: boolean;
  /** True if the incident lock could not be advanced after the outcome, which is an internal error. */
  isLockNotAdvanced?: true;
  /**
   * True if the incident lock must advance to the event: a duplicate of a message that was delivered, or an alert in
   * shadow mode, which another system delivers.
   */
  advancesLock?: boolean;
};

/** A job and its result, and when it had it, ms since the epoch: the rest of the batch may take longer. */
export type SettledJob = { job: DeliveryJob; settled: SettledMessage; settledAtMs: number };
