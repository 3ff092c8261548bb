import type { AlarmEvent } from '../contracts/alarm-event.ts';
import { listedNotifications } from '../contracts/notification-plan.ts';

/** Returns whether an event reports a new state. An absent `previous_state` counts as a change. */
export const isStateChange = ({ details, previous_state: previous }: AlarmEvent): boolean => previous !== details.state;

/**
 * Returns the IDs that the notification plan of a valid event lists for its state, without duplicates, or an empty list
 * if the state did not change (docs/decisions/events.md#routing).
 */
export const plannedNotifications = (event: AlarmEvent): string[] =>
  isStateChange(event) ? listedNotifications(event.notification_plan, event.details.state) : [];
