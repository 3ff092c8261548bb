import { createHash } from 'node:crypto';
import type { AlarmEvent } from '../contracts/alarm-event.ts';
import { asNumber, jsonText } from '../contracts/json.ts';
import type { Delivery } from '../contracts/messages.ts';

/** The part that the messages of all deliveries of one event share; made once, since there may be thousands of them. */
export type SharedPart = {
  /** The event without its plan, as JSON. */
  event: string;
  /** The end of every message's body. */
  tail: string;
  /** The length of `tail` in UTF-8 bytes. */
  bytes: number;
};

/** `parseJson` keeps the text of a number or not, depending on what else stands in the message: it must not matter here. */
const withoutSpelling = (_key: string, value: unknown): unknown => asNumber(value);

/** Names the content of an event; the plan does not count, nor does anything that the pipeline adds to its messages. */
const contentHash = (event: object): string =>
  createHash('sha256').update(JSON.stringify(event, withoutSpelling)).digest('base64url').slice(0, 22);

/** The part of a delivery's message that follows from the event alone. */
export const sharedPart = (event: AlarmEvent, eventTimeMs: number): SharedPart => {
  const { notification_plan: _plan, ...rest } = event;
  const text = jsonText(rest);
  const tail = `"event_time_ms":${eventTimeMs},"content_hash":"${contentHash(rest)}","event":${text}}`;
  return { event: text, tail, bytes: Buffer.byteLength(tail) };
};

/** The body of a delivery's message (`contracts/sender.ts`). */
export const deliveryBody = (
  notificationId: string,
  { tail }: Pick<SharedPart, 'tail'>,
  siblings: readonly string[] = [],
): string => {
  const others = siblings.length === 0 ? '' : `"siblings":${JSON.stringify(siblings)},`;
  return `{"notification_id":${JSON.stringify(notificationId)},${others}${tail}`;
};

/** The body of the message of a delivery that is an event of our own making, such as a notice to a tenant's contacts. */
export const noticeBody = (notificationId: string, event: AlarmEvent, now: number): string =>
  deliveryBody(notificationId, sharedPart(event, now));

/** The body of the same delivery for a round of attempts. */
export const bodyForRound = (delivery: Delivery, round: number): string => jsonText({ ...delivery, round });

/** The round that a message is for. */
export const roundOf = ({ round = 1 }: Pick<Delivery, 'round'>): number => round;
