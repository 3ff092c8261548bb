import pLimit from 'p-limit';
import type { DeliveryReader } from '../../adapters/deliveries/delivery-reader.ts';
import type { ReadDestinationList } from '../../adapters/deliveries/destination-list.ts';
import { MAX_BATCH_KEYS } from '../../adapters/dynamodb/read-each.ts';
import { logger } from '../../adapters/logger.ts';
import type { NotificationRepository, TargetReads } from '../../adapters/notifications/notification-repository.ts';
import { UnreadableNotificationError } from '../../adapters/notifications/notification-targets.ts';
import type { PlanReport } from '../../contracts/delivery-report.ts';
import type { EventHeader } from '../../contracts/event-header.ts';
import { type DeliveryKey, deliveryKey, deliveryPartition, parseDeliveryPartition } from '../../domain/delivery-key.ts';
import { correlationOf, type DeliveryRecord, isMuted } from '../../domain/delivery-record.ts';
import { hasReachedRecipient, isCausedByService, isUnreached, unreachedAtMs } from '../../domain/delivery-status.ts';
import { inBatches } from '../../domain/in-batches.ts';
import type { NotificationKey } from '../../domain/notification.ts';
import { isNotificationId } from '../../domain/notification-id.ts';
import type { ReadNames } from './delivery-notices.ts';
import type { Escalation } from './escalation.ts';
import {
  eventOfRecord,
  MAX_LISTED_DESTINATIONS,
  noticeTable,
  summaryProblem,
  type UnreachedDelivery,
} from './notice-table.ts';

/** The alerts of a cancelled summary that are checked, and concurrently. */
const MAX_CHECKS = 200;
const MAX_CONCURRENT_CHECKS = 20;

type UnreachedEventDependencies = {
  deliveries: Pick<DeliveryReader, 'listPage' | 'readReadable'>;
  notifications: Pick<NotificationRepository, 'targets'>;
  readDestinationList: ReadDestinationList;
  escalation: Escalation;
  readNames: ReadNames;
  /** Factor for the delays between attempts. */
  scale: number;
  random: () => number;
};

type Destination = Omit<UnreachedDelivery, 'notification'>;

