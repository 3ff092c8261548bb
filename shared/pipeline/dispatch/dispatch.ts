import type { SQSRecord } from 'aws-lambda';
import type { WriteDestinationList } from '../../adapters/deliveries/destination-list.ts';
import { createThrottlingWatch } from '../../adapters/dynamodb/errors.ts';
import { logger } from '../../adapters/logger.ts';
import type { NotificationRepository } from '../../adapters/notifications/notification-repository.ts';
import { CORRELATION_ATTRIBUTES, type Queues } from '../../adapters/queues.ts';
import type { PlanReport } from '../../contracts/delivery-report.ts';
import { type Correlation, messageBody } from '../../contracts/messages.ts';
import { readTrace } from '../../contracts/trace.ts';
import { EVENTS_RECEIVED, PRODUCER_ERRORS, PRODUCER_FAULTS, PRODUCER_WARNINGS } from '../../domain/delivery-metrics.ts';
import { isHeartbeat } from '../../domain/heartbeat.ts';
import {
  findingFields,
  type InvalidEvent,
  idsOfEvent,
  isInvalidEvent,
  MAX_PLANNED_NOTIFICATIONS,
  type PlannedEvent,
  planEvent,
} from '../../domain/planned-event.ts';
import type { Clock } from '../../domain/time.ts';
import type { ParsedEnvironment } from '../../environment.ts';
import { createBatchConsumer, createMessageReturn, type Handled } from '../batch-consumer.ts';
import { reportMessage } from '../report-messages.ts';
import { createFanOut, type FannedOut } from './fan-out.ts';

export type DispatchEnvironment = Pick<
  ParsedEnvironment<'dispatch-alarm-events'>,
  'ALARM_EVENTS_QUEUE' | 'DEAD_LETTER_QUEUE' | 'SENDER_QUEUES' | 'REPORTS_QUEUE'
> &
  Partial<Pick<ParsedEnvironment<'dispatch-alarm-events'>, 'HEARTBEAT_ROLE_ID' | 'COUNT_EVENTS'>>;

/** How long an invocation has for its events: less than the timeout of the function, 30 s. */
const PASS_MS = 25_000;

/** A conservative estimate of what dispatch sends per second: the largest event (64 MiB) takes 8 s. */
const BYTES_PER_MS = (8 * 1_024 * 1_024) / 1_000;
/** Reserved for the reads of an event, and for a second try of its deliveries. */
const RESERVED_MS = 3_000;

/** Messages that are longer are parsed only after the events of the others are sent. */
const MAX_SMALL_LENGTH = 64 * 1_024;

type EventMessage = PlannedEvent & { message: SQSRecord };
type InvalidMessage = { message: SQSRecord; invalid: InvalidEvent };

type MessageResult = Handled & {
  /** Undefined for an invalid message, and for one that was not started. */
  planned?: PlannedEvent;
  isUnstarted?: true;
  /** Who caused the dead letter, if the message was dead-lettered. */
  deadLetterCause?: InvalidEvent['cause'];
};

/** AWS limit: 100. */
const MESSAGE_ID = /^[\w-]{1,100}$/;

/** A redriven dead letter has another message ID. */
const messageCorrelation = ({ messageId, messageAttributes }: SQSRecord): Correlation => {
  const [traceparent, tracestate, originalId = ''] = CORRELATION_ATTRIBUTES.map(
    (name) => messageAttributes[name]?.stringValue,
  );
  return {
    producer_message_id: MESSAGE_ID.test(originalId) ? originalId : messageId,
    trace: readTrace({ traceparent, tracestate }),
  };
};

/** @param heartbeatRole the ID of the role of the schedule of heartbeats, if there is one */
const parseMessage = (
  message: SQSRecord,
  nowMs: number,
  heartbeatRole: string | undefined,
): EventMessage | InvalidMessage => {
  const { SentTimestamp, SenderId } = message.attributes;
  const sentAtMs = Number(SentTimestamp) || nowMs;
  // The ID of a role is followed by the name of the session.
  const canBeHeartbeat = heartbeatRole !== undefined && SenderId.startsWith(`${heartbeatRole}:`);
  const planned = planEvent(message.body, sentAtMs, {
    correlation: messageCorrelation(message),
    receivedAtMs: nowMs,
    canBeHeartbeat,
  });
  return isInvalidEvent(planned) ? { message, invalid: planned } : { ...planned, message };
};

const isHeartbeatOf = ({ planned }: Pick<MessageResult, 'planned'>): boolean =>
  planned !== undefined && isHeartbeat(planned.shared.header);

const isFirstReceive = ({ attributes }: SQSRecord): boolean => attributes.ApproximateReceiveCount === '1';

