import { createHash } from 'node:crypto';
import type { AlarmEvent } from '../contracts/alarm-event.ts';

const sha256 = (...values: string[]): string => createHash('sha256').update(JSON.stringify(values)).digest('hex');

/** The primary key of a delivery record (table Deliveries). */
export type DeliveryKey = { pk: string; sk: string };

/** Returns the partition key of a notification's deliveries. */
export const deliveryPartition = ({ tenant, notificationId }: { tenant: string; notificationId: string }): string =>
  `delivery#${notificationId}#${tenant}`;

/** Returns the tenant and notification of a partition key. Notification IDs contain no `#`. */
export const parseDeliveryPartition = (pk: string): { tenant: string; notificationId: string } => {
  const [, notificationId = '', ...tenant] = pk.split('#');
  return { tenant: tenant.join('#'), notificationId };
};

/** Returns the timestamp in an `event_id`, in ms since the epoch, if it has one (API.md#webhook-payload). */
export const eventIdTimeMs = (eventId: string): number | undefined => {
  const digits = /:(\d{13}):[^:]*$/.exec(eventId)?.[1];
  return digits === undefined ? undefined : Number(digits);
};

const sortableTime = (eventId: string): string => String(eventIdTimeMs(eventId) ?? 0).padStart(13, '0');

/**
 * Returns the key of the record for an event and a notification. It depends on the event's ID only, so that another
 * event with the same ID finds this record (DECISIONS.md#event-identity). The sort key starts with the time of the
 * event.
 */
export const deliveryKey = (
  { tenant_id: tenant, event_id: eventId }: AlarmEvent,
  notificationId: string,
): DeliveryKey => ({
  pk: deliveryPartition({ tenant, notificationId }),
  sk: `${sortableTime(eventId)}#${sha256(tenant, eventId)}`,
});

/** Returns the ID of a delivery for destinations and logs; it is the same in all attempts. */
export const deliveryId = (event: AlarmEvent, notificationId: string): string =>
  sha256(event.tenant_id, event.event_id, notificationId).slice(0, 32);
