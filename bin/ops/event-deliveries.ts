import { deliveryKey, parseDeliveryPartition } from '../../shared/domain/delivery-key.ts';
import type { DeliveryRecord } from '../../shared/domain/delivery-record.ts';
import { OPERATORS_NOTIFICATION_ID } from '../../shared/domain/notification-id.ts';
import type { Session } from './session.ts';

/** The number of notifications per page. Each page also reads their contents. */
const PAGE_SIZE = 50;

/** Lists the IDs of the notifications of a tenant that can have deliveries. Deleted notifications are not listed. */
export async function* notificationIds({ notifications }: Session, tenant: string): AsyncGenerator<string> {
  for await (const { id } of notifications.list(tenant, null, PAGE_SIZE)) yield id;
  // Its deliveries are the escalations of the tenant's alerts. It is not stored, so the list does not contain it.
  yield OPERATORS_NOTIFICATION_ID;
}

/**
 * Returns the delivery records of an event, strongly consistent and in any order. The key of a record is known, so one
 * read per 100 notifications finds them, however many deliveries the notifications have.
 *
 * @param ids the notifications whose records are read
 */
export const recordsOfEvent = async (
  { deliveries }: Session,
  { tenant, eventId }: { tenant: string; eventId: string },
  ids: Iterable<string>,
): Promise<(DeliveryRecord & { notification: string })[]> => {
  const keys = [...new Set(ids)].map((id) => deliveryKey({ tenant_id: tenant, event_id: eventId }, id));
  const records = await deliveries.readAll(keys);
  return records.map((record) => ({ ...record, notification: parseDeliveryPartition(record.pk).notificationId }));
};
