import type { DeliveryReader } from '../../adapters/deliveries/delivery-reader.ts';
import { MAX_BATCH_KEYS } from '../../adapters/dynamodb/read-each.ts';
import type { NotificationRepository, TargetReads } from '../../adapters/notifications/notification-repository.ts';
import { UnreadableNotificationError } from '../../adapters/notifications/notification-targets.ts';
import { type DeliveryKey, deliveryKey, deliveryPartition, parseDeliveryPartition } from '../../domain/delivery-key.ts';
import { type DeliveryRecord, isMuted } from '../../domain/delivery-record.ts';
import { hasReachedRecipient, isUnreached, unreachedAtMs } from '../../domain/delivery-status.ts';
import { inBatches } from '../../domain/in-batches.ts';
import type { NotificationKey } from '../../domain/notification.ts';
import { MAX_LISTED_DESTINATIONS, type UnreachedDelivery } from './notice-table.ts';

export type CheckDependencies = {
  notifications: Pick<NotificationRepository, 'targets'>;
  deliveries: Pick<DeliveryReader, 'readReadable'>;
  random: () => number;
};

type Destination = Omit<UnreachedDelivery, 'notification'>;

/** The destinations of an event that has reached none of them. */
export type UnreachedDestinations = {
  count: number;
  /** When the last of them failed, ms since the epoch; 0 if none has a record. */
  atMs: number;
  isMuted: boolean;
  /** As many as a notice lists, those with a record first. */
  listed: readonly Destination[];
};

const stateOf = async (targets: TargetReads, key: NotificationKey): Promise<'exists' | 'deleted' | 'unreadable'> => {
  try {
    return (await targets.find(key)) ? 'exists' : 'deleted';
  } catch (error) {
    if (error instanceof UnreadableNotificationError) return 'unreadable';
    throw error;
  }
};

/** Returns the key of the summary that may still deliver an alert, if there is one. */
const summaryKey = (record: DeliveryRecord): DeliveryKey[] => {
  if (record.status !== 'summarized' || record.summary_id === undefined || hasReachedRecipient(record)) return [];
  const { tenant, id: notificationId } = parseDeliveryPartition(record.pk);
  return [deliveryKey({ tenant_id: tenant, event_id: record.summary_id }, notificationId)];
};

const hasNoRecord = ({ record }: Destination): number => (record ? 0 : 1);

/**
 * Creates the check whether an event has reached none of its destinations (docs/decisions/notices.md#nobody-reached).
 */
export const createUnreachedCheck = ({ notifications, deliveries, random }: CheckDependencies, scale: number) => {
  /**
   * If a summary lists the alert, and it has reached nobody before, the record is that of the summary: until that is
   * final, the alert may arrive.
   */
  const readRecords = async (keys: readonly DeliveryKey[]) => {
    const found = await deliveries.readReadable(keys);
    const summaries = await deliveries.readReadable(found.records.flatMap(summaryKey));
    const idOf = ({ pk }: DeliveryKey): string => parseDeliveryPartition(pk).id;
    const unreadable = new Set([...found.unreadable, ...summaries.unreadable].map(idOf));
    const records = new Map([...found.records, ...summaries.records].map((record) => [idOf(record), record]));
    for (const id of unreadable) records.delete(id);
    return { records, unreadable };
  };

  /**
   * A notification without a record has not been attempted yet, unless it was deleted. If it or its record cannot be
   * read, it counts as one that does not receive the alert.
   */
  const unreachedIn = async (
    tenant: string,
    sk: string,
    ids: readonly string[],
  ): Promise<Destination[] | 'reached' | 'unattempted'> => {
    const keys = ids.map((notificationId) => ({ pk: deliveryPartition({ tenant, id: notificationId }), sk }));
    const { records, unreadable } = await readRecords(keys);
    if (![...records.values()].every((record) => isUnreached(record, scale))) return 'reached';
    const unattempted = ids.filter((id) => !records.has(id) && !unreadable.has(id));
    const targets = notifications.targets(unattempted.map((id) => ({ tenant, id })));
    const states = new Map(
      await Promise.all(unattempted.map(async (id) => [id, await stateOf(targets, { tenant, id })] as const)),
    );
    if ([...states.values()].includes('exists')) return 'unattempted';
    return ids.map((notificationId) => ({
      notificationId,
      record: records.get(notificationId),
      isUnreadable: unreadable.has(notificationId) || states.get(notificationId) === 'unreadable',
    }));
  };

  /**
   * Reads 100 destinations at a time, up to the first one that the alert has reached or may reach soon. The start is
   * random, so that deliveries that fail one after the other find such a destination early. @throws ServiceError
   * serviceUnavailable, UnprocessedKeyError or the SDK's error
   */
  return async (
    tenant: string,
    sk: string,
    ids: readonly string[],
  ): Promise<UnreachedDestinations | 'reached' | 'unattempted'> => {
    const start = ids.length > MAX_BATCH_KEYS ? Math.floor(random() * ids.length) : 0;
    const rotated = [...ids.slice(start), ...ids.slice(0, start)];
    let atMs = 0;
    let areMuted = true;
    let listed: readonly Destination[] = [];
    for (const batch of inBatches(rotated, MAX_BATCH_KEYS)) {
      const found = await unreachedIn(tenant, sk, batch);
      if (typeof found === 'string') return found;
      atMs = Math.max(atMs, ...found.map(({ record }) => (record ? unreachedAtMs(record) : 0)));
      areMuted = areMuted && found.every(({ record }) => record && isMuted(record));
      listed = [...listed, ...found]
        .toSorted((one, other) => hasNoRecord(one) - hasNoRecord(other))
        .slice(0, MAX_LISTED_DESTINATIONS);
    }
    return { count: ids.length, atMs, isMuted: areMuted, listed };
  };
};
export type FindUnreached = ReturnType<typeof createUnreachedCheck>;
