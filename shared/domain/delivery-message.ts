import { createHash } from 'node:crypto';
import type { AlarmEvent } from '../contracts/alarm-event.ts';
import { asNumber, messageBodyJson } from '../contracts/json.ts';
import type { Delivery } from '../contracts/messages.ts';

/** The part of a message body that all deliveries of an event share. It is serialized once. */
export type SharedBody = {
  /** The event without its notification plan, as JSON. */
  event: string;
  /** The end of every message body. */
  tail: string;
  /** The length of `tail` in UTF-8 bytes. */
  bytes: number;
};

/** `parseJson` keeps long numbers as text; the hash must not depend on that. */
const withPlainNumbers = (_key: string, value: unknown): unknown => asNumber(value);

/** Returns a digest of an event without its notification plan. */
const contentHash = (event: object): string =>
  createHash('sha256').update(JSON.stringify(event, withPlainNumbers)).digest('base64url').slice(0, 22);

/** Returns the part of a message body that depends on the event only. @param eventTimeMs ms since the epoch */
export const sharedBody = (event: AlarmEvent, eventTimeMs: number): SharedBody => {
  const { notification_plan: _plan, ...rest } = event;
  const text = messageBodyJson(rest);
  const tail = `"event_time_ms":${eventTimeMs},"content_hash":"${contentHash(rest)}","event":${text}}`;
  return { event: text, tail, bytes: Buffer.byteLength(tail) };
};

/** Returns the body of a delivery message (`contracts/messages.ts`). */
export const deliveryBody = (
  notificationId: string,
  { tail }: Pick<SharedBody, 'tail'>,
  siblings: readonly string[] = [],
): string => {
  const siblingsJson = siblings.length === 0 ? '' : `"siblings":${JSON.stringify(siblings)},`;
  return `{"notification_id":${JSON.stringify(notificationId)},${siblingsJson}${tail}`;
};

/** Returns the body of a delivery message for an event that the service creates, such as a dead-letter notice. */
export const noticeBody = (notificationId: string, event: AlarmEvent, nowMs: number): string =>
  deliveryBody(notificationId, sharedBody(event, nowMs));

/** Returns the body of the same delivery for another round of attempts. */
export const bodyForRound = (delivery: Delivery, round: number): string => messageBodyJson({ ...delivery, round });

/** Returns the round of a delivery message. */
export const roundOf = ({ round = 1 }: Pick<Delivery, 'round'>): number => round;