/** The destinations of an event that has reached none of them. */
type UnreachedDestinations = {
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

/** Creates the check whether an event has reached nobody (docs/decisions/notices.md#nobody-reached). */
const createUnreachedCheck = ({ notifications, deliveries, random, scale }: UnreachedEventDependencies) => {
  /** If a summary lists the alert, the record is that of the summary: until that is final, the alert may arrive. */
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
   * Up to the first one that the alert has reached or may reach soon. The start is random, so that deliveries that fail
   * one after the other find it early. @throws ServiceError serviceUnavailable, UnprocessedKeyError, the SDK's error
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

/**
 * Escalates events that have reached none of their destinations (docs/decisions/notices.md#nobody-reached), by the
 * records as they are read. Repeating it has no effect.
 */
export const createUnreachedEvents = (dependencies: UnreachedEventDependencies) => {
  const { deliveries, readDestinationList, escalation, readNames, scale } = dependencies;
  const findUnreached = createUnreachedCheck(dependencies);

  /** @returns undefined if the list has expired, 30 days after dispatch: what the event has reached is unknown */
  const readDestinations = async (record: DeliveryRecord): Promise<string[] | undefined> => {
    const ids = await readDestinationList(record);
    const { tenant: tenant_id } = parseDeliveryPartition(record.pk);
    if (!ids) logger.error('event not escalated', { tenant_id, event_id: record.event_id });
    return ids;
  };

  const escalate = async (
    event: EventHeader,
    record: DeliveryRecord,
    { count, atMs, listed }: UnreachedDestinations,
    destinationIds: readonly string[],
  ): Promise<void> => {
    const alert = { event, acceptedAtMs: record.accepted_at_ms ?? atMs, atMs };
    // Where a notification was deleted, nothing failed.
    const failures = listed.flatMap((each) => (each.record && each.record.status !== 'cancelled' ? [each.record] : []));
    const createNotice = async () => {
      const names = await readNames(
        event.tenant_id,
        listed.map(({ notificationId }) => notificationId),
      );
      const named = listed.map((each) => ({ ...each, notification: names.get(each.notificationId) }));
      return noticeTable.unreached(
        alert,
        named,
        count,
        record.notice === 'summary' ? summaryProblem(record) : undefined,
      );
    };
    await escalation.escalate(alert, correlationOf(record), destinationIds, createNotice, isCausedByService(failures));
  };

  /** Escalates the event of a delivery, if none of the others has been reached, or may be soon. */
  const escalateAlert = async (record: DeliveryRecord): Promise<void> => {
    const event = eventOfRecord(record);
    const { siblings, notice, sk, summary_id } = record;
    const ownAtMs = unreachedAtMs(record);
    // If another one failed in a later hour, it is reported, too.
    if (!isUnreached(record, scale) || !(await escalation.isDue(event, ownAtMs))) return;
    const { tenant, id: notificationId } = parseDeliveryPartition(record.pk);
    const ids = siblings ?? (notice === 'summary' ? [] : await readDestinations(record));
    if (!ids) return;
    const otherIds = ids.filter((id) => id !== notificationId);
    const others = await findUnreached(tenant, sk, otherIds);
    // One that has not been attempted decides when it fails.
    if (typeof others === 'string' || (isMuted(record) && others.isMuted)) return;
    // Deleting a notification does not escalate the alerts of its summary that have failed nowhere else.
    const hasFailed = others.listed.some(
      (other) => other.isUnreadable || (other.record && other.record.status !== 'cancelled'),
    );
    if (summary_id !== undefined && !hasFailed) return;
    const atMs = Math.max(ownAtMs, others.atMs);
    if (atMs > ownAtMs && !(await escalation.isDue(event, atMs))) return;
    const found = { ...others, count: 1 + others.count, atMs, listed: [{ notificationId, record }, ...others.listed] };
    await escalate(event, record, found, [notificationId, ...otherIds]);
  };

  /**
   * Escalates the alerts of a cancelled summary that had other destinations like alerts whose own delivery was
   * cancelled: the newest of each alarm and state, among the newest records of the notification, up to 1 MB.
   */
  const escalateAlertsOf = async ({ pk, event_id, updated_at_ms }: DeliveryRecord): Promise<void> => {
    // With a filter, a page has 1 MB whatever its limit.
    const page = await deliveries.listPage(parseDeliveryPartition(pk), {
      limit: 1,
      filter: { statuses: ['summarized'] },
    });
    const listed = page.records.filter(({ summary_id, siblings }) => summary_id === event_id && siblings?.length !== 0);
    const byAlarmAndState = Map.groupBy(listed, (record) => {
      const { incident_key, state } = eventOfRecord(record);
      return `${incident_key} ${state}`;
    });
    const limitChecks = pLimit(MAX_CONCURRENT_CHECKS);
    await Promise.all(
      [...byAlarmAndState.values()]
        .slice(0, MAX_CHECKS)
        .map(([newest]) =>
          limitChecks(
            () => newest && escalateAlert({ ...newest, status: 'cancelled', late_at_ms: undefined, updated_at_ms }),
          ),
        ),
    );
  };

  return {
    escalate: (record: DeliveryRecord): Promise<void> =>
      record.notice === 'summary' && record.status === 'cancelled' ? escalateAlertsOf(record) : escalateAlert(record),

    /** If the event has reached none of the others: nobody else learns of a notification that was deleted before. */
    async escalatePlan({
      event,
      notification_ids,
      accepted_at_ms,
      producer_message_id,
      trace,
    }: PlanReport): Promise<void> {
      const ids = notification_ids.filter(isNotificationId);
      const found = await findUnreached(event.tenant_id, deliveryKey(event, '').sk, ids);
      if (typeof found === 'string' || (ids.length > 0 && found.isMuted)) return;
      const records = found.listed.flatMap(({ record }) => record ?? []);
      const hasFailed = records.some(({ status }) => status !== 'cancelled');
      if (!hasFailed && records.some(({ notice }) => notice === 'summary')) return;
      const [newest] = records.toSorted((one, other) => other.updated_at_ms - one.updated_at_ms);
      const atMs = newest ? found.atMs : accepted_at_ms;
      if (!(await escalation.isDue(event, atMs))) return;
      if (newest) return escalate(event, newest, found, ids);
      const alert = { event, acceptedAtMs: accepted_at_ms, atMs };
      await escalation.escalate(alert, { producer_message_id, trace }, notification_ids, () =>
        noticeTable.unknownPlan(alert, notification_ids),
      );
    },
  };
};
