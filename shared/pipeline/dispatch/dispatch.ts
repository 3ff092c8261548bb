import type { Context, SQSBatchResponse, SQSEvent, SQSRecord } from 'aws-lambda';
import type { WriteDestinationList } from '../../adapters/deliveries/destination-list.ts';
import { errorTrace, logger } from '../../adapters/logger.ts';
import { count, emitMetrics, oldestAgeSeconds } from '../../adapters/metrics.ts';
import type { NotificationRepository } from '../../adapters/notifications/notification-repository.ts';
import { ORIGIN_ATTRIBUTES, type Queues } from '../../adapters/queues.ts';
import { messageBody } from '../../contracts/message-body.ts';
import type { Origin } from '../../contracts/messages.ts';
import { readTrace } from '../../contracts/trace.ts';
import type { Clock } from '../../domain/clock.ts';
import { EVENTS_RECEIVED, PRODUCER_ERRORS, PRODUCER_FAULTS, PRODUCER_WARNINGS } from '../../domain/delivery-metrics.ts';
import { findingFields } from '../../domain/event-findings.ts';
import { isHeartbeat } from '../../domain/heartbeat.ts';
import {
  continuationBody,
  type InvalidEvent,
  idsOfEvent,
  isInvalidEvent,
  type PlannedEvent,
  planEvent,
} from '../../domain/planned-event.ts';
import { internalErrorDelayMs } from '../../domain/retry-schedule.ts';
import type { ParsedEnvironment } from '../../environment.ts';
import { parseLarge, returnDeferred, splitBySize } from '../large-messages.ts';
import type { Escalation } from '../notices/escalation.ts';
import { settleNotices } from '../notices/settle-notices.ts';
import { unknownPlanNotice } from '../notices/unreached-notice.ts';
import { returnWithBackoff } from '../return-with-backoff.ts';
import { createFanOut, isPartlySent, isPlanUnknown, type Progress } from './fan-out.ts';

/** The environment variables of dispatch, parsed. */
export type DispatchEnvironment = Pick<
  ParsedEnvironment<'dispatch-alarm-events'>,
  'ALARM_EVENTS_QUEUE' | 'DEAD_LETTER_QUEUE' | 'SENDER_QUEUES'
> &
  Partial<Pick<ParsedEnvironment<'dispatch-alarm-events'>, 'HEARTBEAT_ROLE_ID' | 'COUNT_EVENTS'>>;

/**
 * How long one invocation sends deliveries: half of the function's timeout. The rest is sent as a continuation message.
 */
const PASS_MS = 15_000;

/** How long it sends deliveries of small messages if the batch also has large ones, whose parsing takes time. */
const PASS_BEFORE_LARGE_MS = 5_000;

/** How long one invocation parses large messages. The rest of the pass sends their deliveries. */
const PARSE_LARGE_MS = 10_000;

type EventMessage = PlannedEvent & { message: SQSRecord };
type InvalidMessage = { message: SQSRecord; invalid: InvalidEvent; sentAtMs: number };

/** The progress of the valid events of a part of a batch, and the results of all its messages. */
type Pass = { progress: Progress<EventMessage>[]; results: MessageResult[] };

/** The result of a message. If `isReturned`, it stays on the queue, with its visibility timeout already set. */
type MessageResult = {
  message: SQSRecord;
  /** Undefined for an invalid message. */
  planned?: PlannedEvent;
  isReturned: boolean;
  isInternalError: boolean;
  sentAtMs: number;
  /** Who caused the dead letter, if the message was dead-lettered. */
  deadLetterCause?: InvalidEvent['cause'];
};

/** The maximum length of a message ID, and its characters (AWS limit: 100). */
const MESSAGE_ID = /^[\w-]{1,100}$/;

