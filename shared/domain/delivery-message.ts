import { jsonOrUndefined } from '../contracts/json.ts';
import { type Delivery, type Envelope, envelope, type MessageBody, messageBody } from '../contracts/messages.ts';

/*
 * A message on a sender's queue is one JSON document with exactly one line feed: before it the envelope, which senders
 * parse, after it the payload, which they forward unparsed:
 *   {"notification_id":"…",…,"event":{…},
 *   "payload":{…}}
 */

/** Of UTF-8. */
export const MAX_ENVELOPE_BYTES = 16 * 1_024;
/** That of the contacts of an account. */
const MAX_REACHED_RECIPIENTS = 50;

const PAYLOAD_KEY = '"payload":';

/** Returns the fields that follow in JSON as the end of a body that begins with others. */
export const bodyTail = (fields: object, payload: string): MessageBody =>
  messageBody(`${JSON.stringify(fields).slice(1, -1)},\n${PAYLOAD_KEY}${payload}}`);

/** Returns the body of the same delivery for another round, with the recipients that were reached. */
export const bodyForRound = (
  { payload, ...parts }: Delivery,
  { round, reached_recipient_hashes: reached }: Pick<Envelope, 'round' | 'reached_recipient_hashes'>,
): MessageBody => {
  // If the contacts have changed between attempts, more were reached. The last attempt reached the last ones.
  const reached_recipient_hashes = reached?.slice(-MAX_REACHED_RECIPIENTS);
  return messageBody(`{${bodyTail({ ...parts, round, reached_recipient_hashes }, payload)}`);
};

/** Never throws: an invalid message must not fail the batch. Nothing of a body with too long an envelope is parsed. */
export const parseDelivery = (body: string): Delivery | undefined => {
  const end = body.slice(0, MAX_ENVELOPE_BYTES + 1).indexOf('\n');
  const payloadStart = end + 1 + PAYLOAD_KEY.length;
  if (end < 0 || body.slice(end + 1, payloadStart) !== PAYLOAD_KEY) return undefined;
  const parsed = envelope.safeParse(jsonOrUndefined(`${body.slice(0, end - 1)}}`));
  return parsed.success ? { ...parsed.data, payload: body.slice(payloadStart, -1) } : undefined;
};
