import { z } from 'zod';
import { deliveryStatuses } from '../../shared/contracts/outcomes.ts';
import { parseDeliveryPartition } from '../../shared/domain/delivery-key.ts';
import { isHeartbeat } from '../../shared/domain/heartbeat.ts';
import { type NotificationKey, operatorsNotification } from '../../shared/domain/notification.ts';
import type { Session } from './session.ts';
import { scanTable } from './table-scan.ts';

/** The number of deliveries of a type with an outcome: a message outcome, or a delivery status for a local stack. */
export type OutcomeCount = { type: string; outcome: string; deliveries: number };

/** More than a local stack delivers in an hour. Reading this many takes seconds. */
const MAX_RECORDS = 20_000;

const recordSchema = z.object({ pk: z.string(), status: z.enum(deliveryStatuses) });
type Recorded = z.infer<typeof recordSchema>;

/** Scans table Deliveries for the deliveries whose round started since a time: at most about `MAX_RECORDS` items. */
const recordsSince = async (
  session: Session,
  sinceMs: number,
): Promise<{ records: Recorded[]; isComplete: boolean }> => {
  const records: Recorded[] = [];
  const filter = {
    FilterExpression: 'round_started_at_ms >= :since',
    ExpressionAttributeValues: { ':since': sinceMs },
  };
  for await (const { items, scanned, isLast } of scanTable(
    session,
    session.deployment.outputs.DeliveriesTable,
    filter,
  )) {
    records.push(...items.map((item) => recordSchema.parse(item)));
    if (scanned >= MAX_RECORDS) return { records, isComplete: isLast };
  }
  return { records, isComplete: true };
};

/** Counts the deliveries whose round started since a time, by notification type and status, without heartbeats. */
export const recordedDeliveries = async (
  session: Session,
  sinceMs: number,
): Promise<{ counts: OutcomeCount[]; isComplete: boolean }> => {
  const { records, isComplete } = await recordsSince(session, sinceMs);
  const found = records.flatMap(({ pk, status }) => {
    const { tenant, notificationId: id } = parseDeliveryPartition(pk);
    return isHeartbeat({ tenant_id: tenant }) ? [] : [{ key: { tenant, id }, status }];
  });
  const targets = session.notifications.targets(found.map(({ key }) => key));
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
