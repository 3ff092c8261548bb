import { type AlarmEvent, webhookPayload } from '../../contracts/alarm-event.ts';
import { headline, statusText, truncate } from '../../domain/alert-text.ts';
import { incidentKey } from '../../domain/incident.ts';

const messageType = { OK: 'RECOVERY', WARNING: 'WARNING', CRITICAL: 'CRITICAL' } as const;

/** The maximum length of a state message, in code points (VictorOps REST endpoint). */
const MAX_STATE_MESSAGE_LENGTH = 20_480;

/**
 * Returns a message of the VictorOps REST endpoint: the webhook payload and the fields of the router. `entity_id` is the
 * same from trigger to recovery. Times are epoch seconds.
 *
 * @param eventTimeMs when the alarm's state changed, ms since the epoch
 */
export const routerEvent = (event: AlarmEvent, eventTimeMs: number) => {
  const seconds = Math.floor(eventTimeMs / 1000);
  return {
    ...webhookPayload(event),
    message_type: messageType[event.details.state],
    entity_id: incidentKey(event),
    entity_display_name: headline(event),
    state_message: truncate(statusText(event) ?? headline(event), MAX_STATE_MESSAGE_LENGTH),
    timestamp: seconds,
    state_start_time: seconds,
    monitoring_tool: 'Monitoring Notifications',
  };
};
