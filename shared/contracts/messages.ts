import * as z from 'zod/mini';
import { alarmStates, tenantId } from './alarm-event.ts';
import { eventHeader } from './event-header.ts';
import { isJsonObject } from './json.ts';
import { noticeContent } from './notice.ts';
import { isNotificationTypeId, type NotificationTypeId } from './notification-types.ts';
import type { TestResult } from './responses/notifications.ts';
import { trace } from './trace.ts';
import { signingSecrets } from './webhook-request.ts';

declare const brand: unique symbol;

/** JSON that SQS accepts. Only `messageBody` creates it, so no other text can be sent. */
export type MessageBody = string & { readonly [brand]: true };

/** XML 1.0 excludes them, so SQS rejects them. JSON escapes all others that it does. */
const NOT_IN_XML = /[\ufffe\uffff]/g;

/** `includes` is faster than a regular expression, and at once false for a text of Latin-1 characters. */
const isMessageBody = (json: string): json is MessageBody => !json.includes('\ufffe') && !json.includes('\uffff');

/** Escapes the characters that SQS rejects in JSON, such as a received body or the concatenation of others. */
export const messageBody = (json: string): MessageBody =>
  isMessageBody(json)
    ? json
    : messageBody(json.replace(NOT_IN_XML, (character) => `\\u${character.charCodeAt(0).toString(16)}`));

/** @throws RangeError if the value nests too deep */
export const serializeBody = (value: unknown): MessageBody => messageBody(JSON.stringify(value));

/** Where an alert comes from; in a notice, the alert that caused it. */
export const correlation = {
  producer_message_id: z.optional(z.string()),
  trace: z.optional(trace),
};

/** What stands before the payload (`domain/delivery-message.ts`): no destination, secret or plan. */
export const envelope = z.object({
  notification_id: z.string(),
  /** 1 by default. Dead letters and stored messages contain the next round. */
  round: z.optional(z.int().check(z.positive())),
  /** Salted hashes of the recipients that earlier attempts reached, whether or not they could be recorded. */
  reached_recipient_hashes: z.optional(z.array(z.string())),
  /** The event's other notifications; absent in notices, and above 25, when they are stored (`destination-list.ts`). */
  siblings: z.optional(z.array(z.string())),
  /** Present if no older event of the incident may follow a newer one, as the notification asks. */
  ordered: z.optional(z.literal(true)),
  notice: z.optional(noticeContent),
  /** When SQS accepted the event, or the service created the notice. An escalation has that of its alert. */
  accepted_at_ms: z.int(),
  /** Ms since the epoch. Absent in a notice. */
  dispatched_at_ms: z.optional(z.int()),
  ...correlation,
  /** Digest of what destinations can get of the event, to detect another event with the same ID. */
  content_hash: z.string(),
  event: eventHeader,
});
export type Envelope = z.infer<typeof envelope>;

/** `payload` is the JSON that webhooks get (`webhookPayload`). */
export type Delivery = Envelope & { payload: string };

export const roundOf = ({ round = 1 }: Pick<Envelope, 'round'>): number => round;
export type Correlation = Pick<Envelope, keyof typeof correlation>;

/** The payload with which a test invokes a sender. `details` is already validated. */
export const testRequest = z.object({
  tenant: tenantId,
  type: z.custom<NotificationTypeId>(isNotificationTypeId),
  details: z.custom<Readonly<Record<string, string>>>((value) => typeof value === 'object' && value !== null),
  label: z.optional(z.string()),
  /** Serialized. */
  webhook_request: z.optional(z.string()),
  signing_secrets: z.optional(signingSecrets),
  /** OK by default. */
  state: z.optional(z.enum(alarmStates)),
});
export type TestRequest = z.infer<typeof testRequest>;

/** What is no result of a test is an error of Lambda. */
export const testResult = z.custom<TestResult>(
  (value) =>
    isJsonObject(value) &&
    typeof value.message === 'string' &&
    (value.status === 'success' || value.status === 'failure'),
);
