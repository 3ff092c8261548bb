import type { Command } from 'commander';
import type { DeliveryRecord } from '../../shared/domain/delivery-record.ts';
import { examples, parseTenant, parseText } from './arguments.ts';
import { type DescribedLetter, withNotifications } from './dead-letter.ts';
import { type DeliveryJson, deliveriesJson } from './deliveries.ts';
import { OperationError } from './errors.ts';
import { type Column, formatTable, isoTime, sanitize } from './print.ts';
import { connect, type Session } from './session.ts';
import { type Described, labelCell } from './targets.ts';
import { findEvents, isCausedBy, type LetterOfQueue, type TracedEvent } from './traced-event.ts';

/** Adds `event trace`: everything that happened to an event. */
export const addEventTraceCommand = (event: Command): void => {
  event
    .command('trace')
    .description('show what happened to an event, in order of time: deliveries, attempts, notices and dead letters')
    .argument('<id>', "the event ID, or the message ID that SQS returned to the event's producer", parseText(1, 512))
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
    const nothing = `There is neither a delivery nor a dead letter of ${id}. Causes: its previous_state equals its state, or its plan lists nobody for its state ("event unchanged", "event without destination" in the log of dispatch, with the message ID); its plan lists only unknown notifications (the message ID finds the escalation); it never reached the queue.`;
    throw new OperationError([nothing, ...notes].join(' '));
  }
  const found = await Promise.all(events.map((event) => eventJson(session, event)));
  const text = found.map((event) => `${heading(event)}\n\n${formatTable(event.timeline, timelineColumns)}`);
  session.print({ events: found, unread_dead_letters: unread }, text.join('\n'), notes.join('\n'));
};

/** Something that happened to an event. */
type Step = {
  /** In ISO 8601. */
  time: string;
  step: string;
  /** The notification to which it happened, if it was one. */
  notification_id: string | null;
  /** What came of it. */
  result: string;
} & Described;

const noNotification = { notification_id: null, notification_label: null, type: null };

const stepOf = (
  timeMs: number,
  step: string,
  result: string,
  { notification_id, notification_label, type }: Pick<Step, keyof typeof noNotification> = noNotification,
): Step => ({ time: isoTime(timeMs), step, notification_id, notification_label, type, result });

const eventJson = async (session: Session, { tenant, eventId, deliveries, notices, letters }: TracedEvent) => {
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
      ...startOf(deliveries),
      ...listed.flatMap(deliverySteps),
      ...noticesJson.flatMap(noticeSteps),
      ...described.map(letterStep),
    ].toSorted((left, right) => left.time.localeCompare(right.time)),
  };
};

type NoticeJson = DeliveryJson & { notice: string | null; caused_by_event: boolean };
type EventJson = Awaited<ReturnType<typeof eventJson>>;

/** When SQS accepted the event, and when dispatch received it, in one or more passes. */
const startOf = (deliveries: readonly DeliveryRecord[]): Step[] => {
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

/** Returns the IDs of an event, one on each line. */
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
