import { type AlarmEvent, listedNotifications } from '../contracts/alarm-event.ts';
import type { EventHeader } from '../contracts/event-header.ts';
import { facts, nameOf, plainNameOf, statusText, truncate } from './alert-text.ts';
import { shortenedId } from './delivery-key.ts';
import { readEventTime } from './event-time.ts';
import { incidentKey } from './incident.ts';

/** In code points: no fixed format shows more of a name. */
const MAX_NAME_LENGTH = 255;
/** In code points. */
const MAX_STATUS_LENGTH = 1_000;

export const namedRecord = (record: { id: string }): EventHeader['entity'] => {
  const [name, plain_name = ''] = [nameOf(record), plainNameOf(record)].map(
    (each) => each && truncate(each, MAX_NAME_LENGTH),
  );
  return { id: shortenedId(record.id), name, ...(plain_name !== name && { plain_name }) };
};

/** @param acceptedAtMs when SQS accepted the event, ms since the epoch */
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

/** In UTF-16 units. */
const MAX_PREVIOUS_STATE_LENGTH = 255;

/** Any other previous state counts as absent. */
export const PREVIOUS_STATE_RULE = `previous_state must be text of at most ${MAX_PREVIOUS_STATE_LENGTH} characters`;

export const previousState = ({ previous_state: previous }: Pick<AlarmEvent, 'previous_state'>): string | undefined =>
  typeof previous === 'string' && previous.length <= MAX_PREVIOUS_STATE_LENGTH ? previous : undefined;

/** An absent `previous_state` counts as a change. */
export const isStateChange = (event: AlarmEvent): boolean => previousState(event) !== event.details.state;

/** Without duplicates; empty if the state did not change (docs/decisions/events.md#routing). */
export const plannedNotifications = (event: AlarmEvent): string[] =>
  isStateChange(event) ? listedNotifications(event.notification_plan, event.details.state) : [];
