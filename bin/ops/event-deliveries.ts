import { deliveryKey, parseDeliveryPartition } from '../../shared/domain/delivery-key.ts';
import type { DeliveryRecord } from '../../shared/domain/delivery-record.ts';
import { OPERATORS_NOTIFICATION_ID } from '../../shared/domain/notification-id.ts';
import type { Session } from './session.ts';
import { targetsOf } from './targets.ts';

/** Returns the IDs of the notifications of a tenant that can have deliveries, without deleted notifications. */
export const notificationIds = async (session: Session, tenant: string): Promise<string[]> => {
  const listed = await Array.fromAsync(targetsOf(session, tenant), ({ id }) => id);
  // Its deliveries are the escalations of the tenant's alerts. It is not stored, so the list does not contain it.
  return [...listed, OPERATORS_NOTIFICATION_ID];
};

/** An event, and the notifications whose delivery records are read. */
export type RecordedEvent = { tenant: string; eventId: string; ids: Iterable<string> };

type EventRecord = DeliveryRecord & { notification: string };

/**
 * Returns the delivery records of events, in the order of the events, strongly consistent and each in any order. The
 * key of a record is known, so one read per 100 notifications finds them, however many deliveries the notifications
 * have.
 */
export const recordsOfEvents = async (
  { deliveries }: Pick<Session, 'deliveries'>,
  events: readonly RecordedEvent[],
): Promise<EventRecord[][]> => {
  const keysOf = ({ tenant, eventId, ids }: RecordedEvent) =>
    [...new Set(ids)].map((id) => deliveryKey({ tenant_id: tenant, event_id: eventId }, id));
  const textOf = ({ pk, sk }: Pick<DeliveryRecord, 'pk' | 'sk'>) => `${sk} ${pk}`;
  const keys = events.map(keysOf);
  const all = new Map(keys.flat().map((key) => [textOf(key), key]));
  const records = new Map((await deliveries.readAll([...all.values()])).map((record) => [textOf(record), record]));
  return keys.map((ofEvent) =>
    ofEvent.flatMap((key): EventRecord[] => {
      const record = records.get(textOf(key));
      return record ? [{ ...record, notification: parseDeliveryPartition(record.pk).notificationId }] : [];
    }),
  );
};
