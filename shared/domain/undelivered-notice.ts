import type { AlarmEvent } from '../contracts/alarm-event.ts';

/**
 * Returns the notice that alerts of a notification were dead-lettered: an alarm event for the account's technical
 * contacts. Its ID contains the day (UTC), so it is delivered at most once per notification per day
 * (DECISIONS.md#dead-letter-notices).
 *
 * @param nowMs ms since the epoch
 */
export const undeliveredNotice = (tenant: string, notificationId: string, nowMs: number): AlarmEvent => ({
  event_id: `${tenant}:${notificationId}:undelivered:${new Date(nowMs).toISOString().slice(0, 10)}`,
  tenant_id: tenant,
  details: {
    state: 'WARNING',
    status: `Alerts for notification ${notificationId} could not be delivered. Test the notification to find the cause, and update it if its destination has changed. You receive this notice at most once a day.`,
  },
  entity: { id: notificationId, label: `Notification ${notificationId}` },
  alarm: { id: 'undelivered', label: 'Alerts could not be delivered' },
});

/** Returns whether an event is a notice that `undeliveredNotice` created. */
export const isUndeliveredNotice = ({ alarm, event_id, entity }: AlarmEvent): boolean =>
  alarm.id === 'undelivered' && event_id.includes(`:${entity.id}:undelivered:`);
