import { parseDeliveryPartition } from '../../shared/domain/delivery-key.ts';
import { type NotificationKey, operatorsNotification } from '../../shared/domain/notification.ts';
import type { Session } from './session.ts';

/** The number of deliveries of a type with an outcome: a message outcome, or a delivery status for a local stack. */
export type OutcomeCount = { type: string; outcome: string; deliveries: number };

/** More than a local stack delivers in an hour. Reading this many takes seconds. */
const MAX_RECORDS = 20_000;

/** Counts the deliveries whose round started since a time, by notification type and status. */
export const recordedDeliveries = async (
  { deliveries, notifications }: Session,
  sinceMs: number,
): Promise<{ counts: OutcomeCount[]; isComplete: boolean }> => {
  const { records, isComplete } = await deliveries.listSince(sinceMs, MAX_RECORDS);
  const found = records.map(({ pk, status }) => {
    const { tenant, notificationId: id } = parseDeliveryPartition(pk);
    return { key: { tenant, id }, status };
  });
  const targets = notifications.targets(found.map(({ key }) => key));
  const typeOf = async (key: NotificationKey): Promise<string> =>
    key.id === operatorsNotification.id
      ? operatorsNotification.type
      : ((await targets.find(key))?.type ?? 'deleted notifications');
  const groupKeys = await Promise.all(found.map(async ({ key, status }) => `${await typeOf(key)}#${status}`));
  const counts = [...Map.groupBy(groupKeys, (groupKey) => groupKey)].map(([groupKey, members]) => {
    const [type = '', outcome = ''] = groupKey.split('#');
    return { type, outcome, deliveries: members.length };
  });
  return { counts: counts.toSorted((left, right) => left.type.localeCompare(right.type)), isComplete };
};
