import { type AlarmEvent, type AlarmState, webhookPayload } from '../../contracts/alarm-event.ts';
import { headline, nameOf, statusText, truncate, truncateUnits } from '../../domain/alert-text.ts';
import { incidentKey } from '../../domain/incident.ts';

/** PagerDuty limits bodies to 512 KB. */
const MAX_DETAILS_BYTES = 500 * 1024;
/** The maximum length of a description (Events API v1, in code points) and of a summary (v2, in UTF-16 units). */
const MAX_SUMMARY_LENGTH = 1_024;
/** Labels of entities have no maximum length. In code points. */
const MAX_SOURCE_LENGTH = 255;

const CLIENT = 'Monitoring Notifications';

/** The severities of Events API v2. */
const severities: Readonly<Record<AlarmState, string>> = { CRITICAL: 'critical', WARNING: 'warning', OK: 'info' };

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

const summaryOf = (event: AlarmEvent): string => {
  const status = statusText(event);
  return truncate(status === undefined ? headline(event) : `${headline(event)}: ${status}`, MAX_SUMMARY_LENGTH);
};

/** Returns the event of PagerDuty Events API v1: CRITICAL and WARNING trigger the incident, OK resolves it. */
export const pagerEvent = (event: AlarmEvent, serviceKey: string) => {
  const isOk = event.details.state === 'OK';
  return {
    service_key: serviceKey,
    incident_key: incidentKey(event),
    details: fittingDetails(event),
    event_type: isOk ? 'resolve' : 'trigger',
    ...(!isOk && { description: summaryOf(event), client: CLIENT }),
  };
};

/**
 * Returns the event of PagerDuty Events API v2, with the key of v1 as `dedup_key`.
 *
 * @param eventTimeMs when the alarm's state changed, ms since the epoch
 */
export const pagerEventV2 = (event: AlarmEvent, serviceKey: string, eventTimeMs: number) => {
  const { state } = event.details;
  const isOk = state === 'OK';
  return {
    routing_key: serviceKey,
    dedup_key: incidentKey(event),
    event_action: isOk ? 'resolve' : 'trigger',
    payload: {
      // UTF-16 units are the strictest reading of "characters".
      summary: truncateUnits(summaryOf(event), MAX_SUMMARY_LENGTH),
      source: truncate(nameOf(event.entity) ?? 'unknown', MAX_SOURCE_LENGTH),
      severity: severities[state],
      timestamp: new Date(eventTimeMs).toISOString(),
      custom_details: fittingDetails(event),
    },
    ...(!isOk && { client: CLIENT }),
  };
};
