import { lru } from 'tiny-lru';
import type { AwaitedSummaries } from '../../adapters/deliveries/awaited-summaries.ts';
import type { DeliveryRepository } from '../../adapters/deliveries/delivery-repository.ts';
import { MAX_BATCH_KEYS } from '../../adapters/dynamodb/batches.ts';
import type { NotificationRepository, TargetReads } from '../../adapters/notifications/notification-repository.ts';
import { UnreadableNotificationError } from '../../adapters/notifications/unreadable-notification.ts';
import type { Clock } from '../../domain/clock.ts';
import { deliveryKey, deliveryPartition, parseDeliveryPartition } from '../../domain/delivery-key.ts';
import { type DeliveryRecord, hasReachedRecipient, isUnreached } from '../../domain/delivery-record.ts';
import { inBatches } from '../../domain/in-batches.ts';
import type { NotificationKey } from '../../domain/notification.ts';
import type { UnreachedDelivery } from './notice-content.ts';
import { MAX_LISTED_DESTINATIONS } from './unreached-notice.ts';

/** The maximum number of summaries in the cache of an execution environment. */
const CACHE_SIZE = 1_000;

/** What the check uses. */
export type CheckDependencies = {
  notifications: Pick<NotificationRepository, 'targets'>;
  deliveries: Pick<DeliveryRepository, 'readAll'>;
  awaitedSummaries: Pick<AwaitedSummaries, 'add'>;
  clock: Clock;
  /** Returns a number from 0 up to 1, exclusive. */
  random: () => number;
};

type Destination = Omit<UnreachedDelivery, 'notification'>;

/** The destinations of an event that has reached none of them. */
export type UnreachedDestinations = {
  count: number;
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

/** The destinations of an event that has reached none of them, except perhaps in these summaries. */
type PossiblyUnreached = { destinations: Destination[]; summaryIds: string[] };

/** Returns the event ID of the summary that may still deliver an alert, if nothing else may. */
const awaitedSummaryId = (record: DeliveryRecord): string | undefined => {
  if (hasReachedRecipient(record)) return undefined;
  if (record.status === 'summarized') return record.summary_id;
  return record.notice === 'summary' && record.status === 'pending' ? record.event_id : undefined;
};

const hasNoRecord = ({ record }: Destination): number => (record ? 0 : 1);

/**
 * Creates the check whether an event has reached none of its destinations (docs/decisions/notices.md#nobody-reached).
 *
 * @param scale factor for the delays between attempts
 */
export const createUnreachedCheck = (
  { notifications, deliveries, awaitedSummaries, clock, random }: CheckDependencies,
  scale: number,
) => {
  /** The event IDs of summaries that this execution environment has stored as awaited. */
  const awaitedIds = lru<true>(CACHE_SIZE);

  /**
   * Returns the record of the summary that lists an alert, if it has one and the alert has reached nobody before: until
   * the summary is final, the alert may arrive.
   */
  const summaryOrRecord = async (record: DeliveryRecord): Promise<DeliveryRecord> => {
    if (record.status !== 'summarized' || record.summary_id === undefined || hasReachedRecipient(record)) return record;
    const { tenant, notificationId } = parseDeliveryPartition(record.pk);
    const key = deliveryKey({ tenant_id: tenant, event_id: record.summary_id }, notificationId);
    return (await deliveries.readAll([key]))[0] ?? record;
  };

  /**
   * Returns the destinations, or undefined if the alert has arrived at one of them or may still arrive soon, other than
   * in a summary. A notification without a record has not been attempted yet, unless it was deleted. One that cannot be read has not
   * received the alert, and does not receive it soon.
   */
  const unreachedIn = async (
    tenant: string,
    sk: string,
    ids: readonly string[],
  ): Promise<PossiblyUnreached | undefined> => {
    const keys = ids.map((notificationId) => ({ pk: deliveryPartition({ tenant, notificationId }), sk }));
    const found = await Promise.all((await deliveries.readAll(keys)).map(summaryOrRecord));
    const records = new Map(found.map((record) => [parseDeliveryPartition(record.pk).notificationId, record]));
    const summaryIds: string[] = [];
    for (const record of found.filter((one) => !isUnreached(one, scale))) {
      const id = awaitedSummaryId(record);
      if (id === undefined) return undefined;
      summaryIds.push(id);
    }
    const unattempted = ids.filter((id) => !records.has(id));
    const targets = notifications.targets(unattempted.map((id) => ({ tenant, id })));
    const states = new Map(
      await Promise.all(unattempted.map(async (id) => [id, await stateOf(targets, { tenant, id })] as const)),
    );
    if ([...states.values()].includes('exists')) return undefined;
    const destinations = ids.map((notificationId) => ({
      notificationId,
      record: records.get(notificationId),
      isUnreadable: states.get(notificationId) === 'unreadable',
    }));
    return { destinations, summaryIds };
  };

  /**
   * Reads 100 destinations at a time, strongly consistent, up to the first one that the alert has reached or may reach
   * soon. The start is random, so that deliveries that fail one after the other find such a destination early.
   *
   * If only summaries may still deliver the alert, they are stored as awaited: then a summary that is cancelled later
   * escalates. One that was cancelled before is found by the second check.
   *
   * @param sk sort key of the event's delivery records
   * @param ids the event's notifications
   * @param storedIds the event IDs of summaries that this check has stored
   * @returns undefined if the alert has reached a destination or may reach one soon
   * @throws ServiceError serviceUnavailable if a record cannot be read, UnprocessedKeyError or the SDK's error
   */
  const check = async (
    tenant: string,
    sk: string,
    ids: readonly string[],
    storedIds: readonly string[] = [],
  ): Promise<UnreachedDestinations | undefined> => {
    const start = ids.length > MAX_BATCH_KEYS ? Math.floor(random() * ids.length) : 0;
    const rotated = [...ids.slice(start), ...ids.slice(0, start)];
    let listed: readonly Destination[] = [];
    const summaryIds: string[] = [];
    for (const batch of inBatches(rotated, MAX_BATCH_KEYS)) {
      const found = await unreachedIn(tenant, sk, batch);
      if (!found) return undefined;
      summaryIds.push(...found.summaryIds);
      listed = [...listed, ...found.destinations]
        .toSorted((one, other) => hasNoRecord(one) - hasNoRecord(other))
        .slice(0, MAX_LISTED_DESTINATIONS);
    }
    if (summaryIds.length === 0) return { count: ids.length, listed };
    const added = summaryIds.filter((id) => !storedIds.includes(id) && !awaitedIds.get(id));
    if (added.length === 0) return undefined;
    await Promise.all(added.map((event_id) => awaitedSummaries.add({ tenant_id: tenant, event_id }, clock())));
    for (const id of added) awaitedIds.set(id, true);
    return check(tenant, sk, ids, [...storedIds, ...added]);
  };
  return check;
};
