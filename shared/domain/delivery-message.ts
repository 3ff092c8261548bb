import { createHash } from 'node:crypto';
import { type AlarmEvent, webhookPayload } from '../contracts/alarm-event.ts';
import type { EventHeader } from '../contracts/event-header.ts';
import { jsonOrUndefined } from '../contracts/json.ts';
import { type Correlation, type Delivery, type Envelope, envelope } from '../contracts/messages.ts';
import { type MessageBody, messageBody, serializeBody } from '../contracts/text.ts';
import { truncate } from './alert-text.ts';
import { eventHeader } from './event-header.ts';
import type { Notice } from './notice.ts';
import type { DeliveryTarget } from './notification.ts';

/*
 * A message on a sender's queue is one JSON document with exactly one line feed: before it the envelope, which senders
 * parse, after it the payload, which they forward unparsed:
 *
 *   {"notification_id":"…",…,"event":{…},
 *   "payload":{…}}
 */

/** The maximum size of an envelope, UTF-8. */
export const MAX_ENVELOPE_BYTES = 16 * 1_024;

/** Room in an envelope for the ID of the notification, those of 25 others, the round, and the reached recipients. */
const RESERVED_BYTES = 2_048;

/** The maximum number of reached recipients in an envelope: that of the contacts of an account. */
const MAX_REACHED_RECIPIENTS = 50;

const PAYLOAD_KEY = '"payload":';

/** The part of a message body that all deliveries of an event share. It is serialized once. */
export type SharedBody = {
  /** The end of every message body. */
  tail: MessageBody;
  /** The length of `tail` in UTF-8 bytes. */
  bytes: number;
  header: EventHeader;
  /** Digest of what destinations can get of the event, to detect another event with the same ID. */
  contentHash: string;
};

/** Returns a digest of texts. */
const digest = (...texts: string[]): string => {
  const hash = createHash('sha256');
  for (const text of texts) hash.update(text);
  return hash.digest('base64url').slice(0, 22);
};

/** What an envelope has besides the event itself. */
export type EventContext = Pick<Envelope, 'accepted_at_ms' | 'dispatched_at_ms' | keyof Correlation>;

const jsonBytes = (value: unknown): number => Buffer.byteLength(serializeBody(value));

/** Returns the first facts whose JSON fits into a number of bytes. */
const fittingFacts = (facts: EventHeader['facts'], maxBytes: number): EventHeader['facts'] => {
  let bytes = 0;
  const end = facts.findIndex((fact) => {
    bytes += jsonBytes(fact) + 1;
    return bytes > maxBytes;
  });
  return end < 0 ? facts : facts.slice(0, end);
};

/** A character has at most six bytes in JSON: U+FFFF is escaped. */
const fittingStatus = (status: string, maxBytes: number): string =>
  jsonBytes(status) <= maxBytes ? status : truncate(status, Math.floor(maxBytes / 6));

/**
 * Returns an envelope within its maximum size: facts are dropped from the last, then the status is truncated. The other
 * parts have less than 14 KB.
 */
const fittingEnvelope = <Parts extends Omit<Envelope, 'notification_id'>>(parts: Parts): Parts => {
  const { event, notice } = parts;
  const { status, facts, ...rest } = event;
  const withoutFacts = { ...parts, event: { ...rest, facts: [] }, notice: notice && { ...notice, facts: [] } };
  const bytesLeft = MAX_ENVELOPE_BYTES - RESERVED_BYTES - jsonBytes(withoutFacts);
  const fitted = status === undefined ? undefined : fittingStatus(status, bytesLeft);
  const bytesForFacts = bytesLeft - (fitted === undefined ? 0 : jsonBytes({ status: fitted }));
  return {
    ...parts,
    event: { ...event, status: fitted, facts: fittingFacts(facts, bytesForFacts) },
    ...(notice && { notice: { ...notice, facts: fittingFacts(notice.facts, bytesForFacts) } }),
  };
};

