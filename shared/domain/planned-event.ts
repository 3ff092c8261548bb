import { type AlarmEvent, brokenEventRules, isAlarmEvent } from '../contracts/alarm-event.ts';
import { parseJson } from '../contracts/json.ts';
import { continuation } from '../contracts/messages.ts';
import type { DeadLetterCause, FailureReason } from '../contracts/outcomes.ts';
import { type SharedBody, sharedBody } from './delivery-message.ts';
import { brokenPlanRule, plannedNotifications } from './routing.ts';

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
};

/** Why a message is neither an event nor a continuation, and who must fix it. */
export type InvalidEvent = {
  reason: Extract<FailureReason, 'malformed' | 'too_large'>;
  cause: Exclude<DeadLetterCause, 'destination'>;
  /** The fields and the rules they break, never a value: up to 300 ASCII characters. */
  detail: string;
};

/** Maximum size of an alarm event. It leaves room in a message of 1 MiB for the fields that the pipeline adds. */
export const MAX_EVENT_BYTES = 900 * 1024;

const malformed = (detail: string, cause: InvalidEvent['cause'] = 'producer'): InvalidEvent => ({
  reason: 'malformed',
  cause,
  detail,
});

const tooLarge: InvalidEvent = {
  reason: 'too_large',
  cause: 'producer',
  detail: `the event must be at most ${MAX_EVENT_BYTES / 1024} KiB`,
};

/** Only dispatch sends continuations. */
const isMeantAsContinuation = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && 'continuation' in value && !('event_id' in value);

/** @throws RangeError if the event nests too deep to serialize */
const plan = (value: unknown, bytes: number, acceptedAtMs: number): PlannedEvent | InvalidEvent => {
  if (isAlarmEvent(value)) {
    if (bytes > MAX_EVENT_BYTES) return tooLarge;
    const ids = plannedNotifications(value);
    if (!ids) return malformed(brokenPlanRule(value));
    const shared = sharedBody(value, acceptedAtMs);
    return { event: value, shared, ids, isContinuation: false, isPartlySent: false, acceptedAtMs };
  }
  const parsed = continuation.safeParse(value);
  if (!parsed.success) {
    return isMeantAsContinuation(value)
      ? malformed('the continuation is not valid', 'service')
      : malformed(brokenEventRules(value));
  }
  const { event } = parsed.data;
  const { ids, known, is_partly_sent: isPartlySent, accepted_at_ms } = parsed.data.continuation;
  const shared = sharedBody(event, accepted_at_ms);
  return { event, shared, ids, known, isContinuation: true, isPartlySent, acceptedAtMs: accepted_at_ms };
};

const parseAndPlan = (body: string, bytes: number, acceptedAtMs: number): PlannedEvent | InvalidEvent => {
  try {
    return plan(parseJson(body), bytes, acceptedAtMs);
  } catch (error) {
    if (error instanceof SyntaxError) return malformed('the event must be JSON');
    if (error instanceof RangeError) return malformed('the event is nested too deeply');
    return malformed('the event could not be processed', 'service');
  }
};

/**
 * Parses and plans the message of an event or continuation. It never throws, because an invalid message must not fail
 * the rest of the batch.
 *
 * @param acceptedAtMs when SQS accepted the message, ms since the epoch
 */
export const planEvent = (body: string, acceptedAtMs: number): PlannedEvent | InvalidEvent => {
  const bytes = Buffer.byteLength(body);
  const planned = parseAndPlan(body, bytes, acceptedAtMs);
  return isInvalidEvent(planned) && planned.cause === 'producer' && bytes > MAX_EVENT_BYTES ? tooLarge : planned;
};

/** Returns whether `planEvent` found the message to be invalid. */
export const isInvalidEvent = (planned: PlannedEvent | InvalidEvent): planned is InvalidEvent => 'reason' in planned;

/**
 * Returns the body of a continuation for the notifications `ids` (DECISIONS.md#dispatch-in-passes).
 *
 * @param isPartlySent whether this or an earlier pass sent a delivery
 */
export const continuationBody = (
  { shared, acceptedAtMs }: PlannedEvent,
  ids: readonly string[],
  known: readonly string[] | undefined,
  isPartlySent: boolean,
): string => {
  const rest = { ids, known, is_partly_sent: isPartlySent, accepted_at_ms: acceptedAtMs };
  return `{"continuation":${JSON.stringify(rest)},"event":${shared.event}}`;
};
