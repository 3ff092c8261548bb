import { type AlarmEvent, isAlarmEvent } from '../../shared/contracts/alarm-event.ts';
import { deliveryBody, sharedBody } from '../../shared/domain/delivery-message.ts';

/** When the alarm of `alarmEvent` changed its state, ms. */
export const EVENT_TIME = 1_700_000_000_000;

/** An alarm event as the pipeline sends it, with changes. */
export const alarmEvent = (changes: Partial<AlarmEvent> = {}): AlarmEvent => ({
  event_id: `acme:enAAAA:alBBBB:chCCCC:${EVENT_TIME}:CRITICAL`,
  log_entry_id: '6da55310-4200-11e6-9a3c-4b2f0d7f0a11',
  tenant_id: 'acme',
  details: {
    target: 'web-1.example.com',
    timestamp: EVENT_TIME,
    metrics: { duration: { type: 'i', data: 153, unit: 'milliseconds' } },
    state: 'CRITICAL',
    status: 'Disk is full',
    observations: [],
  },
  entity: { id: 'enAAAA', label: 'web-1', ip_addresses: { default: '192.0.2.1' } },
  check: { id: 'chCCCC', label: 'Disk usage', type: 'agent.filesystem' },
  alarm: { id: 'alBBBB', label: 'Disk space', active_suppressions: [] },
  previous_state: 'OK',
  ...changes,
});

/** The message of a delivery as the dispatch sends it for this event and notification. */
export const deliveryMessage = (notificationId: string, event: unknown, eventTimeMs = EVENT_TIME): string => {
  if (!isAlarmEvent(event)) throw new Error('This is no alarm event.');
  return deliveryBody(notificationId, sharedBody(event, eventTimeMs));
};
