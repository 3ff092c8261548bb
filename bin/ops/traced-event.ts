import {
  createDestinationListReader,
  MissingDestinationsError,
} from '../../shared/adapters/deliveries/destination-list.ts';
import { DAY_MS } from '../../shared/domain/day.ts';
import { deliveryKey, parseDeliveryPartition } from '../../shared/domain/delivery-key.ts';
import type { DeliveryRecord } from '../../shared/domain/delivery-record.ts';
import { DEFAULT_NOTIFICATION_ID, OPERATORS_NOTIFICATION_ID } from '../../shared/domain/notification-id.ts';
import { HOUR_MS, startOf } from '../../shared/pipeline/notices/notice-content.ts';
import { eventOfRecord, notificationNoticeId } from '../../shared/pipeline/notices/notification-notice.ts';
import { escalationLimitNoticeId, unreachedNoticeId } from '../../shared/pipeline/notices/unreached-notice.ts';
import { type DeadLetter, deadLetter } from './dead-letter.ts';
import { newestRecords, recordKey } from './deliveries.ts';
import { type DeadLetterQueueName, deadLetterQueueNames, deadLetterUrl } from './deployment.ts';
import { inspect, visitMessages } from './queues.ts';
import type { Session } from './session.ts';
import { scanDeliveries } from './table-scan.ts';
import { notificationIds, recordsOfEvents } from './targets.ts';

/** A dead letter, and the type of its queue. */
export type LetterOfQueue = DeadLetter & { type: DeadLetterQueueName };

/** What is known of an event. IDs are undefined if they cannot be read in its dead letter. */
export type TracedEvent = {
  tenant: string | undefined;
  eventId: string | undefined;
  deliveries: readonly DeliveryRecord[];
  /** Deliveries of notices about the event, or about its destinations or its alarm at the same time. */
  notices: readonly DeliveryRecord[];
  letters: readonly LetterOfQueue[];
};

/** What to search: all tenants without `tenant`. `notifications` are those that may be deleted. */
export type Search = { tenant?: string | undefined; notifications: readonly string[] };

/** The dead letters that match, and how many of each queue were not read. */
type Letters = { letters: LetterOfQueue[]; unread: Partial<Record<DeadLetterQueueName, number>> };

/** The maximum number of dead letters of a queue that are read: about 15 seconds. */
const MAX_LETTERS = 10_000;

/** More than the notifications of any event. */
const MAX_RECORDS = 100_000;

const tenantOf = ({ pk }: DeliveryRecord): string => parseDeliveryPartition(pk).tenant;

const withoutDuplicates = (records: readonly DeliveryRecord[]): DeliveryRecord[] => [
  ...new Map(records.map((record) => [recordKey(record), record])).values(),
];

/** Reads the stored list of an event with more than 26 destinations; empty for others. */
const storedDestinations = async (
  { documents, deployment }: Session,
  tenant: string,
  eventId: string,
): Promise<string[]> => {
  const read = createDestinationListReader(documents, deployment.outputs.DeliveriesTable);
  try {
    return await read(deliveryKey({ tenant_id: tenant, event_id: eventId }, DEFAULT_NOTIFICATION_ID));
  } catch (error) {
    if (error instanceof MissingDestinationsError) return [];
    throw error;
  }
};

/**
 * Reads the records of an event by their keys. A deleted notification is found if the event has more than 26
 * destinations, or one that is an email, whose record lists the others.
 */
const recordsOfEvent = async (
  session: Session,
  tenant: string,
  eventId: string,
  notifications: readonly string[],
): Promise<DeliveryRecord[]> => {
  const read = async (ids: Iterable<string>) => (await recordsOfEvents(session, [{ tenant, eventId, ids }]))[0] ?? [];
  const listed = await notificationIds(session, tenant);
  const found = await read([...listed, ...notifications, ...(await storedDestinations(session, tenant, eventId))]);
  return withoutDuplicates([...found, ...(await read(found.flatMap(({ siblings = [] }) => siblings)))]);
};

/** Scans table Deliveries for an event ID or a message ID. */
const scanRecords = async (session: Session, id: string): Promise<DeliveryRecord[]> => {
  const filter = {
    FilterExpression: 'event_id = :id OR producer_message_id = :id',
    ExpressionAttributeValues: { ':id': id },
  };
  return (await Array.fromAsync(scanDeliveries(session, filter))).flat();
};

/** Finds records by event ID, or else by message ID. Event IDs usually start with the tenant, so that no scan is needed. */
const findRecords = async (
  session: Session,
  id: string,
  { tenant, notifications }: Search,
): Promise<DeliveryRecord[]> => {
  const [firstPart = ''] = id.split(':');
  const found = await recordsOfEvent(session, tenant ?? firstPart, id, notifications);
  if (found.length > 0) return found;
  if (tenant === undefined) return scanRecords(session, id);
  const ids = [...(await notificationIds(session, tenant)), ...notifications];
  return newestRecords(session, tenant, ids, { producerMessageId: id }, MAX_RECORDS);
};

const findLetters = async (
  { sqs, deployment }: Session,
  isWanted: (letter: DeadLetter) => boolean,
): Promise<Letters> => {
  const found: Letters = { letters: [], unread: {} };
  await Promise.all(
    deadLetterQueueNames.map(async (type) => {
      const url = deadLetterUrl(deployment.outputs, type);
      const { total } = await inspect(sqs, url);
      let read = 0;
      for await (const { messages } of visitMessages(sqs, url, MAX_LETTERS)) {
        read += messages.length;
        found.letters.push(
          ...messages
            .map(deadLetter)
            .filter(isWanted)
            .map((letter) => ({ ...letter, type })),
        );
      }
      if (read >= MAX_LETTERS && total > read) found.unread[type] = total - read;
    }),
  );
  return found;
};

