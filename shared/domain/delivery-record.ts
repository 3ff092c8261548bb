import { createHash } from 'node:crypto';
import type { AlarmState } from '../contracts/alarm-event.ts';
import type { Delivery } from '../contracts/sender.ts';
import { shortened } from './alert-text.ts';
import { type DeliveryKey, deliveryKey } from './delivery-key.ts';
import type { Outcome } from './outcome.ts';
import { MAX_ATTEMPTS } from './retry-schedule.ts';

/**
 * Where a delivery stands. The first two are open; `dead` is opened again by a message that arrives for it. `bounced` was
 * delivered as far as we could tell, until SES told that the mail did not arrive.
 */
export const deliveryStatuses = ['pending', 'dead', 'delivered', 'superseded', 'cancelled', 'bounced'] as const;

/** Where a delivery stands. */
export type DeliveryStatus = (typeof deliveryStatuses)[number];

/** One attempt, as the record keeps it. */
export type Attempt = {
  /** When it began, ms since the epoch. */
  at: number;
  result: Outcome['result'];
  /** The HTTP status, where there was one. */
  status?: number | undefined;
  /** How long it took, in ms. */
  took: number;
};

/** The record of a delivery (table Deliveries): ids, times and outcomes, never a destination, and under 1 KB. */
export type DeliveryRecord = DeliveryKey & {
  status: DeliveryStatus;
  event_id: string;
  entity_id: string;
  alarm_id: string;
  state: AlarmState;
  /** Digest of the message: the same event id with other content is not the same event. */
  content: string;
  /** Attempts of this round. */
  attempts: number;
  /** When this round began, ms. */
  opened: number;
  /** When the next attempt is due, ms. */
  due: number;
  /** Until when the worker that claimed it may work on it, ms; 0 where nobody does. */
  lease: number;
  /** Names the claim. */
  owner: string;
  history: Attempt[];
  /** Salted hashes of the parts that have arrived, where a delivery has several. */
  parts: string[];
  /** When DynamoDB deletes it, epoch seconds. */
  expires: number;
};

/** How long a claim holds, in ms: longer than a function can run (design 3, Claim). */
export const LEASE = 35_000;

/** How long records are kept, in seconds. */
export const KEEP_SECONDS = 30 * 86_400;

/** Ids of entities and alarms are as long as producers like; the record keeps the beginning. */
const MAX_ID = 128;

/** The id of an entity or an alarm as the record keeps it. */
export const shortenedId = (id: string): string => shortened(id, MAX_ID);

/** The record as a first claim writes it. @param message the message's text, which tells one event from another */
export const claimedRecord = (
  { event, notification_id: notificationId }: Delivery,
  message: string,
  owner: string,
  now: number,
): DeliveryRecord => ({
  ...deliveryKey(event, notificationId),
  status: 'pending',
  event_id: event.event_id,
  entity_id: shortenedId(event.entity.id),
  alarm_id: shortenedId(event.alarm.id),
  state: event.details.state,
  content: createHash('sha256').update(message).digest('base64url').slice(0, 22),
  attempts: 0,
  opened: now,
  due: now,
  lease: now + LEASE,
  owner,
  history: [],
  parts: [],
  expires: Math.floor(now / 1000) + KEEP_SECONDS,
});

/** What a claim comes to: the delivery is ours, or why it is not. */
export type Claim =
  | { kind: 'claimed'; record: DeliveryRecord }
  /** It is done, for whatever reason. */
  | { kind: 'ended' }
  /** The record is of another event with the same id: the first wins. */
  | { kind: 'conflict' }
  /** Another worker has it until then, ms. */
  | { kind: 'busy'; until: number }
  /** Its next attempt is due then, ms. */
  | { kind: 'early'; due: number };

/**
 * What a claim comes to where there is a record already. A message for a dead delivery, one that ops redrove or a duplicate,
 * opens a new round.
 *
 * @param first the record as the claim would have written it
 */
export const claimOn = (found: DeliveryRecord, first: DeliveryRecord, now: number): Claim => {
  // The SDK may have sent our claim twice and lost the first answer.
  if (found.owner === first.owner) return { kind: 'claimed', record: found };
  if (found.content !== first.content) return { kind: 'conflict' };
  if (found.lease > now) return { kind: 'busy', until: found.lease };
  const { owner, lease, expires } = first;
  const taken = { ...found, owner, lease, expires };
  if (found.status === 'dead')
    return { kind: 'claimed', record: { ...taken, status: 'pending', attempts: 0, opened: now, due: now } };
  if (found.status !== 'pending') return { kind: 'ended' };
  return found.due > now ? { kind: 'early', due: found.due } : { kind: 'claimed', record: taken };
};

/** The record after an attempt. The claim holds on: until it is settled, no duplicate may try as well. */
export const attempted = (record: DeliveryRecord, outcome: Outcome, at: number, took: number): DeliveryRecord => {
  const isFree = outcome.result !== 'delivered' && outcome.free;
  const attempt: Attempt = { at, result: outcome.result, status: outcome.status, took };
  return {
    ...record,
    attempts: record.attempts + (isFree ? 0 : 1),
    history: isFree ? record.history : [...record.history, attempt].slice(-MAX_ATTEMPTS),
    parts: outcome.partsDone ?? record.parts,
  };
};

/** The record once nobody works on it any more. */
export const ended = (record: DeliveryRecord, status: Exclude<DeliveryStatus, 'pending'>): DeliveryRecord => ({
  ...record,
  status,
  lease: 0,
});
