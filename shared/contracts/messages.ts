import * as z from 'zod/mini';
import { type AlarmEvent, isAlarmEvent, tenantId } from './alarm-event.ts';
import { isNotificationTypeId, type NotificationTypeId } from './notification-types.ts';

/** One delivery on a sender's queue: one alarm event for one notification. It carries no destination, no key and no plan. */
export const delivery = z.object({
  notification_id: z.string(),
  /** Which round of attempts the message is for; the first one if absent. A dead letter carries the next one. */
  round: z.optional(z.int().check(z.positive())),
  /** At most 25 ids: the event's other notifications. Absent where there are none, or more. */
  siblings: z.optional(z.array(z.string())),
  /** When the alarm's state changed, by the earlier of the producer's clock and that of SQS, ms since the epoch. */
  event_time_ms: z.number(),
  /** Digest of the event without its plan: tells two events with the same id apart. */
  content_hash: z.string(),
  event: z.custom<AlarmEvent>(isAlarmEvent),
});

/** A delivery as a sender reads it. */
export type Delivery = z.infer<typeof delivery>;

/**
 * What remains of an event's plan when the dispatch could not send every delivery in one pass: a message on the alarm-events
 * queue of our own making. `known` are the ids of all its notifications, where they are few enough to be siblings.
 */
export const continuation = z.object({
  continuation: z.object({
    ids: z.array(z.string()),
    known: z.optional(z.array(z.string())),
    event_time_ms: z.number(),
    /** When the event's own message was sent, ms since the epoch. */
    sent_at_ms: z.number(),
  }),
  event: z.custom<AlarmEvent>(isAlarmEvent),
});

/** What the test operations invoke a sender with: a destination made of validated values, and the caller's tenant. */
export const testRequest = z.object({
  kind: z.literal('test'),
  tenant: tenantId,
  type: z.custom<NotificationTypeId>(isNotificationTypeId),
  details: z.custom<Readonly<Record<string, string>>>((value) => typeof value === 'object' && value !== null),
});

/** An invocation of a sender by a test operation. */
export type TestRequest = z.infer<typeof testRequest>;

/** The outcome of a test, as the API answers it (interface, "Test result"). */
export const testResult = z.object({ status: z.enum(['success', 'failure']), message: z.string() });

/** The outcome of a test. */
export type TestResult = z.infer<typeof testResult>;
