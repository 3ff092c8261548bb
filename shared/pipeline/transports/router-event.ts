import { headline } from '../../domain/alert-text.ts';
import type { AlertMessage } from '../../domain/transport.ts';

const messageType = { OK: 'RECOVERY', WARNING: 'WARNING', CRITICAL: 'CRITICAL' } as const;

/**
 * Returns a message of the VictorOps REST endpoint as JSON: the webhook payload and the fields of the router. `entity_id`
 * is the same from trigger to recovery. Times are epoch seconds. `vo_annotate.u.` and a label begin the name of a link.
 */
export const routerEvent = (alert: AlertMessage): string => {
  const { event, payload, eventTimeMs, delayMs, alarmUrl } = alert;
  const title = headline(event, delayMs);
  const seconds = Math.floor(eventTimeMs / 1000);
  const fields = {
    message_type: messageType[event.state],
    entity_id: event.incident_key,
    entity_display_name: title,
    state_message: event.status ?? title,
    timestamp: seconds,
    state_start_time: seconds,
    monitoring_tool: 'Monitoring Notifications',
    'vo_annotate.u.Alarm': alarmUrl,
  };
  return `${payload.slice(0, -1)},${JSON.stringify(fields).slice(1)}`;
};
