import type { Command } from 'commander';
import { parseDeliveryPartition } from '../../shared/domain/delivery-key.ts';
import type { DeliveryRecord } from '../../shared/domain/delivery-record.ts';
import { examples, parseTenant, parseText, parseWholeId } from './arguments.ts';
import { conflictTimes, deliveryJson, recordKey } from './deliveries.ts';
import { OperationError } from './errors.ts';
import { isoTime, sanitize } from './print.ts';
import { connect, type Session } from './session.ts';
import { type Column, NOTIFICATION_ID } from './table.ts';
import { findEvents, isCausedBy, type LetterOfQueue, type TracedEvent } from './traced-event.ts';

/** Adds `event trace`: everything that happened to an event. */
export const addEventTraceCommand = (event: Command): void => {
  event
    .command('trace')
    .description('show what happened to an event, in order of time: deliveries, attempts, notices and dead letters')
    .argument('<id>', "the event ID, or the message ID that SQS returned to the event's producer", (text) =>
      parseWholeId(parseText(1, 512)(text)),
    )
    .option('--tenant <tenant>', 'the tenant', parseTenant)
    .option('--notification <ids...>', 'also deliveries to these notifications, which may be deleted', [])
    .addHelpText(
      'after',
      `
Shows the last nine attempts of a delivery. Reads 10,000 dead letters of each queue, hides them from other commands
meanwhile, and prints how many it did not read.

Without --tenant, scans the table Deliveries unless the event ID starts with the tenant: 8 MB per second, $0.016 per GB.
Finds deliveries to deleted notifications by a scan, in events with more than 26 destinations or an email, and with
--notification.
${examples(
  'event trace acme:enWeb1:alDisk:chDisk:1700000000000:CRITICAL',
  'event trace 5fea7756-0ea4-451a-a703-a558b933e274 --tenant acme',
)}`,
    )
    .action(trace);
};

type Options = { tenant?: string; notification: string[] };

const trace = async (id: string, { tenant, notification }: Options, command: Command): Promise<void> => {
  const session = await connect(command);
  const { events, unread } = await findEvents(session, id, { tenant, notifications: notification });
  const notes = Object.entries(unread).map(([type, count]) => `${count} dead letters of ${type} were not read.`);
  if (events.length === 0) {
    const nothing = `There is neither a delivery nor a dead letter of ${id}. An event whose previous_state equals its state is not sent. If its plan lists only unknown notifications, its message ID, which the log of dispatch has, finds its escalation.`;
    throw new OperationError([nothing, ...notes].join(' '));
  }
  const found = await Promise.all(events.map((event) => eventJson(session, event)));
  const text = found.map((event) => `${heading(event)}\n\n${session.table(event.timeline, timelineColumns)}`);
  session.print({ events: found, unread_dead_letters: unread }, text.join('\n'), notes.join('\n'));
};

/** Something that happened to an event. */
type Step = {
  time: string;
  step: string;
  /** The notification to which it happened. */
  notification: string | null;
  /** What came of it. */
  result: string;
};

const eventJson = async (session: Session, { tenant, eventId, deliveries, notices, letters }: TracedEvent) => {
  const [first = notices[0]] = deliveries;
  const conflicts = await conflictTimes(session, deliveries);
  const conflictOf = (record: DeliveryRecord) => conflicts.get(recordKey(record)) ?? null;
  return {
    tenant: tenant ?? null,
    event: eventId ?? null,
    producer_message_id: first?.producer_message_id ?? letters[0]?.producer_message_id ?? null,
    trace_id: first?.trace_id ?? null,
    deliveries: deliveries.map((record) => ({ ...deliveryJson(record), conflict: conflictOf(record) })),
    notices: notices.map((notice) => ({
      ...deliveryJson(notice),
      notice: notice.notice ?? null,
      caused_by_event: deliveries.length === 0 || isCausedBy(notice, deliveries),
    })),
    dead_letters: letters,
    timeline: [
      ...startOf(deliveries),
      ...deliveries.flatMap((record) => deliverySteps(record, conflictOf(record))),
      ...notices.flatMap((notice) => noticeSteps(notice, deliveries)),
      ...letters.map(letterStep),
    ].toSorted((left, right) => left.time.localeCompare(right.time)),
  };
};

