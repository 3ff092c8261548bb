import { type AlarmEvent, isAlarmEvent } from '../contracts/alarm-event.ts';
import { parseJson } from '../contracts/json.ts';
import { continuation } from '../contracts/messages.ts';
import type { FailureReason } from '../contracts/outcomes.ts';
import { type SharedBody, sharedBody } from './delivery-message.ts';
import { eventTimeMs } from './incident.ts';
import { plannedNotifications } from './routing.ts';

/** An event and the notifications to deliver it to. */
export type PlannedEvent = {
  event: AlarmEvent;
  shared: SharedBody;
  /** IDs of the notifications without a delivery message so far. */
  ids: readonly string[];
  /** IDs of all existing notifications of the event, if an earlier pass determined them and they are few enough. */
  known?: readonly string[] | undefined;
  /** True if an earlier pass sent some of the deliveries. */
  isContinuation: boolean;
  eventTimeMs: number;
  /** When SQS accepted the event, ms since the epoch. */
  sentAtMs: number;
};

/** Maximum size of an alarm event. It leaves room in a message of 1 MiB for the fields that the pipeline adds. */
export const MAX_EVENT_BYTES = 900 * 1024;

const parseBody = (body: string): unknown => {
  try {
    return parseJson(body);
  } catch {
    return undefined;
  }
};

/** @throws RangeError if the event nests too deep to serialize */
const plan = (value: unknown, bytes: number, sentAtMs: number): PlannedEvent | FailureReason => {
  if (isAlarmEvent(value)) {
    if (bytes > MAX_EVENT_BYTES) return 'too_large';
    const ids = plannedNotifications(value);
    if (!ids) return 'malformed';
    const timeMs = eventTimeMs(value, sentAtMs);
    const shared = sharedBody(value, timeMs);
    return { event: value, shared, ids, isContinuation: false, eventTimeMs: timeMs, sentAtMs };
  }
  const parsed = continuation.safeParse(value);
  if (!parsed.success) return 'malformed';
  const { event } = parsed.data;
  const { ids, known, event_time_ms: timeMs, sent_at_ms } = parsed.data.continuation;
  const shared = sharedBody(event, timeMs);
  return { event, shared, ids, known, isContinuation: true, eventTimeMs: timeMs, sentAtMs: sent_at_ms };
};

/**
 * Parses and plans the message of an event or continuation. It never throws, because an invalid message must not fail
 * the rest of the batch.
 *
 * @param sentAtMs when SQS accepted the message, ms since the epoch
 * @returns the planned event, or the reason why the message is invalid
 */
export const planEvent = (body: string, sentAtMs: number): PlannedEvent | FailureReason => {
  const bytes = Buffer.byteLength(body);
  try {
    const planned = plan(parseBody(body), bytes, sentAtMs);
    return planned === 'malformed' && bytes > MAX_EVENT_BYTES ? 'too_large' : planned;
  } catch {
    return 'malformed';
  }
};

/** Returns the body of a continuation for the notifications `ids` (DECISIONS.md#dispatch-in-passes). */
export const continuationBody = (
  { shared, eventTimeMs: timeMs, sentAtMs }: PlannedEvent,
  ids: readonly string[],
  known: readonly string[] | undefined,
): string => {
  const rest = { ids, known, event_time_ms: timeMs, sent_at_ms: sentAtMs };
  return `{"continuation":${JSON.stringify(rest)},"event":${shared.event}}`;
};
