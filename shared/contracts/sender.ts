import * as z from 'zod/mini';
import { type AlarmEvent, isAlarmEvent, tenantId } from './alarm-event.ts';
import { isNotificationTypeId, type NotificationTypeId } from './notification-types.ts';

/** One delivery on a sender's queue: one alarm event for one notification. It carries no destination and no key. */
export const delivery = z.object({ notification_id: z.string(), event: z.custom<AlarmEvent>(isAlarmEvent) });

/** A delivery as a sender reads it. */
export type Delivery = z.infer<typeof delivery>;

/**
 * The body of a delivery's message. The event's own text is set in as it came, so nothing in it is re-written on the way.
 */
export const deliveryBody = (notificationId: string, eventText: string): string =>
  `{"notification_id":${JSON.stringify(notificationId)},"event":${eventText}}`;

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
