import { type AlarmEvent, isAlarmEvent } from '../contracts/alarm-event.ts';
import { isJsonObject, parseJson } from '../contracts/json.ts';
import { type MessageBody, messageBody } from '../contracts/message-body.ts';
import { continuation, type Origin } from '../contracts/messages.ts';
import type { DeadLetterCause, FailureReason } from '../contracts/outcomes.ts';
import { readTrace } from '../contracts/trace.ts';
import { type SharedBody, sharedBody } from './delivery-message.ts';
import { checkEvent, type EventFindings, type EventIds, readableIds } from './event-findings.ts';
import { isHeartbeat } from './heartbeat.ts';
import { isStateChange, plannedNotifications } from './routing.ts';

/** An event and the notifications to deliver it to. */
export type PlannedEvent = {
  event: AlarmEvent;
  shared: SharedBody;
  /** IDs of the notifications without a delivery message so far. */
  ids: readonly string[];
  /** IDs of all existing notifications of the event, if an earlier pass determined them and they are few enough. */
  known?: readonly string[] | undefined;
  /** True if dispatch sent the message, after an earlier pass. */
  isContinuation: boolean;
  /** True if an earlier pass sent a delivery. */
  isPartlySent: boolean;
  /** When SQS accepted the event, ms since the epoch. */
  acceptedAtMs: number;
  origin: Origin;
  /** The rules that the event breaks although it can be delivered; none for a continuation. */
  warnings: readonly string[];
  /** True if the state changed and the plan lists no notification for the new state, which is legal. */
  hasNoDestination: boolean;
};

/** Why a message is neither an event nor a continuation, and who must fix it. */
export type InvalidEvent = EventFindings & {
  reason: Extract<FailureReason, 'malformed' | 'too_large'>;
  cause: Exclude<DeadLetterCause, 'destination'>;
  /** The IDs of the event, as far as they are valid. */
  ids: EventIds;
};

/** What dispatch knows of a message in addition to its body. */
export type ReceivedMessage = {
  /** Its trace applies if the event itself has none. */
  origin?: Origin;
  /** When dispatch received it, ms since the epoch. */
  receivedAtMs?: number;
  /** Whether the schedule of heartbeats, and no producer, has sent it. */
  canBeHeartbeat?: boolean;
};

/** Maximum size of an alarm event. It leaves room in a message of 1 MiB for the fields that the pipeline adds. */
export const MAX_EVENT_BYTES = 900 * 1024;

const TOO_LARGE_RULE = `the event must be at most ${MAX_EVENT_BYTES / 1024} KiB`;

/** Describes an event without destinations where warnings are shown. */
export const NO_DESTINATION = 'notification_plan lists no notification for the state of the event';

/** What a value that is not JSON, or not serializable, has instead of findings. */
const withError = (error: string): EventFindings => ({ errors: [error], warnings: [] });

const invalidEvent = (
  findings: EventFindings,
  bytes: number,
  { origin = {} }: ReceivedMessage,
  value?: unknown,
): InvalidEvent => {
  const isTooLarge = bytes > MAX_EVENT_BYTES;
  return {
    reason: isTooLarge ? 'too_large' : 'malformed',
    cause: 'producer',
    errors: [...(isTooLarge ? [TOO_LARGE_RULE] : []), ...findings.errors],
    warnings: findings.warnings,
    ids: { trace_id: origin.trace?.id, ...readableIds(value) },
  };
};

const serviceError = (error: string): InvalidEvent => ({
  reason: 'malformed',
  cause: 'service',
  ...withError(error),
  ids: {},
});

/** Only dispatch sends continuations. */
const isMeantAsContinuation = (value: unknown): boolean =>
  isJsonObject(value) && 'continuation' in value && !('event_id' in value);