/** One that was not started may be invalid. */
const isNewEvent = ({ planned, isUnstarted, message }: MessageResult): boolean =>
  (planned !== undefined || isUnstarted === true) && isFirstReceive(message);

/** Whether it may reach nobody: no notification exists, or one may have been deleted before its delivery was sent. */
const mayReachNobody = ({ planned, unknown }: FannedOut<EventMessage>): boolean =>
  unknown > 0 && (unknown === planned.ids.length || !isFirstReceive(planned.message));

const isInvalid = (parsed: EventMessage | InvalidMessage): parsed is InvalidMessage => 'invalid' in parsed;

const bySize = (messages: readonly SQSRecord[]): SQSRecord[][] => {
  const sorted = messages.toSorted((one, other) => one.body.length - other.body.length);
  const isSmall = ({ body }: SQSRecord): boolean => body.length <= MAX_SMALL_LENGTH;
  return [sorted.filter(isSmall), sorted.filter((message) => !isSmall(message))];
};

/** Unless a group has only one event, in bytes. */
const MAX_GROUP_BYTES = 4 * 1_024 * 1_024;

const deliveriesBytes = (events: readonly PlannedEvent[]): number =>
  events.reduce((sum, { ids, shared }) => sum + ids.length * shared.bytes, 0);

const fits = (events: readonly PlannedEvent[]): boolean =>
  deliveriesBytes(events) <= MAX_GROUP_BYTES &&
  events.reduce((sum, { ids }) => sum + ids.length, 0) <= MAX_PLANNED_NOTIFICATIONS;

/** Events that share reads and batches, the smallest deliveries first: a large plan delays no other. */
const eventGroups = <Event extends PlannedEvent>(events: readonly Event[]): Event[][] => {
  const groups: Event[][] = [];
  for (const event of events.toSorted((one, other) => deliveriesBytes([one]) - deliveriesBytes([other]))) {
    const last = groups.at(-1);
    if (last && fits([...last, event])) last.push(event);
    else groups.push([event]);
  }
  return groups;
};

