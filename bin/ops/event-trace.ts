import type { Command } from 'commander';
import { createDestinationListReader } from '../../shared/adapters/deliveries/destination-list.ts';
import { deliveryKey, parseDeliveryPartition } from '../../shared/domain/delivery-key.ts';
import type { DeliveryRecord } from '../../shared/domain/delivery-record.ts';
import { eventIdTimeMs } from '../../shared/domain/event-time.ts';
import { DEFAULT_NOTIFICATION_ID, OPERATORS_NOTIFICATION_ID } from '../../shared/domain/notification-id.ts';
import { DAY_MS, dayEndMs, HOUR_MS, startOf } from '../../shared/domain/time.ts';
import {
  escalationLimitNoticeId,
  eventOfRecord,
  unreachedNoticeId,
} from '../../shared/pipeline/notices/notice-table.ts';
import { examples, parseTenant, parseText } from './arguments.ts';
import { type DispatchLine, dispatchLines } from './cloudwatch.ts';
import { type DeadLetter, type DescribedLetter, readLetters, withNotifications } from './dead-letter.ts';
import { type DeliveryJson, deliveriesJson, newestRecords, recordKey } from './deliveries.ts';
import { type DeadLetterQueueName, deadLetterQueueNames } from './deployment.ts';
import { OperationError } from './errors.ts';
import { type Column, formatTable, isoTime, sanitize } from './print.ts';
import { connect, type Session } from './session.ts';
import { scanDeliveries } from './table-scan.ts';
import { assertKnown, type Described, labelCell, notificationIds, recordsOfEvents } from './targets.ts';

export type LetterOfQueue = DeadLetter & { type: DeadLetterQueueName };

/** What is known of an event. IDs are undefined if they cannot be read in its dead letter. */
export type TracedEvent = {
  tenant: string | undefined;
  eventId: string | undefined;
  deliveries: readonly DeliveryRecord[];
  /** Deliveries of notices about the event, or about its destinations or its alarm at the same time. */
  notices: readonly DeliveryRecord[];
  letters: readonly LetterOfQueue[];
  lines: readonly DispatchLine[];
};

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
  return (await read(deliveryKey({ tenant_id: tenant, event_id: eventId }, DEFAULT_NOTIFICATION_ID))) ?? [];
};

/**
 * Reads the records of an event by their keys. A deleted notification is found if the event has more than 26
 * destinations, or one that is an email, whose record lists the others.
 */
const recordsOfEvent = async (session: Session, tenant: string, eventId: string): Promise<DeliveryRecord[]> => {
  const read = async (ids: Iterable<string>) => (await recordsOfEvents(session, [{ tenant, eventId, ids }]))[0] ?? [];
  const listed = await notificationIds(session, tenant);
  const found = await read([...listed, ...(await storedDestinations(session, tenant, eventId))]);
  return withoutDuplicates([...found, ...(await read(found.flatMap(({ siblings = [] }) => siblings)))]);
};

const scanRecords = async (session: Session, id: string): Promise<DeliveryRecord[]> => {
  const filter = {
    FilterExpression: 'event_id = :id OR producer_message_id = :id',
    ExpressionAttributeValues: { ':id': id },
  };
  return (await Array.fromAsync(scanDeliveries(session, filter))).flat();
};

/** Finds records by event ID, or else by message ID. Event IDs usually start with the tenant, so that no scan is needed. */
const findRecords = async (session: Session, id: string, tenant: string | undefined): Promise<DeliveryRecord[]> => {
  const [firstPart = ''] = id.split(':');
  const found = await recordsOfEvent(session, tenant ?? firstPart, id);
  if (found.length > 0) return found;
  if (tenant === undefined) return scanRecords(session, id);
  return newestRecords(session, tenant, await notificationIds(session, tenant), { producerMessageId: id }, MAX_RECORDS);
};