/** Returns the fields that follow in JSON as the end of a body that begins with others. */
const bodyTail = (fields: object, payload: string): MessageBody =>
  messageBody(`${JSON.stringify(fields).slice(1, -1)},\n${PAYLOAD_KEY}${payload}}`);

/** Returns the part of a message body that depends on the event only. @throws RangeError if the event nests too deep */
export const sharedBody = (event: AlarmEvent, context: EventContext): SharedBody => {
  const header = eventHeader(event, context.accepted_at_ms);
  const payload = JSON.stringify(webhookPayload(event));
  const content_hash = digest(payload, header.previous_state ?? '');
  const tail = bodyTail(fittingEnvelope({ ...context, content_hash, event: header }), payload);
  return { tail, bytes: Buffer.byteLength(tail), header, contentHash: content_hash };
};

/** What a message says about the notification to which it goes. */
type Addressee = Pick<DeliveryTarget, 'id' | 'ordered'>;

/** The start of a message body, before the part that all deliveries of an event share. */
const bodyHead = ({ id, ordered }: Addressee, siblings?: readonly string[]): MessageBody =>
  messageBody(`${JSON.stringify({ notification_id: id, ordered, siblings }).slice(0, -1)},`);

/** Returns the body of a delivery message. */
export const deliveryBody = (
  target: Addressee,
  { tail }: Pick<SharedBody, 'tail'>,
  siblings?: readonly string[],
): MessageBody => messageBody(bodyHead(target, siblings) + tail);

/** Returns the length of `deliveryBody` in UTF-8 bytes, without creating it. */
export const deliveryBytes = (
  target: Addressee,
  { bytes }: Pick<SharedBody, 'bytes'>,
  siblings?: readonly string[],
): number => Buffer.byteLength(bodyHead(target, siblings)) + bytes;

/**
 * Returns the body of a delivery message for a notice. Its content hash covers only the event ID: notices with the same
 * ID are duplicates, even if their texts differ.
 *
 * @param correlation that of the alert that caused the notice
 */
export const noticeBody = (
  target: Addressee,
  { event, content, incidentKey, acceptedAtMs }: Notice,
  correlation: Correlation,
  nowMs: number,
): MessageBody => {
  const accepted_at_ms = acceptedAtMs ?? nowMs;
  const header = eventHeader(event, accepted_at_ms);
  const parts = fittingEnvelope({
    ...correlation,
    notice: content,
    accepted_at_ms,
    content_hash: digest(event.event_id),
    event: { ...header, incident_key: incidentKey ?? header.incident_key, facts: [] },
  });
  return messageBody(bodyHead(target) + bodyTail(parts, JSON.stringify(webhookPayload(event))));
};

/** Returns the body of the same delivery for another round of attempts, with the recipients that were reached. */
export const bodyForRound = (
  { payload, ...parts }: Delivery,
  { round, reached_recipient_hashes: reached }: Pick<Envelope, 'round' | 'reached_recipient_hashes'>,
): MessageBody => {
  // If the contacts have changed between attempts, more were reached. The last attempt reached the last ones.
  const reached_recipient_hashes = reached?.slice(-MAX_REACHED_RECIPIENTS);
  return messageBody(`{${bodyTail({ ...parts, round, reached_recipient_hashes }, payload)}`);
};

/**
 * Returns the delivery of a message body, or undefined if it is invalid. Never throws: an invalid message must not fail
 * the rest of the batch. Only the envelope is parsed, and nothing of a body whose envelope is too long.
 */
export const parseDelivery = (body: string): Delivery | undefined => {
  const end = body.slice(0, MAX_ENVELOPE_BYTES + 1).indexOf('\n');
  const payloadStart = end + 1 + PAYLOAD_KEY.length;
  if (end < 0 || body.slice(end + 1, payloadStart) !== PAYLOAD_KEY) return undefined;
  const parsed = envelope.safeParse(jsonOrUndefined(`${body.slice(0, end - 1)}}`));
  return parsed.success ? { ...parsed.data, payload: body.slice(payloadStart, -1) } : undefined;
};