/** Returns what a message tells about its producer besides the event. A redriven dead letter has another message ID. */
const originOf = ({ messageId, messageAttributes }: SQSRecord): Origin => {
  const [traceparent, tracestate, originalId = ''] = ORIGIN_ATTRIBUTES.map(
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
  const planned = planEvent(message.body, sentAtMs, { origin: originOf(message), receivedAtMs: nowMs, canBeHeartbeat });
  return isInvalidEvent(planned) ? { message, invalid: planned, sentAtMs } : { ...planned, message };
};

const isHeartbeatOf = ({ planned }: Pick<MessageResult, 'planned'>): boolean =>
  planned !== undefined && isHeartbeat(planned.event);

const isFirstReceive = ({ attributes }: SQSRecord): boolean => attributes.ApproximateReceiveCount === '1';

/** Returns whether dispatch receives an alarm event for the first time. */
const isNewEvent = ({ planned, message }: MessageResult): boolean =>
  planned !== undefined && !planned.isContinuation && isFirstReceive(message);

const isInvalid = (parsed: EventMessage | InvalidMessage): parsed is InvalidMessage => 'invalid' in parsed;

/**
 * Creates the Lambda handler that sends a delivery to the queue of its type for each notification of an alarm event.
 */
export const createDispatch = (
  notifications: Pick<NotificationRepository, 'targets'>,
  queues: Queues,
  writeDestinationList: WriteDestinationList,
  escalation: Escalation,
  environment: DispatchEnvironment,
  clock: Clock = Date.now,
) => {
  const fanOut = createFanOut(notifications, queues, writeDestinationList, environment.SENDER_QUEUES, clock);

  const returnToEventQueue = (message: SQSRecord): Promise<void> =>
    returnWithBackoff(queues, environment.ALARM_EVENTS_QUEUE, message);

  const deadLetterInvalid = async ({ message, invalid, sentAtMs }: InvalidMessage): Promise<MessageResult> => {
    const { MessageGroupId: messageGroupId } = message.attributes;
    const { reason, cause, ids } = invalid;
    const fields = { reason, cause, ...findingFields(invalid) };
    try {
      await queues.sendToDeadLetterQueue(
        environment.DEAD_LETTER_QUEUE,
        { body: messageBody(message.body), messageGroupId },
        { ...fields, attemptCount: 0, origin: originOf(message) },
      );
      const { tenant_id = messageGroupId, event_id, trace_id } = ids;
      logger.warn('invalid event', { message_id: message.messageId, tenant_id, event_id, trace_id, ...fields });
      return { message, isReturned: false, isInternalError: false, sentAtMs, deadLetterCause: cause };
    } catch (error) {
      logger.error('internal error', {
        message_id: message.messageId,
        tenant_id: messageGroupId,
        ...errorTrace(error),
      });
      await returnToEventQueue(message);
      return { message, isReturned: true, isInternalError: true, sentAtMs };
    }
  };

  /**
   * Sends the rest of a plan as a separate message, because returning the original would repeat the deliveries already
   * sent.
   *
   * @returns false if it was not sent
   */
  const sendContinuation = async (progress: Progress<EventMessage>): Promise<boolean> => {
    const { planned, failed, untried, known } = progress;
    const body = continuationBody(planned, [...failed, ...untried], known, isPartlySent(progress));
    const waitMs = failed.length > 0 ? internalErrorDelayMs(1, 1) : 0;
    try {
      await queues.sendDelayed(
        environment.ALARM_EVENTS_QUEUE,
        { body, messageGroupId: planned.event.tenant_id },
        waitMs,
      );
      return true;
    } catch (error) {
      logger.error('continuation not sent', {
        message_id: planned.message.messageId,
        ...idsOfEvent(planned),
        ...errorTrace(error),
      });
      return false;
    }
  };

  /** Acknowledges the message of an event, continues its plan in a new message, or returns the message to its queue. */
  const finishPass = async (progress: Progress<EventMessage>): Promise<MessageResult> => {
    const { planned, failed, untried, sent, unknown, hasInternalError } = progress;
    const { message, acceptedAtMs } = planned;
    const result = { message, planned, isReturned: false, isInternalError: hasInternalError, sentAtMs: acceptedAtMs };
    if (failed.length + untried.length === 0 || isHeartbeat(planned.event)) return result;
    if (sent + unknown === 0) {
      await returnToEventQueue(message);
      return { ...result, isReturned: true };
    }
    if (await sendContinuation(progress)) return result;
    await returnToEventQueue(message);
    return { ...result, isReturned: true, isInternalError: true };
  };

  /** Escalates an event whose notification plan lists only notifications that do not exist. Never rejects. */
  const escalateUnknownPlan = async ({ planned }: Progress<EventMessage>, timeLeft: () => number): Promise<void> => {
    const { event, origin, ids, acceptedAtMs } = planned;
    if (!escalation.isDue(event, acceptedAtMs)) return;
    const alert = { event, acceptedAtMs, atMs: acceptedAtMs };
    await settleNotices(
      [escalation.escalate(alert, origin, ids, () => unknownPlanNotice(alert, ids))],
      idsOfEvent(planned),
      timeLeft,
    );
  };

  /**
   * Logs and counts events that break a rule although they are delivered, and events without destinations, and logs
   * events that have a trace. Each event counts when its message is acknowledged: a continuation has no findings, and SQS
   * rarely delivers a message twice.
   *
   * @returns the metrics
   */
  const reportFindings = (results: readonly MessageResult[]): Record<string, number> => {
    const accepted = results.flatMap(({ message, planned, isReturned }) =>
      planned && !isReturned ? [{ message, ...planned }] : [],
    );
    const idsOf = (each: (typeof accepted)[number]) => ({ message_id: each.message.messageId, ...idsOfEvent(each) });
    const traced = accepted.filter(({ origin, isContinuation }) => origin.trace && !isContinuation);
    for (const each of traced) logger.info('event dispatched', idsOf(each));
    const withWarnings = accepted.filter(({ warnings }) => warnings.length > 0);
    for (const each of withWarnings) {
      logger.warn('event with warnings', { ...idsOf(each), ...findingFields({ errors: [], warnings: each.warnings }) });
    }
    const withoutDestination = accepted.filter(({ hasNoDestination }) => hasNoDestination);
    for (const each of withoutDestination) logger.warn('event without destination', idsOf(each));
    const errorCount = results.filter(({ deadLetterCause }) => deadLetterCause === 'producer').length;
    return {
      [PRODUCER_WARNINGS]: withWarnings.length,
      [PRODUCER_FAULTS]: errorCount + withWarnings.length,
      events_without_destination: withoutDestination.length,
    };
  };

  const emitPassMetrics = (
    progress: readonly Progress[],
    results: readonly MessageResult[],
    deferred: readonly SQSRecord[],
  ): void => {
    const unprocessed = results.filter(({ isInternalError }) => isInternalError);
    const throttled = progress.filter(({ failed, hasInternalError }) => failed.length > 0 && !hasInternalError);
    const deadLettered = (wanted: InvalidEvent['cause']) =>
      results.filter(({ deadLetterCause }) => deadLetterCause === wanted).length;
    const nowMs = clock();
    // A message that is deferred is not parsed yet, and never first received again.
    const receivedCount = results.filter(isNewEvent).length + deferred.filter(isFirstReceive).length;
    // Only dispatch emits these, so they need no dimension.
    count({
      deliveries_planned: progress.reduce((total, { sent }) => total + sent, 0),
      unknown_notifications: progress.reduce((total, { unknown }) => total + unknown, 0),
      [EVENTS_RECEIVED]: environment.COUNT_EVENTS ? receivedCount : 0,
      ...reportFindings(results),
    });
    emitMetrics(
      {
        [PRODUCER_ERRORS]: deadLettered('producer'),
        dead_lettered_service: deadLettered('service'),
        throttled_keys: throttled.length,
        deferred: deferred.length,
        internal_errors: unprocessed.length,
        oldest_unprocessed_seconds: oldestAgeSeconds(
          unprocessed.map(({ sentAtMs }) => sentAtMs),
          nowMs,
        ),
      },
      { function: 'dispatch-alarm-events' },
    );
  };

  const runPass = async (parsed: readonly (EventMessage | InvalidMessage)[], endsAtMs: number): Promise<Pass> => {
    const [deadLettered, progress] = await Promise.all([
      Promise.all(parsed.filter(isInvalid).map(deadLetterInvalid)),
      fanOut(
        parsed.filter((message): message is EventMessage => !isInvalid(message)),
        endsAtMs,
      ),
    ]);
    return { progress, results: [...deadLettered, ...(await Promise.all(progress.map(finishPass)))] };
  };

  return async ({ Records: messages }: SQSEvent, context?: Context): Promise<SQSBatchResponse> => {
    logger.appendKeys({ request_id: context?.awsRequestId });
    const startedAtMs = clock();
    const parse = (message: SQSRecord) => parseMessage(message, startedAtMs, environment.HEARTBEAT_ROLE_ID);
    const { small, large } = splitBySize(messages);
    const first = await runPass(small.map(parse), startedAtMs + (large.length > 0 ? PASS_BEFORE_LARGE_MS : PASS_MS));
    const { parsed, deferred } = await parseLarge(large, parse, () => clock() < startedAtMs + PARSE_LARGE_MS);
    const [second] = await Promise.all([
      runPass(parsed, startedAtMs + PASS_MS),
      Promise.all(deferred.map((message) => returnDeferred(queues, environment.ALARM_EVENTS_QUEUE, message))),
    ]);
    const progress = [...first.progress, ...second.progress].filter((each) => !isHeartbeatOf(each));
    const results = [...first.results, ...second.results].filter((each) => !isHeartbeatOf(each));
    emitPassMetrics(progress, results, deferred);
    const timeLeft = () => context?.getRemainingTimeInMillis() ?? PASS_MS;
    await Promise.all(progress.filter(isPlanUnknown).map((event) => escalateUnknownPlan(event, timeLeft)));
    const returned = results.flatMap(({ message, isReturned }) => (isReturned ? [message] : []));
    return {
      batchItemFailures: [...returned, ...deferred].map(({ messageId }) => ({ itemIdentifier: messageId })),
    };
  };
};