const findLetters = async (session: Session, isWanted: (letter: DeadLetter) => boolean): Promise<Letters> => {
  const found: Letters = { letters: [], unread: {} };
  await Promise.all(
    deadLetterQueueNames.map(async (type) => {
      const { letters, total } = await readLetters(session, type, MAX_LETTERS);
      found.letters.push(...letters.filter(isWanted).map((letter) => ({ ...letter, type })));
      if (letters.length >= MAX_LETTERS && total > letters.length) found.unread[type] = total - letters.length;
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

const MAX_NOTICES = 100;

/**
 * Reads the notices about the notifications of an event on the days on which their deliveries failed, and escalations,
 * whose event IDs are known. One notice covers all alerts of a period. Escalations are found at the account's present
 * fallback notifications.
 */
const noticesOf = async (
  session: Session,
  tenant: string,
  deliveries: readonly DeliveryRecord[],
): Promise<DeliveryRecord[]> => {
  const failing = deliveries.filter(hasFailedAttempt);
  const [first] = failing;
  if (!first) return [];
  const event = eventOfRecord(first);
  const fromMs = Math.min(...failing.map(({ created_at_ms }) => created_at_ms));
  const toMs = Math.max(...failing.map(({ updated_at_ms }) => updated_at_ms));
  const days = periods(DAY_MS, fromMs, toMs);
  const ofEvent = periods(HOUR_MS, fromMs, toMs).map((hourMs) => unreachedNoticeId(event, hourMs));
  const contacts = { tenant, id: DEFAULT_NOTIFICATION_ID };
  const aboutNotifications = await Promise.all(
    failing.map(({ pk }) =>
      session.deliveries.listNewest(contacts, MAX_NOTICES, {
        entityId: parseDeliveryPartition(pk).id,
        fromMs: startOf(DAY_MS, fromMs),
        toMs: dayEndMs(toMs),
      }),
    ),
  );
  const ofTenant = days.map((dayMs) => escalationLimitNoticeId(event, dayMs));
  const { fallbackNotifications } = await session.accounts.describe(tenant);
  const ids = [DEFAULT_NOTIFICATION_ID, OPERATORS_NOTIFICATION_ID, ...fallbackNotifications];
  const found = await recordsOfEvents(
    session,
    [...ofEvent, ...ofTenant].map((eventId) => ({ tenant, eventId, ids })),
  );
  const isReached = deliveries.some(({ status }) => status === 'delivered');
  return [...found, ...aboutNotifications].flat().filter((notice) => {
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
  tenantOfAll: string | undefined,
): Promise<{ events: TracedEvent[]; unread: Letters['unread'] }> => {
  const found = await findRecords(session, id, tenantOfAll);
  // With a message ID, notices about the event are found too.
  const deliveries = found.filter(({ notice, event_id }) => notice === undefined || event_id === id);
  const { letters, unread } = await findLetters(session, (letter) => {
    const isTenant = tenantOfAll === undefined || letter.tenant_id === tenantOfAll;
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
      ...(isKnown ? await recordsOfEvent(session, tenant, eventId) : []),
    ]);
    const notices = [
      ...ofTenant.filter((record) => !deliveries.includes(record)),
      ...(isKnown ? await noticesOf(session, tenant, records) : []),
    ];
    const [first] = [...records, ...notices];
    const lines = await dispatchLines(session, eventId ?? id, logRange(eventId, first?.created_at_ms));
    return {
      tenant,
      eventId,
      deliveries: records,
      notices: withoutDuplicates(notices),
      letters: letters.filter((letter) => letter.tenant_id === tenant && letter.event_id === eventId),
      lines: lines.filter(({ tenant_id }) => tenant === undefined || tenant_id === tenant),
    };
  });
  if (events.length > 0) return { events: await Promise.all(events), unread };
  const lines = await dispatchLines(session, id, logRange(id));
  const first = lines.find(({ tenant_id }) => tenantOfAll === undefined || tenant_id === tenantOfAll);
  if (!first) return { events: [], unread };
  const { tenant_id: tenant, event_id: eventId } = first;
  const ofTenant = lines.filter(({ tenant_id }) => tenant_id === tenant);
  return { events: [{ tenant, eventId, deliveries: [], notices: [], letters: [], lines: ofTenant }], unread };
};

/**
 * Returns when dispatch may have logged an event: an hour around its record or the time in its ID, or the last 3
 * hours.
 */
const logRange = (id = '', recordMs?: number): readonly [startMs: number, endMs: number] => {
  const aroundMs = recordMs ?? eventIdTimeMs(id);
  const nowMs = Date.now();
  return aroundMs === undefined ? [nowMs - 3 * HOUR_MS, nowMs] : [aroundMs - HOUR_MS / 2, aroundMs + HOUR_MS / 2];
};

export const addEventTraceCommand = (event: Command): void => {
  event
    .command('trace')
    .description('show what happened to an event, in order of time: deliveries, attempts, notices and dead letters')
    .argument('<id>', "the event ID, or the message ID that SQS returned to the event's producer", parseText(1, 512))
    .option('--tenant <tenant>', 'the tenant', parseTenant)
    .addHelpText(
      'after',
      `
Shows the last nine attempts of a delivery. Reads 10,000 dead letters of each queue, hides them from other commands
meanwhile, and prints how many it did not read.

Without --tenant, scans the table Deliveries unless the event ID starts with the tenant: 8 MB per second, $0.016 per GB.
Finds deliveries to deleted notifications by a scan, and in events with more than 26 destinations or an email.
${examples(
  'event trace acme:enWeb1:alDisk:chDisk:1700000000000:CRITICAL',
  'event trace 5fea7756-0ea4-451a-a703-a558b933e274 --tenant acme',
)}`,
    )
    .action(trace);
};

const trace = async (id: string, { tenant }: { tenant?: string }, command: Command): Promise<void> => {
  const session = await connect(command);
  const { events, unread } = await findEvents(session, id, tenant);
  const notes = Object.entries(unread).map(([type, count]) => `${count} dead letters of ${type} were not read.`);
  if (events.length === 0) {
    await assertKnown(session, tenant);
    const nothing = `There is neither a delivery nor a dead letter of ${id}, nor a line in the log of dispatch: it never reached the queue, or the local stack printed what became of it. Without a time in the ID, only the last three hours of the log are searched.`;
    throw new OperationError([nothing, ...notes].join(' '));
  }
  const found = await Promise.all(events.map((event) => eventJson(session, event)));
  const text = found.map((event) => `${heading(event)}\n\n${formatTable(event.timeline, timelineColumns)}`);
  session.print({ events: found, unread_dead_letters: unread }, text.join('\n'), notes.join('\n'));
};

type Step = {
  /** In ISO 8601. */
  time: string;
  step: string;
  notification_id: string | null;
  result: string;
} & Described;

const noNotification = { notification_id: null, notification_label: null, type: null };

const stepOf = (
  timeMs: number,
  step: string,
  result: string,
  { notification_id, notification_label, type }: Pick<Step, keyof typeof noNotification> = noNotification,
): Step => ({ time: isoTime(timeMs), step, notification_id, notification_label, type, result });

const eventJson = async (session: Session, { tenant, eventId, deliveries, notices, letters, lines }: TracedEvent) => {
  const [first = notices[0]] = deliveries;
  const listed = await deliveriesJson(session, deliveries);
  const described = await withNotifications(session, letters);
  const noticesJson: NoticeJson[] = (await deliveriesJson(session, notices)).flatMap((row, index) => {
    const record = notices[index];
    if (!record) return [];
    const isCaused = deliveries.length === 0 || isCausedBy(record, deliveries);
    return [{ ...row, notice: record.notice ?? null, caused_by_event: isCaused }];
  });
  return {
    tenant_id: tenant ?? null,
    event_id: eventId ?? null,
    producer_message_id: first?.producer_message_id ?? letters[0]?.producer_message_id ?? null,
    trace_id: first?.trace_id ?? null,
    deliveries: listed,
    notices: noticesJson,
    dead_letters: described,
    timeline: [
      ...arrivalSteps(deliveries),
      ...listed.flatMap(deliverySteps),
      ...noticesJson.flatMap(noticeSteps),
      ...described.map(letterStep),
      ...lines.map(lineStep),
    ].toSorted((left, right) => left.time.localeCompare(right.time)),
  };
};

type NoticeJson = DeliveryJson & { notice: string | null; caused_by_event: boolean };
type EventJson = Awaited<ReturnType<typeof eventJson>>;

/** When SQS accepted the event, and when dispatch received it, in one or more passes. */
const arrivalSteps = (deliveries: readonly DeliveryRecord[]): Step[] => {
  const [first] = deliveries;
  const accepted = deliveries.flatMap(({ accepted_at_ms }) => accepted_at_ms ?? []);
  const passes = Map.groupBy(
    deliveries.flatMap(({ dispatched_at_ms }) => dispatched_at_ms ?? []),
    (timeMs) => timeMs,
  );
  return [
    ...(first && accepted.length > 0 ? [stepOf(Math.min(...accepted), 'accepted', first.state)] : []),
    ...[...passes].map(([timeMs, { length }]) =>
      stepOf(timeMs, 'dispatched', length === 1 ? '1 delivery' : `${length} deliveries`),
    ),
  ];
};

const words = (...parts: (string | number | null | undefined)[]): string => parts.filter(Boolean).join(' ');

/** The attempts of a delivery, how it stands, and a reused event ID. A delivered one needs no more than its attempts. */
const deliverySteps = (delivery: DeliveryJson): Step[] => {
  const { attempts, next_attempt_at, updated_at, status, reason, summary_id, conflict_at } = delivery;
  const step = (timeMs: number, name: string, result: string) => stepOf(timeMs, name, result, delivery);
  const name = next_attempt_at === null ? status : 'next attempt';
  return [
    ...attempts.map(({ timestamp, result, status_code, reason: cause, duration_ms }) =>
      step(timestamp, 'attempt', `${words(result, status_code, cause)}, ${duration_ms} ms`),
    ),
    ...(status === 'delivered' ? [] : [step(next_attempt_at ?? updated_at, name, reason ?? summary_id ?? '')]),
    ...(conflict_at === null ? [] : [step(conflict_at, 'event ID reused', 'other content, not sent')]),
  ];
};

const noticeSteps = (notice: NoticeJson): Step[] => [
  stepOf(
    notice.created_at,
    notice.notice === 'unreached' ? 'escalation' : 'notice',
    notice.caused_by_event ? (notice.notice ?? '') : `${notice.notice}, because of another alert`,
    notice,
  ),
  ...deliverySteps(notice).map((step) => ({ ...step, step: `notice: ${step.step}` })),
];

const letterStep = (letter: LetterOfQueue & DescribedLetter): Step => ({
  time: letter.time,
  step: 'dead letter',
  notification_id: letter.notification_id ?? null,
  notification_label: letter.notification_label,
  type: letter.notification_type,
  result: `${letter.type}: ${words(letter.reason, `(${letter.cause})`, letter.detail)}`,
});

const lineStep = ({ timeMs, message, notification_ids: ids = [], warnings = '' }: DispatchLine): Step =>
  stepOf(timeMs, 'dispatch', [message, [...ids, warnings].filter(Boolean).join(', ')].filter(Boolean).join(': '));

const heading = ({ tenant_id: tenant, event_id: event, producer_message_id: message, trace_id: traceId }: EventJson) =>
  Object.entries({ event, tenant, message, trace: traceId })
    .flatMap(([name, id]) => (id === null ? [] : [`${name.padEnd(9)}${sanitize(id)}`]))
    .join('\n');

/** The times have milliseconds, because most differ by less than a second. */
const timelineColumns: readonly Column<Step>[] = [
  ['time', ({ time }) => time],
  ['step', ({ step }) => step],
  ['notification', ({ notification_id }) => sanitize(notification_id ?? '–')],
  ['type', ({ type }) => type ?? '–'],
  ['label', ({ notification_label }) => labelCell(notification_label)],
  ['result', ({ result }) => sanitize(result)],
];