const continuePlan = (value: unknown, { receivedAtMs }: ReceivedMessage): PlannedEvent | InvalidEvent => {
  const parsed = continuation.safeParse(value);
  // Heartbeats have no continuation: a producer would have sent it.
  if (!parsed.success || isHeartbeat(parsed.data.event)) return serviceError('the continuation is not valid');
  const { event } = parsed.data;
  const {
    ids,
    known,
    is_partly_sent: isPartlySent,
    accepted_at_ms,
    producer_message_id,
    trace,
  } = parsed.data.continuation;
  const origin = { producer_message_id, trace };
  return {
    event,
    origin,
    shared: sharedBody(event, { accepted_at_ms, dispatched_at_ms: receivedAtMs, ...origin }),
    ids,
    known,
    isContinuation: true,
    isPartlySent,
    acceptedAtMs: accepted_at_ms,
    warnings: [],
    hasNoDestination: false,
  };
};

const plan = (
  value: unknown,
  bytes: number,
  acceptedAtMs: number,
  received: ReceivedMessage,
): PlannedEvent | InvalidEvent => {
  const { receivedAtMs, canBeHeartbeat } = received;
  const { errors, warnings } = checkEvent(value, acceptedAtMs, canBeHeartbeat);
  if (errors.length > 0 || bytes > MAX_EVENT_BYTES || !isAlarmEvent(value)) {
    return invalidEvent({ errors, warnings }, bytes, received, value);
  }
  const ids = plannedNotifications(value);
  const origin = { ...received.origin, trace: readTrace(value) ?? received.origin?.trace };
  return {
    event: value,
    origin,
    shared: sharedBody(value, { accepted_at_ms: acceptedAtMs, dispatched_at_ms: receivedAtMs, ...origin }),
    ids,
    isContinuation: false,
    isPartlySent: false,
    acceptedAtMs,
    warnings,
    hasNoDestination: ids.length === 0 && isStateChange(value),
  };
};

/**
 * Parses and plans the message of an event or continuation. It never throws, because an invalid message must not fail
 * the rest of the batch.
 *
 * @param acceptedAtMs when SQS accepted the message, ms since the epoch
 */
export const planEvent = (
  body: string,
  acceptedAtMs: number,
  received: ReceivedMessage = {},
): PlannedEvent | InvalidEvent => {
  const bytes = Buffer.byteLength(body);
  try {
    const value = parseJson(body);
    return isMeantAsContinuation(value) ? continuePlan(value, received) : plan(value, bytes, acceptedAtMs, received);
  } catch (error) {
    if (error instanceof SyntaxError) return invalidEvent(withError('the event must be JSON'), bytes, received);
    if (error instanceof RangeError) {
      // Without the digits of numbers, any depth can be parsed.
      const value: unknown = JSON.parse(body);
      const { warnings } = checkEvent(value, acceptedAtMs);
      return invalidEvent({ errors: ['the event is nested too deeply'], warnings }, bytes, received, value);
    }
    return serviceError('the event could not be processed');
  }
};

/** Returns the IDs of an event for logs. */
export const idsOfEvent = ({ event, origin }: Pick<PlannedEvent, 'event' | 'origin'>): EventIds => ({
  tenant_id: event.tenant_id,
  event_id: event.event_id,
  trace_id: origin.trace?.id,
});

/** Returns whether `planEvent` found the message to be invalid. */
export const isInvalidEvent = (planned: PlannedEvent | InvalidEvent): planned is InvalidEvent => 'reason' in planned;

/**
 * Returns the body of a continuation for the notifications `ids` (docs/decisions/events.md#dispatch-in-passes).
 *
 * @param isPartlySent whether this or an earlier pass sent a delivery
 */
export const continuationBody = (
  { shared, acceptedAtMs, origin }: PlannedEvent,
  ids: readonly string[],
  known: readonly string[] | undefined,
  isPartlySent: boolean,
): MessageBody => {
  const rest = { ids, known, is_partly_sent: isPartlySent, accepted_at_ms: acceptedAtMs, ...origin };
  return messageBody(`{"continuation":${JSON.stringify(rest)},"event":${shared.event}}`);
};
