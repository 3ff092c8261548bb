import type { AlarmEvent } from '../contracts/alarm-event.ts';
import type { EventHeader } from '../contracts/event-header.ts';
import { listedNotifications } from '../contracts/notification-plan.ts';
import { facts, nameOf, plainNameOf, statusText, truncate } from './alert-text.ts';
import { shortenedId } from './delivery-key.ts';
import { readEventTime } from './event-time.ts';
import { incidentKey } from './incident.ts';

/** Maximum length of a name, in code points: no fixed format shows more of it. */
const MAX_NAME_LENGTH = 255;

/** Maximum length of a status text, in code points. */
const MAX_STATUS_LENGTH = 1_000;

/** Returns an entity or alarm as headers contain it. */
export const namedRecord = (record: { id: string }): EventHeader['entity'] => {
  const [name, plain_name = ''] = [nameOf(record), plainNameOf(record)].map(
    (each) => each && truncate(each, MAX_NAME_LENGTH),
  );
  return { id: shortenedId(record.id), name, ...(plain_name !== name && { plain_name }) };
};

/**
 * Returns what senders know of an event without reading its payload.
 *
 * @param acceptedAtMs when SQS accepted the event, ms since the epoch
 */
export const eventHeader = (event: AlarmEvent, acceptedAtMs: number): EventHeader => {
  const status = statusText(event);
  const { producedAtMs } = readEventTime(event, acceptedAtMs).time;
  return {
    event_id: event.event_id,
    tenant_id: event.tenant_id,
    state: event.details.state,
    previous_state: previousState(event),
    entity: namedRecord(event.entity),
    alarm: namedRecord(event.alarm),
    incident_key: incidentKey(event),
    produced_at_ms: producedAtMs,
    status: status === undefined ? undefined : truncate(status, MAX_STATUS_LENGTH),
    facts: facts(event, producedAtMs),
  };
};

/** Returns the times of an event (`EventTime`) from its header. */
export const eventTime = (
  { produced_at_ms: producedAtMs }: Pick<EventHeader, 'produced_at_ms'>,
  acceptedAtMs: number,
) => ({
  producedAtMs,
  acceptedAtMs,
});

/** The maximum length of a previous state, in UTF-16 units. */
const MAX_PREVIOUS_STATE_LENGTH = 255;

/** The rule that any other previous state breaks. It counts as absent. */
export const PREVIOUS_STATE_RULE = `previous_state must be text of at most ${MAX_PREVIOUS_STATE_LENGTH} characters`;

/** Returns the previous state of an event, or undefined if it is absent or breaks the rule. */
export const previousState = ({ previous_state: previous }: Pick<AlarmEvent, 'previous_state'>): string | undefined =>
  typeof previous === 'string' && previous.length <= MAX_PREVIOUS_STATE_LENGTH ? previous : undefined;

/** Returns whether an event reports a new state. An absent `previous_state` counts as a change. */
export const isStateChange = (event: AlarmEvent): boolean => previousState(event) !== event.details.state;

/**
 * Returns the IDs that the notification plan of a valid event lists for its state, without duplicates, or an empty list
 * if the state did not change (docs/decisions/events.md#routing).
 */
export const plannedNotifications = (event: AlarmEvent): string[] =>
  isStateChange(event) ? listedNotifications(event.notification_plan, event.details.state) : [];
