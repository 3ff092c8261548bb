import { type AlarmEvent, webhookPayload } from '../contracts/alarm-event.ts';
import { headline, statusText, truncate } from './alert-text.ts';
import { incidentKey } from './incident.ts';

/** The most bytes of `details`: a body may have 512 KB (Events API v1). */
const MAX_DETAILS = 500 * 1024;
/** Characters of a description (Events API v1). */
const MAX_DESCRIPTION = 1_024;

/** Parts of the payload, the largest left out until the rest fits: an incident without its details is better than none. */
const fittingDetails = (event: AlarmEvent): Record<string, unknown> => {
  const parts = Object.entries(webhookPayload(event))
    .map(([name, value]) => ({ name, value, bytes: Buffer.byteLength(JSON.stringify({ [name]: value })) }))
    .sort((one, other) => one.bytes - other.bytes);
  let room = MAX_DETAILS;
  return Object.fromEntries(
    parts.flatMap(({ name, value, bytes }) => {
      room -= bytes;
      return room >= 0 ? [[name, value]] : [];
    }),
  );
};

/** An event of the pager's API (PagerDuty Events API v1). */
export type PagerEvent = {
  service_key: string;
  event_type: 'trigger' | 'resolve';
  incident_key: string;
  description?: string;
  details: Record<string, unknown>;
  client?: string;
};

/** CRITICAL and WARNING trigger the alarm's incident, OK resolves it. A repeated trigger only adds to its log. */
export const pagerEvent = (event: AlarmEvent, serviceKey: string): PagerEvent => {
  const common = { service_key: serviceKey, incident_key: incidentKey(event), details: fittingDetails(event) };
  if (event.details.state === 'OK') return { ...common, event_type: 'resolve' };
  const status = statusText(event);
  return {
    ...common,
    event_type: 'trigger',
    description: truncate(status === undefined ? headline(event) : `${headline(event)}: ${status}`, MAX_DESCRIPTION),
    client: 'Monitoring Notifications',
  };
};
