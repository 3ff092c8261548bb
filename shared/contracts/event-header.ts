import * as z from 'zod/mini';
import { alarmStates, tenantId } from './alarm-event.ts';

/** A name and a text, or a time in ms since the epoch, which an email shows in the account's time zone. */
export const fact = z.tuple([z.string(), z.union([z.string(), z.int()])]);
export type Fact = z.infer<typeof fact>;

/** `plain_name` has no format characters: absent if it equals `name`, empty if nothing is visible. */
export const namedRecord = z.object({
  id: z.string(),
  name: z.optional(z.string()),
  plain_name: z.optional(z.string()),
});

/** What senders know of an event without reading its payload (docs/decisions/events.md#delivery-messages). */
export const eventHeader = z.object({
  event_id: z.string(),
  tenant_id: tenantId,
  state: z.enum(alarmStates),
  previous_state: z.optional(z.string()),
  entity: namedRecord,
  alarm: namedRecord,
  incident_key: z.string(),
  /** When the alarm's state changed, by the clock of the producer, ms since the epoch. */
  produced_at_ms: z.optional(z.int()),
  /** With line breaks, at most 1,000 code points. */
  status: z.optional(z.string()),
  /** Most important first. Empty in a notice, which has its own. */
  facts: z.array(fact),
});

/** What senders replace in the setting `alarmUrl`. */
export const ALARM_URL_PLACEHOLDER = /\{(tenant_id|entity_id|alarm_id)\}/g;

export type EventHeader = z.infer<typeof eventHeader>;
