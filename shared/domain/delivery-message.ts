import { createHash } from 'node:crypto';
import type { AlarmEvent } from '../contracts/alarm-event.ts';
import { type MessageBody, messageBody, serializeBody } from '../contracts/message-body.ts';
import type { Delivery, Origin } from '../contracts/messages.ts';
import type { NoticeContent } from '../contracts/notice.ts';

/** The part of a message body that all deliveries of an event share. It is serialized once. */
export type SharedBody = {
  /** The event without its notification plan and trace. */
  event: MessageBody;
  /** The end of every message body. */
  tail: MessageBody;
  /** The length of `tail` in UTF-8 bytes. */
  bytes: number;
  /** Digest of `event`, to detect another event with the same ID. */
  contentHash: string;
};

/** A notice of the service: the alarm event that identifies it, and its text. */
export type Notice = {
  event: AlarmEvent;
  content: NoticeContent;
  /** When SQS accepted the alert that the notice repeats, ms since the epoch. By default, the notice is no older. */
  acceptedAtMs?: number;
};

/** Returns a digest of JSON. */
const digest = (json: string): string => createHash('sha256').update(json).digest('base64url').slice(0, 22);

/** What a message body has of an event besides its content. */
export type EventContext = Pick<Delivery, 'accepted_at_ms' | 'dispatched_at_ms' | keyof Origin>;

/** Returns the part of a message body that depends on the event only. */
export const sharedBody = (event: AlarmEvent, context: EventContext): SharedBody => {
  // The trace is a part of the context. If it differs, the event is the same nevertheless.
  const { notification_plan: _plan, traceparent: _parent, tracestate: _state, ...rest } = event;
  const text = serializeBody(rest);
  const hash = digest(text);
  const tail = messageBody(`${JSON.stringify(context).slice(1, -1)},"content_hash":"${hash}","event":${text}}`);
  return { event: text, tail, bytes: Buffer.byteLength(tail), contentHash: hash };
};

/** The start of a message body, before the part that all deliveries of an event share. */
const bodyHead = (notificationId: string, siblings: readonly string[] | undefined): MessageBody => {
  const siblingsJson = siblings === undefined ? '' : `"siblings":${JSON.stringify(siblings)},`;
  return messageBody(`{"notification_id":${JSON.stringify(notificationId)},${siblingsJson}`);
};

/** Returns the body of a delivery message (`contracts/messages.ts`). */
export const deliveryBody = (
  notificationId: string,
  { tail }: Pick<SharedBody, 'tail'>,
  siblings?: readonly string[],
): MessageBody => messageBody(bodyHead(notificationId, siblings) + tail);

/** Returns the length of `deliveryBody` in UTF-8 bytes, without creating it. */
export const deliveryBytes = (
  notificationId: string,
  { bytes }: Pick<SharedBody, 'bytes'>,
  siblings?: readonly string[],
): number => Buffer.byteLength(bodyHead(notificationId, siblings)) + bytes;

/**
 * Returns the body of a delivery message for a notice. Its content hash covers only the event ID: notices with the same
 * ID are duplicates, even if their texts differ.
 *
 * @param origin that of the alert that caused the notice
 */
export const noticeBody = (
  notificationId: string,
  { event, content, acceptedAtMs }: Notice,
  origin: Origin,
  nowMs: number,
): MessageBody => {
  const delivery: Delivery = {
    notification_id: notificationId,
    ...origin,
    notice: content,
    accepted_at_ms: acceptedAtMs ?? nowMs,
    content_hash: digest(JSON.stringify({ event_id: event.event_id })),
    event,
  };
  return serializeBody(delivery);
};

/** Returns the body of the same delivery for another round of attempts. */
export const bodyForRound = (delivery: Delivery, round: number): MessageBody => serializeBody({ ...delivery, round });

/** Returns the round of a delivery message. */
export const roundOf = ({ round = 1 }: Pick<Delivery, 'round'>): number => round;
