import type { AlarmEvent } from '../contracts/alarm-event.ts';

/**
 * What the owner of a notification hears when its alerts are given up (design 3, Dead letters): an alarm event of our own for
 * the account's technical contacts. It is the same all day, so that the record of its delivery lets one through a day.
 *
 * @param now ms since the epoch
 */
export const undeliveredNotice = (tenant: string, notificationId: string, now: number): AlarmEvent => ({
  event_id: `${tenant}:${notificationId}:undelivered:${new Date(now).toISOString().slice(0, 10)}`,
  tenant_id: tenant,
  details: {
    state: 'WARNING',
    status: `Alerts for notification ${notificationId} could not be delivered. Test the notification to see why, and update it where its destination has changed. You hear of this once a day.`,
  },
  entity: { id: notificationId, label: `Notification ${notificationId}` },
  alarm: { id: 'undelivered', label: 'Alerts could not be delivered' },
});

/** True for such a notice. */
export const isUndeliveredNotice = ({ alarm, event_id, entity }: AlarmEvent): boolean =>
  alarm.id === 'undelivered' && event_id.includes(`:${entity.id}:undelivered:`);