export const createDispatch = (
  notifications: Pick<NotificationRepository, 'targets'>,
  queues: Queues,
  writeDestinationList: WriteDestinationList,
  environment: DispatchEnvironment,
  clock: Clock = Date.now,
  sleep?: (delayMs: number) => Promise<unknown>,
) => {
  const isTenantThrottled = createThrottlingWatch(clock);
  const { SENDER_QUEUES } = environment;
  const fanOut = createFanOut(
    notifications,
    queues,
    writeDestinationList,
    SENDER_QUEUES,
    isTenantThrottled,
    clock,
    sleep,
  );

  const dimension = { function: 'dispatch-alarm-events' } as const;
  const queueUrlOf = () => environment.ALARM_EVENTS_QUEUE;
  const { returnMessage, returnAfterError } = createMessageReturn({ dimension, queueUrlOf, queues, isTenantThrottled });

  const deadLetterInvalid = async ({ message, invalid }: InvalidMessage): Promise<MessageResult> => {
    const { MessageGroupId: messageGroupId } = message.attributes;
    const { reason, cause, ids } = invalid;
    const fields = { reason, cause, ...findingFields(invalid) };
    try {
      await queues.sendToDeadLetterQueue(
        environment.DEAD_LETTER_QUEUE,
        { body: messageBody(message.body), messageGroupId },
        { ...fields, attemptCount: 0, correlation: messageCorrelation(message) },
      );
      const { tenant_id = messageGroupId, event_id, trace_id } = ids;
      logger.warn('invalid event', { message_id: message.messageId, tenant_id, event_id, trace_id, ...fields });
      return { message, deadLetterCause: cause };
    } catch (error) {
      return { message, ...(await returnAfterError(message, {}, error)) };
    }
  };

  /** Acknowledges an event, or returns it if something was not sent: what was sent becomes a duplicate. */
  const finishEvent = async (fannedOut: FannedOut<EventMessage>): Promise<MessageResult> => {
    const { planned, isIncomplete, hasInternalError } = fannedOut;
    const { message } = planned;
    const isUnreported = mayReachNobody(fannedOut) && !(await reportPlan(planned));
    const isReturned = (isIncomplete || isUnreported) && !isHeartbeat(planned.shared.header);
    if (isReturned) await returnMessage(message);
    const throttled = isReturned ? 'throttled_keys' : undefined;
    const kind = hasInternalError || isUnreported ? 'internal_error' : throttled;
    return { message, planned, isReturned, kind };
  };

  /** Never rejects. */
  const returnUnstarted = async (message: SQSRecord): Promise<MessageResult> => {
    logger.warn('event not started', { message_id: message.messageId, tenant_id: message.attributes.MessageGroupId });
    await returnMessage(message);
    return { message, isReturned: true, isUnstarted: true };
  };

  /** Returns false if SQS refused it. */
  const reportPlan = async ({ shared, correlation, ids, acceptedAtMs }: EventMessage): Promise<boolean> => {
    const event = { ...shared.header, facts: [] };
    const report: PlanReport = {
      kind: 'plan',
      event,
      notification_ids: [...ids],
      accepted_at_ms: acceptedAtMs,
      ...correlation,
    };
    return (await queues.sendAll(environment.REPORTS_QUEUE, [reportMessage(report)])).length === 0;
  };

  /** Logs and counts what is odd about acknowledged events, and logs those with a trace. Returns the metrics. */
  const reportFindings = (results: readonly MessageResult[]): Record<string, number> => {
    const accepted = results.flatMap(({ message, planned, isReturned }) =>
      planned && !isReturned ? [{ message, ...planned }] : [],
    );
    const idsOf = (each: (typeof accepted)[number]) => ({ message_id: each.message.messageId, ...idsOfEvent(each) });
    const traced = accepted.filter(({ correlation }) => correlation.trace);
    for (const each of traced) logger.info('event dispatched', idsOf(each));
    const withWarnings = accepted.filter(({ warnings }) => warnings.length > 0);
    for (const each of withWarnings) {
      logger.warn('event with warnings', { ...idsOf(each), ...findingFields({ errors: [], warnings: each.warnings }) });
    }
    const withoutDestination = accepted.filter(({ noDelivery }) => noDelivery === 'no_destination');
    for (const each of withoutDestination) logger.warn('event without destination', idsOf(each));
    const unchanged = accepted.filter(({ noDelivery }) => noDelivery === 'unchanged');
    for (const each of unchanged) logger.info('event unchanged', idsOf(each));
    const errorCount = results.filter(({ deadLetterCause }) => deadLetterCause === 'producer').length;
    return {
      [PRODUCER_WARNINGS]: withWarnings.length,
      [PRODUCER_FAULTS]: errorCount + withWarnings.length,
      events_without_destination: withoutDestination.length,
      events_unchanged: unchanged.length,
    };
  };

  /** Small messages, then those with the smallest deliveries, come first, while there is time for them. */
  const runPass = async (messages: readonly SQSRecord[]) => {
    const startedAtMs = clock();
    const hasTimeFor = (bytes: number): boolean =>
      clock() + RESERVED_MS + bytes / BYTES_PER_MS <= startedAtMs + PASS_MS;
    const results: Promise<MessageResult>[] = [];
    const fannedOut: FannedOut<EventMessage>[] = [];

    const plan = (part: readonly SQSRecord[]): EventMessage[] =>
      part.flatMap((message) => {
        const parsed = hasTimeFor(0) ? parseMessage(message, startedAtMs, environment.HEARTBEAT_ROLE_ID) : undefined;
        if (parsed && !isInvalid(parsed)) return [parsed];
        results.push(parsed ? deadLetterInvalid(parsed) : returnUnstarted(message));
        return [];
      });

    for (const part of bySize(messages)) {
      for (const group of eventGroups(plan(part))) {
        const sent = hasTimeFor(deliveriesBytes(group)) ? await fanOut(group, startedAtMs + PASS_MS) : undefined;
        fannedOut.push(...(sent ?? []));
        results.push(...(sent?.map(finishEvent) ?? group.map(({ message }) => returnUnstarted(message))));
      }
    }
    return { fannedOut, results: await Promise.all(results) };
  };

  return createBatchConsumer({
    dimension,
    clock,
    // Large events are parsed after small ones are sent.
    parse: (body) => body,
    async process(received) {
      const pass = await runPass(received.map(({ message }) => message));
      const fannedOut = pass.fannedOut.filter((each) => !isHeartbeatOf(each));
      const handled = pass.results.filter((each) => !isHeartbeatOf(each));
      const deadLettered = (wanted: InvalidEvent['cause']) =>
        handled.filter(({ deadLetterCause }) => deadLetterCause === wanted).length;
      return {
        handled,
        // Only dispatch emits these, so they need no dimension.
        counts: {
          deliveries_planned: fannedOut.reduce((total, { sent }) => total + sent, 0),
          unknown_notifications: fannedOut.reduce((total, { unknown }) => total + unknown, 0),
          [EVENTS_RECEIVED]: environment.COUNT_EVENTS ? handled.filter(isNewEvent).length : 0,
          ...reportFindings(handled),
        },
        metrics: {
          [PRODUCER_ERRORS]: deadLettered('producer'),
          dead_lettered_service: deadLettered('service'),
          events_not_started: handled.filter(({ isUnstarted }) => isUnstarted).length,
        },
      };
    },
  });
};