type EventJson = Awaited<ReturnType<typeof eventJson>>;

/** When SQS accepted the event, and when dispatch received it, in one or more passes. */
const startOf = (deliveries: readonly DeliveryRecord[]): Step[] => {
  const accepted = deliveries.flatMap(({ accepted_at_ms }) => accepted_at_ms ?? []);
  const passes = Map.groupBy(
    deliveries.flatMap(({ dispatched_at_ms }) => dispatched_at_ms ?? []),
    (timeMs) => timeMs,
  );
  const [first] = deliveries;
  return [
    ...(first && accepted.length > 0
      ? [{ time: isoTime(Math.min(...accepted)), step: 'accepted', notification: null, result: first.state }]
      : []),
    ...[...passes].map(([timeMs, { length }]) => ({
      time: isoTime(timeMs),
      step: 'dispatched',
      notification: null,
      result: length === 1 ? '1 delivery' : `${length} deliveries`,
    })),
  ];
};

const words = (...parts: (string | number | null | undefined)[]): string => parts.filter(Boolean).join(' ');

/** The attempts of a delivery, and how it stands: a delivered one needs no more than its last attempt. */
const attemptSteps = (record: DeliveryRecord): Step[] => {
  const { notification, attempts, next_attempt: nextAttempt, status, reason, summary } = deliveryJson(record);
  const end = {
    time: nextAttempt ?? isoTime(record.updated_at_ms),
    step: nextAttempt === null ? status : 'next attempt',
    notification,
    result: reason ?? summary ?? '',
  };
  return [
    ...attempts.map(({ time, outcome, http_status, reason: cause, duration_ms }) => ({
      time,
      step: 'attempt',
      notification,
      result: `${words(outcome, http_status, cause)}, ${duration_ms} ms`,
    })),
    ...(status === 'delivered' ? [] : [end]),
  ];
};

const deliverySteps = (record: DeliveryRecord, conflict: string | null): Step[] => {
  const { notificationId: notification } = parseDeliveryPartition(record.pk);
  return [
    ...attemptSteps(record),
    ...(conflict === null
      ? []
      : [{ time: conflict, step: 'event ID reused', notification, result: 'other content, not sent' }]),
  ];
};

const noticeSteps = (notice: DeliveryRecord, deliveries: readonly DeliveryRecord[]): Step[] => {
  const { notificationId: notification } = parseDeliveryPartition(notice.pk);
  const isOwn = deliveries.length === 0 || isCausedBy(notice, deliveries);
  return [
    {
      time: isoTime(notice.created_at_ms),
      step: notice.notice === 'unreached' ? 'escalation' : 'notice',
      notification,
      result: isOwn ? (notice.notice ?? '') : `${notice.notice}, because of another alert`,
    },
    ...attemptSteps(notice).map((step) => ({ ...step, step: `notice: ${step.step}` })),
  ];
};

const letterStep = ({ time, type, notification, reason, cause, detail }: LetterOfQueue): Step => ({
  time,
  step: 'dead letter',
  notification: notification ?? null,
  result: `${type}: ${words(reason, `(${cause})`, detail)}`,
});

/** Returns the IDs of an event, one on each line. */
const heading = ({ tenant, event, producer_message_id: message, trace_id: traceId }: EventJson): string =>
  Object.entries({ event, tenant, message, trace: traceId })
    .flatMap(([name, id]) => (id === null ? [] : [`${name.padEnd(9)}${sanitize(id)}`]))
    .join('\n');

/** The columns of the table of what happened to an event. Its times have milliseconds, because most differ by less. */
export const timelineColumns: readonly Column<Step>[] = [
  ['time', ({ time }) => time],
  ['step', ({ step }) => step, { cut: 'end', minWidth: 12 }],
  ['notification', ({ notification }) => sanitize(notification ?? '–'), { ...NOTIFICATION_ID, omit: 1 }],
  ['result', ({ result }) => sanitize(result), { cut: 'end', minWidth: 16 }],
];
