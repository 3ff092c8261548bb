import type { SQSRecord } from 'aws-lambda';
import type { Delivery } from '../../contracts/messages.ts';
import { type NotificationTypeId, notificationTypes } from '../../contracts/notification-types.ts';
import { deliveryId } from '../../domain/delivery-key.ts';
import { eventTime } from '../../domain/event-header.ts';
import type { EventTime } from '../../domain/event-time.ts';

/** A message of the batch that the sender is processing. */
export type DeliveryJob = {
  type: NotificationTypeId;
  message: SQSRecord;
  /** The parsed body of the message. */
  body: Delivery;
  deliveryId: string;
  /** The times of the event. */
  time: EventTime;
  /** True if no older event of the incident may follow a newer one. */
  isOrdered: boolean;
  /** Returns the milliseconds until the function times out. */
  timeLeft: () => number;
};

/** Creates the job of a message. */
export const createJob = (
  type: NotificationTypeId,
  job: Pick<DeliveryJob, 'message' | 'body' | 'timeLeft'>,
): DeliveryJob => {
  const { event, notification_id: notificationId, accepted_at_ms: acceptedAtMs, ordered } = job.body;
  return {
    ...job,
    type,
    deliveryId: deliveryId(event, notificationId),
    time: eventTime(event, acceptedAtMs),
    isOrdered: notificationTypes[type].hasIncidents || (type === 'webhook' && ordered === true),
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
