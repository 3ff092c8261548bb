import type { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import pLimit from 'p-limit';
import type { AccountRepository } from '../../adapters/accounts/account-repository.ts';
import type { DeliveryRepository } from '../../adapters/deliveries/delivery-repository.ts';
import { MissingDestinationsError, type ReadDestinationList } from '../../adapters/deliveries/destination-list.ts';
import { errorTrace, logger } from '../../adapters/logger.ts';
import type { NotificationRepository } from '../../adapters/notifications/notification-repository.ts';
import type { Queues } from '../../adapters/queues.ts';
import type { EventHeader } from '../../contracts/event-header.ts';
import type { NotificationTypeId } from '../../contracts/notification-types.ts';
import { isStopReason } from '../../contracts/outcomes.ts';
import type { NotificationRecord } from '../../contracts/responses/notifications.ts';
import type { Clock } from '../../domain/clock.ts';
import { parseDeliveryPartition } from '../../domain/delivery-key.ts';
import {
  correlationOf,
  type DeliveryRecord,
  failureReasonOf,
  isCausedByService,
  isUnreached,
} from '../../domain/delivery-record.ts';
import { createGatherer } from '../../domain/gather.ts';
import type { ParsedEnvironment } from '../../environment.ts';
import { createEscalation, type EscalationEnvironment } from './escalation.ts';
import { limitNotice } from './limit-notice.ts';
import { createNoticeQueue } from './notice-queue.ts';
import { eventOfRecord, failingNotice, notificationNoticeId, undeliveredNotice } from './notification-notice.ts';
import { createUnreachedCheck } from './unreached-check.ts';
import { summaryProblem, unreachedNotice, unreachedNoticeId } from './unreached-notice.ts';
import { withTimeout } from './wait-for-notices.ts';

/** The maximum time to read labels. Notifications may be large, and slow reads must not prevent the notice. */
const MAX_READ_MS = 1_000;

/** The alerts of a cancelled summary that are checked, and concurrently: more would take longer than notices may. */
const MAX_CHECKS = 200;
const MAX_CONCURRENT_CHECKS = 20;

/** The environment variables of delivery reports, parsed. */
export type ReportEnvironment = EscalationEnvironment &
  Pick<
    ParsedEnvironment<'record-email-events'>,
    'API_URL' | 'DEAD_LETTER_EMAIL' | 'FAILING_NOTICES' | 'RETRY_DELAY_SCALE' | 'SENDER_QUEUES'
  >;

/** The parts of a notification that notices name. */
type Named = Pick<NotificationRecord, 'label' | 'type'>;

/** What delivery reports use. */
export type ReportDependencies = {
  client: DynamoDBDocumentClient;
  queues: Pick<Queues, 'sendDelayed'>;
  notifications: Pick<NotificationRepository, 'listByIds' | 'targets'>;
  deliveries: Pick<DeliveryRepository, 'readAll' | 'listPage'>;
  readDestinationList: ReadDestinationList;
  accounts: Pick<AccountRepository, 'fallbackNotifications'>;
  clock: Clock;
  /** Returns a number from 0 up to 1, exclusive. */
  random?: () => number;
};

/**
 * Creates the reports about deliveries that do not arrive, to technical contacts and operators
 * (docs/decisions/notices.md#notices). Repeating a report has no effect. The functions reject if a dependency fails;
 * use `waitForNotices`.
 */
export const createDeliveryReports = (
  {
    client,
    queues,
    notifications,
    deliveries,
    readDestinationList,
    accounts,
    clock,
    random = Math.random,
  }: ReportDependencies,
  environment: ReportEnvironment,
) => {
  const { API_URL: apiUrl, RETRY_DELAY_SCALE: scale } = environment;
  const notices = createNoticeQueue(queues, environment.SENDER_QUEUES, clock);
  const escalation = createEscalation({ client, notices, accounts, notifications }, environment);
  const findUnreached = createUnreachedCheck({ notifications, deliveries, random }, scale);

  /** One read at a time: a notification may have several MB, and a batch may have 100 failing deliveries. */
  const limitReads = pLimit(1);

  /** Returns the labels and types that can be read within a second, by ID. A notice is sent even without them. */
  const readNotifications = async (tenant: string, ids: readonly string[]): Promise<ReadonlyMap<string, Named>> => {
    const found = new Map<string, Named>();
    let isLate = false;
    const read = async (): Promise<void> => {
      if (isLate) return;
      for await (const { id, label, type } of notifications.listByIds(tenant, ids, null)) {
        if (isLate) return;
        found.set(id, { label, type });
      }
    };
    try {
      await withTimeout(limitReads(read), MAX_READ_MS);
    } catch (error) {
      logger.warn('labels for a notice not read', { tenant_id: tenant, ...errorTrace(error) });
    }
    isLate = true;
    return found;
  };

  /**
   * Starts an escalation on the next turn of the event loop, once for deliveries of an event that fail together: each of
   * them was recorded before, so that its reads find all of them.
   */
  const gatherEscalations = createGatherer(
    async ([escalate]: readonly (() => Promise<boolean>)[]) => (await escalate?.()) ?? true,
    setImmediate,
  );

  /** @returns undefined if the list has expired, 30 days after dispatch: what the event has reached is unknown */
  const readDestinations = async (record: DeliveryRecord): Promise<string[] | undefined> => {
    try {
      return await readDestinationList(record);
    } catch (error) {
      if (!(error instanceof MissingDestinationsError)) throw error;
      const { tenant: tenant_id } = parseDeliveryPartition(record.pk);
      logger.error('event not escalated', { tenant_id, event_id: record.event_id, ...errorTrace(error) });
      return undefined;
    }
  };

  /** @returns false if a destination has not been attempted, so that it is not known whether the alert reaches it */
  const escalateIfUnreached = async (
    event: EventHeader,
    record: DeliveryRecord,
    siblings: readonly string[] | undefined,
  ): Promise<boolean> => {
    const { tenant, notificationId } = parseDeliveryPartition(record.pk);
    const isSummary = record.notice === 'summary';
    const ids = siblings ?? (isSummary ? [] : await readDestinations(record));
    if (!ids) return true;
    const others = await findUnreached(
      tenant,
      record.sk,
      ids.filter((id) => id !== notificationId),
    );
    if (others === 'reached') return true;
    if (others === 'unattempted') return false;
    // Deleting a notification does not escalate the alerts of its summary that have failed nowhere else.
    const hasFailed = others.listed.some(
      (other) => other.isUnreadable || (other.record && other.record.status !== 'cancelled'),
    );
    if (record.summary_id !== undefined && !hasFailed) return true;
    const listed = [{ notificationId, record }, ...others.listed];
    // Where a notification was deleted, nothing failed.
    const failures = listed.flatMap((each) => (each.record && each.record.status !== 'cancelled' ? [each.record] : []));
    const atMs = record.updated_at_ms;
    const alert = { event, acceptedAtMs: record.accepted_at_ms ?? atMs, atMs };
    const createNotice = async () => {
      const labels = await readNotifications(
        tenant,
        listed.map((destination) => destination.notificationId),
      );
      const destinations = listed.map((destination) => ({
        ...destination,
        notification: labels.get(destination.notificationId),
      }));
      return unreachedNotice(alert, destinations, 1 + others.count, isSummary ? summaryProblem(record) : undefined);
    };
    const destinationIds = [notificationId, ...ids];
    await escalation.escalate(alert, correlationOf(record), destinationIds, createNotice, isCausedByService(failures));
    return true;
  };

  const escalate = async (
    event: EventHeader,
    record: DeliveryRecord,
    siblings: readonly string[] | undefined,
  ): Promise<boolean> => {
    const atMs = record.updated_at_ms;
    if (!isUnreached(record, scale) || !escalation.isDue(event, atMs)) return true;
    const key = `${record.sk} ${unreachedNoticeId(event, atMs)}`;
    return gatherEscalations(key, () => escalateIfUnreached(event, record, siblings)).result;
  };

  /**
   * Escalates the alerts of a cancelled summary like alerts whose own delivery was cancelled: of those that had other
   * destinations, the newest of each alarm and state, the newest 200 of them, among the newest records of the
   * notification, up to 1 MB.
   */
  const escalateAlertsOf = async ({ pk, event_id, updated_at_ms }: DeliveryRecord): Promise<boolean> => {
    const notification = parseDeliveryPartition(pk);
    // With a filter, a page has 1 MB whatever its limit.
    const page = await deliveries.listPage(notification, { limit: 1, filter: { statuses: ['summarized'] } });
    const listed = page.records
      .filter(({ summary_id, siblings }) => summary_id === event_id && siblings?.length !== 0)
      .map((record) => ({ event: eventOfRecord(notification.tenant, record), record }));
    const byAlarmAndState = Map.groupBy(listed, ({ event }) => `${event.incident_key} ${event.state}`);
    const limitChecks = pLimit(MAX_CONCURRENT_CHECKS);
    const areDecided = await Promise.all(
      [...byAlarmAndState.values()].slice(0, MAX_CHECKS).flatMap(([newest]) => {
        if (!newest) return [];
        const record: DeliveryRecord = { ...newest.record, status: 'cancelled', updated_at_ms };
        return [limitChecks(() => escalate(newest.event, record, record.siblings))];
      }),
    );
    return areDecided.every(Boolean);
  };

  return {
    /**
     * Notifies the technical contacts that an alert fails, was rejected by SES or dead-lettered, at most once per kind,
     * notification and UTC day. A stop of the mailbox has a notice of its own.
     *
     * @param isContentRejected whether SES rejected the content of the email
     */
    async reportFailure(event: EventHeader, record: DeliveryRecord, isContentRejected = false): Promise<void> {
      const { tenant, notificationId } = parseDeliveryPartition(record.pk);
      if (!isContentRejected && isStopReason(failureReasonOf(record))) return;
      const isUndelivered = record.status === 'failed' && !isContentRejected && environment.DEAD_LETTER_EMAIL;
      if (!isUndelivered && !environment.FAILING_NOTICES) return;
      const kind = isUndelivered ? 'undelivered' : 'failing';
      if (notices.isQueued(notificationNoticeId(kind, tenant, notificationId, record.updated_at_ms))) return;
      const notification = (await readNotifications(tenant, [notificationId])).get(notificationId);
      const delivery = { notificationId, notification, record };
      const notice = isUndelivered
        ? undeliveredNotice(tenant, apiUrl, delivery, event)
        : failingNotice(tenant, apiUrl, delivery, event, isContentRejected);
      await notices.queue(notice, correlationOf(record), { toOperators: false });
    },

    /** Notifies the technical contacts that alerts exceed a daily limit, once per limit and UTC day. */
    async reportLimit(event: EventHeader, record: DeliveryRecord, type: NotificationTypeId): Promise<void> {
      const notice = limitNotice(event, type, record.updated_at_ms);
      await notices.queue(notice, correlationOf(record), { toOperators: false });
    },

    /**
     * Escalates an event that has reached none of its destinations (docs/decisions/notices.md#nobody-reached). The
     * caller must have written `record`: if several deliveries fail at the same time, the last one to be written finds
     * all others.
     *
     * @param record the delivery that failed
     * @param siblings IDs of the event's other notifications; undefined if dispatch has stored the list of them
     * @returns false if one of them has not been attempted. If its message is never sent, because dispatch could not send
     *   it and it was deleted before dispatch sent the event again, a repeated message of this delivery decides.
     */
    escalateUnreached(
      event: EventHeader,
      record: DeliveryRecord,
      siblings: readonly string[] | undefined,
    ): Promise<boolean> {
      const isCancelledSummary = record.notice === 'summary' && record.status === 'cancelled';
      return isCancelledSummary ? escalateAlertsOf(record) : escalate(event, record, siblings);
    },
  };
};

/** Reports deliveries that do not arrive. */
export type DeliveryReports = ReturnType<typeof createDeliveryReports>;
