import * as z from 'zod/mini';
import { alarmStates, tenantId } from './alarm-event.ts';
import { emailReportKinds, knownReason } from './delivery-record.ts';
import { eventHeader } from './event-header.ts';
import { correlation } from './messages.ts';
import { deliveryStatuses, stopReasons } from './outcomes.ts';

/** What became of an alert at one destination (docs/producers.md#delivery-outcomes). Times are ms since the epoch. */
const deliveryOutcome = z.object({
  version: z.literal(1),
  tenant_id: tenantId,
  notification_id: z.string(),
  type: z.string(),
  event_id: z.string(),
  alarm_id: z.string(),
  entity_id: z.string(),
  state: z.enum(alarmStates),
  status: z.enum([...deliveryStatuses, 'failing']),
  reason: z.nullable(z.string()),
  attempts: z.number(),
  accepted_at: z.nullable(z.number()),
  first_attempt_at: z.nullable(z.number()),
  /** Null while the delivery is retried. */
  ended_at: z.nullable(z.number()),
  trace_id: z.nullable(z.string()),
});
export type DeliveryOutcome = z.infer<typeof deliveryOutcome>;

/**
 * `late`: no attempt ends within five minutes, whoever is at fault. `failing`: the destination is at fault for a
 * delivery that was late before. `above_limit`: the alert is in the summary of a daily limit. `recovered`: an alert
 * that had failed arrived, or another one may have in its place. `unreadable`: the record could not be read from the
 * stream. The others are statuses and reports of SES.
 */
export const deliveryHappenings = [
  'late',
  'failing',
  'failed',
  'cancelled',
  'bounced',
  'above_limit',
  'recovered',
  'unreadable',
  ...emailReportKinds,
] as const;
export type DeliveryHappening = (typeof deliveryHappenings)[number];

/** What happened to deliveries of an event: the reporter reads their records, and decides. */
const eventReport = z.object({
  kind: z.literal('event'),
  tenant_id: tenantId,
  sk: z.string(),
  deliveries: z.array(z.object({ notification_id: z.string(), happened: z.enum(deliveryHappenings) })),
  /** To publish, with the setting `deliveryOutcomes`. */
  outcomes: z.array(deliveryOutcome),
});

const failuresReport = z.object({
  kind: z.literal('failures'),
  tenant_id: tenantId,
  notification_id: z.string(),
  /** Those that failed for the first time in their round: repeated ones count once. Sorts by time. */
  failed_ids: z.array(z.string()),
  first_failed_at_ms: z.number(),
  last_failed_at_ms: z.number(),
  last_reason: knownReason,
});

/** Of an event received again, only some notifications may be unknown: they may have been deleted before. */
const planReport = z.object({
  kind: z.literal('plan'),
  event: eventHeader,
  notification_ids: z.array(z.string()),
  accepted_at_ms: z.int(),
  ...correlation,
});

/** Stored are only hashes of addresses, so it comes from whoever stopped the emails. */
const stopReport = z.object({
  kind: z.literal('stop'),
  tenant_id: tenantId,
  address: z.string(),
  reason: z.enum(stopReasons),
  since_ms: z.number(),
});

export const deliveryReport = z.discriminatedUnion('kind', [eventReport, failuresReport, planReport, stopReport]);
export type DeliveryReport = z.infer<typeof deliveryReport>;

export type EventReport = z.infer<typeof eventReport>;
export type FailuresReport = z.infer<typeof failuresReport>;
export type PlanReport = z.infer<typeof planReport>;
