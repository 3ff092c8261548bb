import { type AlarmEvent, isAlarmEvent } from '../contracts/alarm-event.ts';
import { parseJson } from '../contracts/json.ts';
import { continuation } from '../contracts/messages.ts';
import type { FailureReason } from '../contracts/outcomes.ts';
import { type SharedBody, sharedBody } from './delivery-message.ts';
import { eventTime } from './incident.ts';
import { plannedNotifications } from './routing.ts';

/** An event on its way to the notifications that its plan names. */
export type PlannedEvent = {
  event: AlarmEvent;
  shared: SharedBody;
  /** The notifications that have no delivery yet. */
  ids: readonly string[];
  /** All notifications of the event that exist, where an earlier pass found out and they are few enough. */
  known?: readonly string[] | undefined;
  /** True where `ids` are what an earlier pass has left of the plan. */
  isContinuation: boolean;
  eventTimeMs: number;
  /** When SQS accepted the event, ms since the epoch. */
  sentAtMs: number;
};

/** The longest event, in bytes: what is added to it on its way must still fit into a message. */
const MAX_EVENT_BYTES = 900 * 1024;

const parsed = (body: string): unknown => {
  try {
    return parseJson(body);
  } catch {
    return undefined;
  }
};

/** @throws RangeError where the event nests too deep to be written again */
const plan = (value: unknown, bytes: number, sentAtMs: number): PlannedEvent | FailureReason => {
  if (isAlarmEvent(value)) {
    if (bytes > MAX_EVENT_BYTES) return 'too_large';
    const ids = plannedNotifications(value);
    if (!ids) return 'malformed';
    const eventTimeMs = eventTime(value, sentAtMs);
    const shared = sharedBody(value, eventTimeMs);
    return { event: value, shared, ids, isContinuation: false, eventTimeMs, sentAtMs };
  }
  const rest = continuation.safeParse(value);
  if (!rest.success) return 'malformed';
  const { event } = rest.data;
  const { ids, known, event_time_ms: eventTimeMs, sent_at_ms } = rest.data.continuation;
  const shared = sharedBody(event, eventTimeMs);
  return { event, shared, ids, known, isContinuation: true, eventTimeMs, sentAtMs: sent_at_ms };
};

/**
 * Reads and plans the message of an event, or of what remains of its plan, without throwing: whatever it holds, it must not
 * fail the rest of its batch.
 *
 * @param sentAtMs when SQS accepted the message, ms since the epoch
 * @returns the planned event, or why there is none
 */
export const planEvent = (body: string, sentAtMs: number): PlannedEvent | FailureReason => {
  const bytes = Buffer.byteLength(body);
  try {
    const planned = plan(parsed(body), bytes, sentAtMs);
    return planned === 'malformed' && bytes > MAX_EVENT_BYTES ? 'too_large' : planned;
  } catch {
    return 'malformed';
  }
};

/** The body of the message that continues an event with the notifications which are left. */
export const continuationBody = (
  { shared, eventTimeMs, sentAtMs }: PlannedEvent,
  ids: readonly string[],
  known: readonly string[] | undefined,
): string => {
  const rest = { ids, known, event_time_ms: eventTimeMs, sent_at_ms: sentAtMs };
  return `{"continuation":${JSON.stringify(rest)},"event":${shared.event}}`;
};
