import { createHash } from 'node:crypto';
import type { AlarmEvent } from '../contracts/alarm-event.ts';

const sha256 = (...parts: string[]): string => createHash('sha256').update(JSON.stringify(parts)).digest('hex');

/** The place of a delivery's record in table Deliveries. */
export type DeliveryKey = { pk: string; sk: string };

/** The partition of a notification's deliveries. */
export const deliveryPartition = ({ tenant, notificationId }: { tenant: string; notificationId: string }): string =>
  `delivery#${notificationId}#${tenant}`;

/** Whose deliveries a partition holds: ids of notifications have no `#`. */
export const partitionPlace = (pk: string): { tenant: string; notificationId: string } => {
  const [, notificationId = '', ...tenant] = pk.split('#');
  return { tenant: tenant.join('#'), notificationId };
};

/** The milliseconds inside an `event_id` (interface, Webhook payload); undefined where it has none. */
export const eventIdTime = (eventId: string): number | undefined => {
  const digits = /:(\d{13}):[^:]*$/.exec(eventId)?.[1];
  return digits === undefined ? undefined : Number(digits);
};

const sortableTime = (eventId: string): string => String(eventIdTime(eventId) ?? 0).padStart(13, '0');

/**
 * One record for each (event, notification). It follows from the event's id alone, so that the same `event_id` with other
 * content meets the same record; the time comes first, so that a notification's deliveries sort by it.
 */
export const deliveryKey = (
  { tenant_id: tenant, event_id: eventId }: AlarmEvent,
  notificationId: string,
): DeliveryKey => ({
  pk: deliveryPartition({ tenant, notificationId }),
  sk: `${sortableTime(eventId)}#${sha256(tenant, eventId)}`,
});

/** An id of a delivery that can be shown to receivers and written to logs: the same over all retries. */
export const deliveryId = (event: AlarmEvent, notificationId: string): string =>
  sha256(event.tenant_id, event.event_id, notificationId).slice(0, 32);
