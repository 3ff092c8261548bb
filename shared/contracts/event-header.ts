import * as z from 'zod/mini';
import { alarmStates, tenantId } from './alarm-event.ts';

/** A name and its value: a text, or a time in ms since the epoch, which an email shows in the account's time zone. */
export const fact = z.tuple([z.string(), z.union([z.string(), z.int()])]);
export type Fact = z.infer<typeof fact>;

/**
 * An entity or alarm: its ID as records store it, and its label or ID on one line. `plain_name` is the same for subjects and
 * SMS, without format characters; absent if it equals `name`, empty if none of its characters is visible.
 */
export const namedRecord = z.object({
  id: z.string(),
  name: z.optional(z.string()),
  plain_name: z.optional(z.string()),
});

/**
 * What senders know of an event without reading its payload: all that fixed formats, records, notices and logs need
 * (docs/decisions/events.md#delivery-messages).
 */
export const eventHeader = z.object({
  event_id: z.string(),
  tenant_id: tenantId,
  state: z.enum(alarmStates),
  previous_state: z.optional(z.string()),
  entity: namedRecord,
  alarm: namedRecord,
  /** The key of the alarm's incident (`incidentKey`). */
  incident_key: z.string(),
  /** When the alarm's state changed, by the clock of the producer, ms since the epoch; absent without a valid time. */
  produced_at_ms: z.optional(z.int()),
  /** The status text with its line breaks, at most 1,000 code points. */
  status: z.optional(z.string()),
  /** Names and values, most important first. Empty in a notice, which has its own. */
  facts: z.array(fact),
});

/** What senders replace in the setting `alarmUrl` by the IDs of an event. */
export const ALARM_URL_PLACEHOLDER = /\{(tenant_id|entity_id|alarm_id)\}/g;

/** What senders know of an event without reading its payload. */
export type EventHeader = z.infer<typeof eventHeader>;
