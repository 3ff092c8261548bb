import { createHash } from 'node:crypto';
import type { AlarmEvent } from '../contracts/alarm-event.ts';
import { truncate } from './alert-text.ts';
import { eventIdTimeMs } from './event-time.ts';
import type { NotificationKey } from './notification.ts';

const sha256 = (...values: string[]): string => createHash('sha256').update(JSON.stringify(values)).digest('hex');

/** The primary key of a delivery record (table Deliveries). */
export type DeliveryKey = { pk: string; sk: string };

/** Returns the partition key of a notification's deliveries. */
export const deliveryPartition = ({ tenant, id }: NotificationKey): string => `delivery#${id}#${tenant}`;

/** Returns the partition key of the stored bodies of a notification's failed deliveries. */
export const failedMessagePartition = ({ tenant, id }: NotificationKey): string => `failed#${id}#${tenant}`;

/** Returns the partition key of the failures of a tenant's notifications. It names no notification. */
export const failuresPartition = (tenant: string): string => `failures##${tenant}`;

/** Returns the partition key of the last outage of a notification. */
export const outagePartition = ({ tenant, id }: NotificationKey): string => `outage#${id}#${tenant}`;

/** Returns the tenant and notification of a partition key. Notification IDs contain no `#`. */
export const parseDeliveryPartition = (pk: string): NotificationKey => {
  const [, id = '', ...tenant] = pk.split('#');
  return { tenant: tenant.join('#'), id };
};

/** Returns a time as 13 digits, so that its text sorts like the time. @param timeMs ms since the epoch, before 2286 */
export const sortableTime = (timeMs: number): string => String(timeMs).padStart(13, '0');

/** Returns the hash of an event's ID, a part of the sort key of its delivery records (`hashPart`). */
export const eventHash = ({ tenant_id, event_id }: Pick<AlarmEvent, 'tenant_id' | 'event_id'>): string =>
  sha256(tenant_id, event_id);

/** Returns the partition key of alerts of a summary. @param hash a hash of its ID, which contains no `#` */
export const summaryPartition = (tenant: string, hash: string): string => `summary#${hash}#${tenant}`;

/** Returns the partition key of the list of an event's destinations. */
export const destinationsPartition = (tenant: string, hash: string): string => `destinations#${hash}#${tenant}`;

/**
 * Returns the key of the record for an event and a notification. It depends on the event's ID only, so that another
 * event with the same ID finds this record (docs/decisions/events.md#event-identity). The sort key starts with the time
 * of the event.
 */
export const deliveryKey = (
  event: Pick<AlarmEvent, 'tenant_id' | 'event_id'>,
  notificationId: string,
): DeliveryKey => ({
  pk: deliveryPartition({ tenant: event.tenant_id, id: notificationId }),
  sk: `${sortableTime(eventIdTimeMs(event.event_id) ?? 0)}#${eventHash(event)}`,
});

/** Returns the ID of a delivery for destinations and logs; it is the same in all attempts. */
export const deliveryId = (event: Pick<AlarmEvent, 'tenant_id' | 'event_id'>, notificationId: string): string =>
  sha256(event.tenant_id, event.event_id, notificationId).slice(0, 32);

/** IDs of entities and alarms have no maximum length; records store this many code points. */
const MAX_ID_LENGTH = 128;

/** Returns the ID of an entity or alarm as stored. DynamoDB rejects lone surrogates. */
export const shortenedId = (id: string): string => truncate(id, MAX_ID_LENGTH).toWellFormed();

/** Returns the hash part of a record's sort key. */
export const hashPart = ({ sk }: Pick<DeliveryKey, 'sk'>): string => sk.slice(sk.indexOf('#') + 1);

/** Returns the paging marker of a record: its sort key without `#`, which URLs would have to encode. */
export const historyMarker = (sk: string): string => sk.replace('#', '-');

/** Returns the sort key of a marker, or undefined if it is none. */
export const sortKeyOfMarker = (marker: string): string | undefined =>
  /^\d{13}-[\da-f]{64}$/.test(marker) ? marker.replace('-', '#') : undefined;
