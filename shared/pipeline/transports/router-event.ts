import type { EventHeader } from '../../contracts/event-header.ts';
import { headline } from '../../domain/alert-text.ts';

const messageType = { OK: 'RECOVERY', WARNING: 'WARNING', CRITICAL: 'CRITICAL' } as const;

/**
 * Returns a message of the VictorOps REST endpoint as JSON: the webhook payload and the fields of the router. `entity_id`
 * is the same from trigger to recovery. Times are epoch seconds.
 *
 * @param payload the JSON that webhooks get: an object
 * @param eventTimeMs when the alarm's state changed, ms since the epoch
 */
export const routerEvent = (event: EventHeader, payload: string, eventTimeMs: number): string => {
  const seconds = Math.floor(eventTimeMs / 1000);
  const fields = {
    message_type: messageType[event.state],
    entity_id: event.incident_key,
    entity_display_name: headline(event),
    state_message: event.status ?? headline(event),
    timestamp: seconds,
    state_start_time: seconds,
    monitoring_tool: 'Monitoring Notifications',
  };
  return `${payload.slice(0, -1)},${JSON.stringify(fields).slice(1)}`;
};
