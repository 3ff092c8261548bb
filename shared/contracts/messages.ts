import * as z from 'zod/mini';
import { alarmStates, tenantId } from './alarm-event.ts';
import { eventHeader } from './event-header.ts';
import { isJsonObject } from './json.ts';
import { noticeContent } from './notice.ts';
import { isNotificationTypeId, type NotificationTypeId } from './notification-types.ts';
import type { TestResult } from './responses/notifications.ts';
import { signingSecrets } from './signing-secrets.ts';
import { trace } from './trace.ts';

declare const brand: unique symbol;

/** JSON that SQS accepts as the body of a message. Only `messageBody` creates it, so no other text can be sent. */
export type MessageBody = string & { readonly [brand]: true };

/**
 * XML 1.0 excludes these characters, so SQS rejects messages that contain them. JSON escapes all others that it does.
 */
const NOT_IN_XML = /[\ufffe\uffff]/g;

/** `includes` is faster than a regular expression, and at once false for a text of Latin-1 characters. */
const isMessageBody = (json: string): json is MessageBody => !json.includes('\ufffe') && !json.includes('\uffff');

/**
 * Returns JSON, such as a received body or the concatenation of others, as the body of a message: it escapes the
 * characters that SQS rejects, which JSON permits in strings. Other JSON is returned as it is.
 */
export const messageBody = (json: string): MessageBody =>
  isMessageBody(json)
    ? json
    : messageBody(json.replace(NOT_IN_XML, (character) => `\\u${character.charCodeAt(0).toString(16)}`));

/**
 * Serializes a value as the body of a message.
 *
 * @throws RangeError if the value nests too deep
 */
export const serializeBody = (value: unknown): MessageBody => messageBody(JSON.stringify(value));

/** Where an alert comes from; in a notice, the alert that caused it. */
export const correlation = {
  /** The ID of the producer's SQS message. */
  producer_message_id: z.optional(z.string()),
  trace: z.optional(trace),
};

/**
 * What a message on a sender's queue says about the delivery before its payload, which senders forward without reading it
 * (`domain/delivery-message.ts`). It contains no destination, secret or plan.
 */
export const envelope = z.object({
  notification_id: z.string(),
  /** The round of attempts of the message, by default the first. Dead letters and stored messages contain the next. */
  round: z.optional(z.int().check(z.positive())),
  /** Salted hashes of the recipients that earlier attempts reached, whether or not they could be recorded. */
  reached_recipient_hashes: z.optional(z.array(z.string())),
  /**
   * IDs of the event's other notifications; absent in a notice, and if there are more than 25: dispatch has stored the
   * list of them (`destination-list.ts`).
   */
  siblings: z.optional(z.array(z.string())),
  /** Present if no older event of the incident may follow a newer one, as the notification asks. */
  ordered: z.optional(z.literal(true)),
  /** Present if the event is a notice of the service. */
  notice: z.optional(noticeContent),
  /**
   * When SQS accepted the event, or the service created the notice, ms since the epoch
   * (docs/decisions/events.md#event-time). An escalation has that of its alert.
   */
  accepted_at_ms: z.int(),
  /** When dispatch received the event, ms since the epoch. Absent in a notice. */
  dispatched_at_ms: z.optional(z.int()),
  ...correlation,
  /** Digest of what destinations can get of the event, to detect another event with the same ID. */
  content_hash: z.string(),
  event: eventHeader,
});
export type Envelope = z.infer<typeof envelope>;

/** A message on a sender's queue. `payload` is the JSON that webhooks get (`webhookPayload`). */
export type Delivery = Envelope & { payload: string };

/** Returns the round of a delivery message. */
export const roundOf = ({ round = 1 }: Pick<Envelope, 'round'>): number => round;

/** Where an alert comes from. */
export type Correlation = Pick<Envelope, keyof typeof correlation>;

/** The payload with which a test operation invokes a sender. `details` is already validated. */
export const testRequest = z.object({
  tenant: tenantId,
  type: z.custom<NotificationTypeId>(isNotificationTypeId),
  details: z.custom<Readonly<Record<string, string>>>((value) => typeof value === 'object' && value !== null),
  /** That of a stored notification. */
  label: z.optional(z.string()),
  /** The serialized `webhook_request`. */
  webhook_request: z.optional(z.string()),
  /** Those of the webhook of its own. */
  signing_secrets: z.optional(signingSecrets),
  /** The state of the test message, by default OK. */
  state: z.optional(z.enum(alarmStates)),
});
export type TestRequest = z.infer<typeof testRequest>;

/** The result of a test, as the sender creates it. What is not such a result is an error of Lambda. */
export const testResult = z.custom<TestResult>(
  (value) =>
    isJsonObject(value) &&
    typeof value.message === 'string' &&
    (value.status === 'success' || value.status === 'failure'),
);
