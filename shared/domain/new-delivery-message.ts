import { createHash } from 'node:crypto';
import { type AlarmEvent, webhookPayload } from '../contracts/alarm-event.ts';
import type { EventHeader } from '../contracts/event-header.ts';
import {
  type Correlation,
  type Envelope,
  type MessageBody,
  messageBody,
  serializeBody,
} from '../contracts/messages.ts';
import { truncate } from './alert-text.ts';
import { bodyTail, MAX_ENVELOPE_BYTES } from './delivery-message.ts';
import { eventHeader } from './event-header.ts';
import type { Notice } from './notice.ts';
import type { DeliveryTarget } from './notification.ts';

/** For the ID of the notification, those of 25 others, the round, and the reached recipients. */
const RESERVED_BYTES = 2_048;

/** The end of every message body of an event, which is serialized once. */
export type SharedBody = {
  tail: MessageBody;
  bytes: number;
  header: EventHeader;
  /** Digest of what destinations can get of the event, to detect another event with the same ID. */
  contentHash: string;
};

const digest = (...texts: string[]): string => {
  const hash = createHash('sha256');
  for (const text of texts) hash.update(text);
  return hash.digest('base64url').slice(0, 22);
};

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

/** Facts are dropped from the last, then the status is truncated. The other parts have less than 14 KB. */
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

/** @throws RangeError if the event nests too deep */
export const sharedBody = (
  event: AlarmEvent,
  context: Pick<Envelope, 'accepted_at_ms' | 'dispatched_at_ms' | keyof Correlation>,
): SharedBody => {
  const header = eventHeader(event, context.accepted_at_ms);
  const payload = JSON.stringify(webhookPayload(event));
  const content_hash = digest(payload, header.previous_state ?? '');
  const tail = bodyTail(fittingEnvelope({ ...context, content_hash, event: header }), payload);
  return { tail, bytes: Buffer.byteLength(tail), header, contentHash: content_hash };
};

type Addressee = Pick<DeliveryTarget, 'id' | 'ordered'>;

/** The start of a message body, before the part that all deliveries of an event share. */
const bodyHead = ({ id, ordered }: Addressee, siblings?: readonly string[]): MessageBody =>
  messageBody(`${JSON.stringify({ notification_id: id, ordered, siblings }).slice(0, -1)},`);

export const deliveryBody = (
  target: Addressee,
  { tail }: Pick<SharedBody, 'tail'>,
  siblings?: readonly string[],
): MessageBody => messageBody(bodyHead(target, siblings) + tail);

/** In UTF-8, without creating the body. */
export const deliveryBytes = (
  target: Addressee,
  { bytes }: Pick<SharedBody, 'bytes'>,
  siblings?: readonly string[],
): number => Buffer.byteLength(bodyHead(target, siblings)) + bytes;

/** The content hash covers only the event ID: notices with the same ID are duplicates, even if their texts differ. */
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
