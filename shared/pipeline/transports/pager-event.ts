import type { AlarmState } from '../../contracts/alarm-event.ts';
import type { EventHeader } from '../../contracts/event-header.ts';
import { headline, oneLine, truncate, truncateUnits } from '../../domain/alert-text.ts';
import { withRawField } from './raw-field.ts';

/** The maximum length of a description (Events API v1, in code points) and of a summary (v2, in UTF-16 units). */
const MAX_SUMMARY_LENGTH = 1_024;
/** Labels of entities have no maximum length. In code points. */
const MAX_SOURCE_LENGTH = 255;

const CLIENT = 'Monitoring Notifications';

/** The severities of Events API v2. */
const severities: Readonly<Record<AlarmState, string>> = { CRITICAL: 'critical', WARNING: 'warning', OK: 'info' };

const summaryOf = (event: EventHeader): string =>
  truncate(
    event.status === undefined ? headline(event) : `${headline(event)}: ${oneLine(event.status)}`,
    MAX_SUMMARY_LENGTH,
  );

/**
 * Returns the event of PagerDuty Events API v1 as JSON: CRITICAL and WARNING trigger the incident, OK resolves it. An
 * event of 256 KiB stays below PagerDuty's limit of 512 KB.
 *
 * @param payload the JSON that webhooks get
 */
export const pagerEvent = (event: EventHeader, payload: string, serviceKey: string): string => {
  const isOk = event.state === 'OK';
  const fields = {
    service_key: serviceKey,
    incident_key: event.incident_key,
    event_type: isOk ? 'resolve' : 'trigger',
    ...(!isOk && { description: summaryOf(event), client: CLIENT }),
  };
  return withRawField(fields, 'details', payload);
};

/**
 * Returns the event of PagerDuty Events API v2 as JSON, with the key of v1 as `dedup_key`.
 *
 * @param payload the JSON that webhooks get
 * @param eventTimeMs when the alarm's state changed, ms since the epoch
 */
export const pagerEventV2 = (event: EventHeader, payload: string, serviceKey: string, eventTimeMs: number): string => {
  const { state, entity } = event;
  const isOk = state === 'OK';
  const fields = {
    routing_key: serviceKey,
    dedup_key: event.incident_key,
    event_action: isOk ? 'resolve' : 'trigger',
    ...(!isOk && { client: CLIENT }),
  };
  const alert = {
    // UTF-16 units are the strictest reading of "characters".
    summary: truncateUnits(summaryOf(event), MAX_SUMMARY_LENGTH),
    source: truncate(entity.name ?? 'unknown', MAX_SOURCE_LENGTH),
    severity: severities[state],
    timestamp: new Date(eventTimeMs).toISOString(),
  };
  return withRawField(fields, 'payload', withRawField(alert, 'custom_details', payload));
};
