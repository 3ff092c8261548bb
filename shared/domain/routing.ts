import type { AlarmEvent } from '../contracts/alarm-event.ts';
import { listedNotifications } from '../contracts/notification-plan.ts';

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
