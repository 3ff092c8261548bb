import { createHash } from 'node:crypto';
import type { AlarmEvent } from '../contracts/alarm-event.ts';
import { truncate } from './alert-text.ts';
import { eventIdTimeMs } from './event-time.ts';
import type { NotificationKey } from './notification.ts';

export const sha256 = (...values: string[]): string =>
  createHash('sha256').update(JSON.stringify(values)).digest('hex');

export type DeliveryKey = { pk: string; sk: string };

export const deliveryPartition = ({ tenant, id }: NotificationKey): string => `delivery#${id}#${tenant}`;

/** Of the stored bodies of failed deliveries. */
export const failedMessagePartition = ({ tenant, id }: NotificationKey): string => `failed#${id}#${tenant}`;

/** Of the failures of a tenant's notifications. It names no notification. */
export const failuresPartition = (tenant: string): string => `failures##${tenant}`;

export const outagePartition = ({ tenant, id }: NotificationKey): string => `outage#${id}#${tenant}`;

/** Notification IDs contain no `#`. */
export const parseDeliveryPartition = (pk: string): NotificationKey => {
  const [, id = '', ...tenant] = pk.split('#');
  return { tenant: tenant.join('#'), id };
};

/** 13 digits, so that the text sorts like the time. @param timeMs ms since the epoch, before 2286 */
export const sortableTime = (timeMs: number): string => String(timeMs).padStart(13, '0');

/** A part of the sort key of delivery records (`hashPart`). */
export const eventHash = ({ tenant_id, event_id }: Pick<AlarmEvent, 'tenant_id' | 'event_id'>): string =>
  sha256(tenant_id, event_id);

/** @param hash a hash of the ID of the summary, which contains no `#` */
export const summaryPartition = (tenant: string, hash: string): string => `summary#${hash}#${tenant}`;

export const destinationsPartition = (tenant: string, hash: string): string => `destinations#${hash}#${tenant}`;

/** Another event with the same ID finds this record (docs/decisions/events.md#event-identity). */
export const deliveryKey = (
  event: Pick<AlarmEvent, 'tenant_id' | 'event_id'>,
  notificationId: string,
): DeliveryKey => ({
  pk: deliveryPartition({ tenant: event.tenant_id, id: notificationId }),
  sk: `${sortableTime(eventIdTimeMs(event.event_id) ?? 0)}#${eventHash(event)}`,
});

/** For destinations and logs; the same in all attempts. */
export const deliveryId = (event: Pick<AlarmEvent, 'tenant_id' | 'event_id'>, notificationId: string): string =>
  sha256(event.tenant_id, event.event_id, notificationId).slice(0, 32);

/** IDs of entities and alarms have no maximum length; records store this many code points. */
const MAX_ID_LENGTH = 128;

/** DynamoDB rejects lone surrogates. */
export const shortenedId = (id: string): string => truncate(id, MAX_ID_LENGTH).toWellFormed();

export const hashPart = ({ sk }: Pick<DeliveryKey, 'sk'>): string => sk.slice(sk.indexOf('#') + 1);

/** The sort key without `#`, which URLs would have to encode. */
export const historyMarker = (sk: string): string => sk.replace('#', '-');

export const sortKeyOfMarker = (marker: string): string | undefined =>
  /^\d{13}-[\da-f]{64}$/.test(marker) ? marker.replace('-', '#') : undefined;