const periods = (lengthMs: number, fromMs: number, toMs: number): number[] => {
  const first = startOf(lengthMs, fromMs);
  return Array.from({ length: Math.floor((toMs - first) / lengthMs) + 1 }, (_, index) => first + index * lengthMs);
};

const hasFailedAttempt = ({ status, attempts }: DeliveryRecord): boolean =>
  status !== 'delivered' || attempts.some(({ result }) => result !== 'delivered');

/** Returns whether the alert of a delivery caused a notice; otherwise it was another alert of the same period. */
export const isCausedBy = (notice: DeliveryRecord, deliveries: readonly DeliveryRecord[]): boolean =>
  notice.producer_message_id !== undefined &&
  deliveries.some(({ producer_message_id: id }) => id === notice.producer_message_id);

/**
 * Reads the notices of the days and hours in which deliveries of an event failed, whose event IDs are known. One notice
 * covers all alerts of a period. Escalations are found at the account's present fallback notifications.
 *
 * @param notifications IDs of other notifications that may have got escalations
 */
const noticesOf = async (
  session: Session,
  tenant: string,
  deliveries: readonly DeliveryRecord[],
  notifications: readonly string[],
): Promise<DeliveryRecord[]> => {
  const failing = deliveries.filter(hasFailedAttempt);
  const [first] = failing;
  if (!first) return [];
  const event = eventOfRecord(tenant, first);
  const fromMs = Math.min(...failing.map(({ created_at_ms }) => created_at_ms));
  const toMs = Math.max(...failing.map(({ updated_at_ms }) => updated_at_ms));
  const days = periods(DAY_MS, fromMs, toMs);
  const ofEvent = [
    ...periods(HOUR_MS, fromMs, toMs).map((hourMs) => unreachedNoticeId(event, hourMs)),
    ...failing.flatMap(({ pk }) => {
      const { notificationId } = parseDeliveryPartition(pk);
      const idsOf = (kind: 'failing' | 'undelivered') =>
        days.map((dayMs) => notificationNoticeId(kind, tenant, notificationId, dayMs));
      return [...idsOf('failing'), ...idsOf('undelivered')];
    }),
  ];
  const ofTenant = days.map((dayMs) => escalationLimitNoticeId(event, dayMs));
  const { fallbackNotifications } = await session.accounts.describe(tenant);
  const ids = [DEFAULT_NOTIFICATION_ID, OPERATORS_NOTIFICATION_ID, ...fallbackNotifications, ...notifications];
  const found = await recordsOfEvents(
    session,
    [...ofEvent, ...ofTenant].map((eventId) => ({ tenant, eventId, ids })),
  );
  const isReached = deliveries.some(({ status }) => status === 'delivered');
  return found.flat().filter((notice) => {
    const isOfOtherAlert = ofTenant.includes(notice.event_id) || (notice.notice === 'unreached' && isReached);
    return isCausedBy(notice, deliveries) || !isOfOtherAlert;
  });
};

/**
 * Finds what is known of the events with this ID, or whose producer's SQS message has it: deliveries of the last 30 days
 * and dead letters of the last 14. Without a tenant, scans table Deliveries unless the ID starts with its tenant.
 */
export const findEvents = async (
  session: Session,
  id: string,
  search: Search,
): Promise<{ events: TracedEvent[]; unread: Letters['unread'] }> => {
  const found = await findRecords(session, id, search);
  // With a message ID, notices about the event are found too.
  const deliveries = found.filter(({ notice, event_id }) => notice === undefined || event_id === id);
  const { letters, unread } = await findLetters(session, (letter) => {
    const isTenant = search.tenant === undefined || letter.tenant_id === search.tenant;
    const ids = [letter.event_id, letter.producer_message_id, letter.message_id];
    const isOf = (record: DeliveryRecord) =>
      record.event_id === letter.event_id && tenantOf(record) === letter.tenant_id;
    return isTenant && (ids.includes(id) || deliveries.some(isOf));
  });
  const ownersOf = (records: readonly DeliveryRecord[]) =>
    records.map((record) => ({ tenant: tenantOf(record), eventId: record.event_id }));
  const owners = [
    ...ownersOf(deliveries),
    ...letters.map(({ tenant_id, event_id }) => ({ tenant: tenant_id, eventId: event_id })),
  ];
  // Nothing but an escalation is stored of an event without existing destinations.
  const all =
    owners.length > 0 ? owners : found.slice(0, 1).map((record) => ({ tenant: tenantOf(record), eventId: undefined }));
  const distinct = new Map(all.map((owner) => [JSON.stringify(owner), owner]));
  const events = [...distinct.values()].map(async ({ tenant, eventId }): Promise<TracedEvent> => {
    const ofTenant = found.filter((record) => tenantOf(record) === tenant);
    const isKnown = tenant !== undefined && eventId !== undefined;
    const records = withoutDuplicates([
      ...ofTenant.filter((record) => deliveries.includes(record) && record.event_id === eventId),
      ...(isKnown ? await recordsOfEvent(session, tenant, eventId, search.notifications) : []),
    ]);
    const notices = [
      ...ofTenant.filter((record) => !deliveries.includes(record)),
      ...(isKnown ? await noticesOf(session, tenant, records, search.notifications) : []),
    ];
    return {
      tenant,
      eventId,
      deliveries: records,
      notices: withoutDuplicates(notices),
      letters: letters.filter((letter) => letter.tenant_id === tenant && letter.event_id === eventId),
    };
  });
  return { events: await Promise.all(events), unread };
};
