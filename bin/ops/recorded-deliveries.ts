import { parseDeliveryPartition } from '../../shared/domain/delivery-key.ts';
import type { Session } from './session.ts';

/** How many deliveries of a type came to this. */
export type OutcomeCount = { type: string; outcome: string; deliveries: number };

/** Records that are looked at: enough for what one machine delivers in an hour, and soon done. */
const MAX_RECORDS = 20_000;

/** Counts the deliveries that began since a time (ms), by the types of their notifications. */
export async function recordedDeliveries(
  { deliveries, notifications }: Session,
  since: number,
): Promise<{ counts: OutcomeCount[]; isComplete: boolean }> {
  const { records, isComplete } = await deliveries.listSince(since, MAX_RECORDS);
  const found = records.map(({ pk, status }) => {
    const { tenant, notificationId: id } = parseDeliveryPartition(pk);
    return { key: { tenant, id }, status };
  });
  const targets = notifications.targets(found.map(({ key }) => key));
  const words = await Promise.all(
    found.map(async ({ key, status }) => `${(await targets.find(key))?.type ?? 'of deleted notifications'}#${status}`),
  );
  const counts = [...Map.groupBy(words, (word) => word)].map(([word, same]) => {
    const [type = '', outcome = ''] = word.split('#');
    return { type, outcome, deliveries: same.length };
  });
  return {
    counts: counts.toSorted((one, other) => one.type.localeCompare(other.type)),
    isComplete,
  };
}
