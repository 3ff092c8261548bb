import { type AlarmEvent, webhookPayload } from '../../contracts/alarm-event.ts';
import { headline, statusText, truncate } from '../../domain/alert-text.ts';
import { incidentKey } from '../../domain/incident.ts';

/** PagerDuty Events API v1 limits bodies to 512 KB. */
const MAX_DETAILS_BYTES = 500 * 1024;
/** The maximum length of a description, in code points (PagerDuty Events API v1). */
const MAX_DESCRIPTION_LENGTH = 1_024;

/** Returns the payload without its largest fields if it exceeds the limit. */
const fittingDetails = (event: AlarmEvent): Record<string, unknown> => {
  const fields = Object.entries(webhookPayload(event))
    .map(([name, value]) => ({ name, value, bytes: Buffer.byteLength(JSON.stringify({ [name]: value })) }))
    .sort((a, b) => a.bytes - b.bytes);
  let remainingBytes = MAX_DETAILS_BYTES;
  return Object.fromEntries(
    fields.flatMap(({ name, value, bytes }) => {
      remainingBytes -= bytes;
      return remainingBytes >= 0 ? [[name, value]] : [];
    }),
  );
};

/** Returns the event of PagerDuty Events API v1: CRITICAL and WARNING trigger the incident, OK resolves it. */
export const pagerEvent = (event: AlarmEvent, serviceKey: string) => {
  const isOk = event.details.state === 'OK';
  const status = statusText(event);
  const description = status === undefined ? headline(event) : `${headline(event)}: ${status}`;
  return {
    service_key: serviceKey,
    incident_key: incidentKey(event),
    details: fittingDetails(event),
    event_type: isOk ? 'resolve' : 'trigger',
    ...(!isOk && {
      description: truncate(description, MAX_DESCRIPTION_LENGTH),
      client: 'Monitoring Notifications',
    }),
  };
};
