import * as z from 'zod/mini';
import { alarmStates } from '../../contracts/alarm-event.ts';
import { noticeKinds } from '../../contracts/notice.ts';
import { attemptResults, deliveryStatuses, failureCauses, failureReasons } from '../../contracts/outcomes.ts';
import type { DeliveryRecord } from '../../domain/delivery-record.ts';
import type { Item } from '../dynamodb/items.ts';

/** Sort key prefix of conflicts. Records start with digits, locks with `incident#`. */
export const CONFLICT_PREFIX = 'conflict#';

/**
 * A reason that only a later version defines is read as absent: after a rollback, it must not block deliveries. (`catch`
 * would add 8 KB to the bundles.)
 */
export const knownReason = z.optional(
  z.pipe(
    z.unknown(),
    z.transform((value) => failureReasons.find((reason) => reason === value)),
  ),
);

const attempt = z.object({
  timestamp_ms: z.number(),
  result: z.enum(attemptResults),
  status: z.optional(z.number()),
  reason: knownReason,
  response_text: z.optional(z.string()),
  duration_ms: z.number(),
});

/** What `addBounce` writes. */
const bounceAttributes = {
  bounced_recipient_hashes: z.optional(z.set(z.string())),
  bounce_reason: knownReason,
};

const storedBounces = z.object(bounceAttributes);

const storedRecord = z.object({
  pk: z.string(),
  sk: z.string(),
  status: z.enum(deliveryStatuses),
  event_id: z.string(),
  entity_id: z.string(),
  alarm_id: z.string(),
  state: z.enum(alarmStates),
  content_hash: z.string(),
  accepted_at_ms: z.optional(z.number()),
  dispatched_at_ms: z.optional(z.number()),
  producer_message_id: z.optional(z.string()),
  trace_id: z.optional(z.string()),
  round: z.number(),
  attempt_count: z.number(),
  created_at_ms: z.number(),
  updated_at_ms: z.number(),
  round_started_at_ms: z.number(),
  first_attempt_at_ms: z.number(),
  next_attempt_at_ms: z.number(),
  scheduled_attempt_at_ms: z.optional(z.number()),
  retry_requested_at_ms: z.optional(z.number()),
  last_cause: z.optional(z.enum(failureCauses)),
  last_reason: knownReason,
  lease_until_ms: z.number(),
  claim_id: z.string(),
  was_interrupted: z.optional(z.boolean()),
  attempts: z.array(attempt),
  event_at_ms: z.optional(z.number()),
  newer_event_at_ms: z.optional(z.number()),
  is_shadow: z.optional(z.boolean()),
  siblings: z.optional(z.array(z.string())),
  reported_status: z.optional(z.enum(deliveryStatuses)),
  notice: z.optional(z.enum(noticeKinds)),
  summary_id: z.optional(z.string()),
  alarm_count: z.optional(z.number()),
  alarm_names: z.optional(z.array(z.string())),
  reached_recipient_hashes: z.optional(z.array(z.string())),
  ...bounceAttributes,
  ttl: z.number(),
});

/** Parses the item of a delivery record. @throws ZodError if the item is invalid */
export const parseRecord = (item: Item): DeliveryRecord => storedRecord.parse(item);

/** Parses only the bounces in the item of a delivery record. @throws ZodError if they are invalid */
export const parseBounces = (item: Item): Pick<DeliveryRecord, 'bounced_recipient_hashes' | 'bounce_reason'> =>
  storedBounces.parse(item);
