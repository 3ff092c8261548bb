import type { AlarmState } from '../contracts/alarm-event.ts';
import type { Delivery } from '../contracts/messages.ts';
import type { FailureCause, FailureReason } from '../contracts/outcomes.ts';
import { truncate } from './alert-text.ts';
import type { AttemptOutcome } from './attempt-outcome.ts';
import { type DeliveryKey, deliveryKey } from './delivery-key.ts';
import { roundOf } from './delivery-message.ts';
import { MAX_AGE_MS, MAX_ATTEMPTS, MAX_WAIT_FOR_ATTEMPT_MS } from './retry-schedule.ts';

/**
 * Where a delivery stands. The first two are open; `dead` is opened again by the message of its next round. `bounced` was
 * delivered as far as we could tell, until SES reported that the email did not arrive.
 */
export const deliveryStatuses = ['pending', 'failed', 'delivered', 'superseded', 'cancelled', 'bounced'] as const;

/** Where a delivery stands. */
export type DeliveryStatus = (typeof deliveryStatuses)[number];

/** One attempt, as the record keeps it. */
export type Attempt = {
  /** When it began, ms since the epoch. */
  timestamp_ms: number;
  result: AttemptOutcome['result'];
  /** The HTTP status, where there was one. */
  status?: number | undefined;
  /** Why it failed. */
  reason?: FailureReason | undefined;
  /** How long it took, in ms. */
  duration_ms: number;
};

/** The record of a delivery (table Deliveries): ids, times and outcomes, never a destination, under 1 KB up to the sixth attempt. */
export type DeliveryRecord = DeliveryKey & {
  status: DeliveryStatus;
  event_id: string;
  entity_id: string;
  alarm_id: string;
  state: AlarmState;
  /** Digest of the event: the same event id with other content is not the same event. */
  content_hash: string;
  /** Number of this round of attempts, from 1. */
  round: number;
  /** Attempts of this round. */
  attempt_count: number;
  /** When this round began, ms. */
  round_started_at_ms: number;
  /** When the first attempt of this round began, ms; 0 before. */
  first_attempt_at_ms: number;
  /** When the next attempt is due, ms. */
  next_attempt_at_ms: number;
  /** Whose fault the last failure of this round was, whether the attempt counted or not. */
  last_cause?: FailureCause | undefined;
  /** Until when the worker that claimed it may work on it, ms; 0 where nobody does. */
  lease_until_ms: number;
  /** Names the claim. */
  claim_id: string;
  attempts: Attempt[];
  /** Salted hashes of the recipients that were reached, where a delivery has several. */
  reached_recipient_hashes: string[];
  /** When DynamoDB deletes it, epoch seconds. */
  ttl: number;
};

/** How long a claim holds, in ms: longer than a function can run. */
export const LEASE_MS = 35_000;

/** How long records are kept, in seconds. */
export const RETENTION_SECONDS = 30 * 86_400;

/** A message is this long after its due time only where SQS or an operator held it, in ms. */
const HELD_MS = 15 * 60_000;

/** Ids of entities and alarms are as long as producers like; the record keeps the beginning. */
const MAX_ID = 128;

/** The id of an entity or an alarm as the record keeps it: DynamoDB refuses a lone surrogate, which is no Unicode. */
export const shortenedId = (id: string): string => truncate(id, MAX_ID).toWellFormed();

/** The record as a first claim writes it. */
export const claimedRecord = (delivery: Delivery, owner: string, now: number): DeliveryRecord => {
  const { event, notification_id: notificationId, content_hash: content } = delivery;
  return {
    ...deliveryKey(event, notificationId),
    status: 'pending',
    event_id: event.event_id.toWellFormed(),
    entity_id: shortenedId(event.entity.id),
    alarm_id: shortenedId(event.alarm.id),
    state: event.details.state,
    content_hash: content,
    round: roundOf(delivery),
    attempt_count: 0,
    round_started_at_ms: now,
    first_attempt_at_ms: 0,
    next_attempt_at_ms: now,
    lease_until_ms: now + LEASE_MS,
    claim_id: owner,
    attempts: [],
    reached_recipient_hashes: [],
    ttl: Math.floor(now / 1000) + RETENTION_SECONDS,
  };
};

/** What a claim comes to: the delivery is ours, or why it is not. */
export type Claim =
  | { kind: 'claimed'; record: DeliveryRecord }
  /** It is done, for whatever reason. */
  | { kind: 'ended'; isDelivered: boolean }
  /** The record is of another event with the same id: the first wins. */
  | { kind: 'conflict' }
  /** Another worker has it until then, ms. */
  | { kind: 'busy'; until: number }
  /** Its next attempt is due then, ms. */
  | { kind: 'not_due'; due: number };

const inNewRound = (record: DeliveryRecord, round: number, now: number): DeliveryRecord => ({
  ...record,
  status: 'pending',
  round,
  attempt_count: 0,
  round_started_at_ms: now,
  first_attempt_at_ms: 0,
  next_attempt_at_ms: now,
  last_cause: undefined,
});

/** True where the round's time is over: 24 h after its first attempt, or four days without any. */
export const isExpired = (
  { attempt_count: attempts, round_started_at_ms: opened, first_attempt_at_ms }: DeliveryRecord,
  now: number,
): boolean => (attempts > 0 ? now - first_attempt_at_ms > MAX_AGE_MS : now - opened > MAX_WAIT_FOR_ATTEMPT_MS);

/** Whose fault it is that a round ended without a delivery: that of its last failure; ours where nothing was tried. */
export const causeOfExpiry = ({ attempt_count: attempts, last_cause: cause }: DeliveryRecord): FailureCause =>
  attempts === 0 ? 'service' : (cause ?? 'destination');

/**
 * What a claim comes to where there is a record already. A dead delivery starts a new round only for the message of exactly
 * that round, such as its redriven dead letter: every other message for it is a duplicate. One that is pending takes messages
 * of earlier rounds as well: its attempts are counted here, so none is made twice.
 * A round whose time ran out while SQS or an operator held its message starts anew: nobody has failed.
 *
 * @param first the record as the claim would have written it
 * @param sentAt when the message was sent, ms
 */
export const evaluateClaim = (found: DeliveryRecord, first: DeliveryRecord, sentAt: number, now: number): Claim => {
  // The SDK may have sent our claim twice and lost the first answer.
  if (found.claim_id === first.claim_id) return { kind: 'claimed', record: found };
  if (found.content_hash !== first.content_hash) return { kind: 'conflict' };
  if (found.lease_until_ms > now) return { kind: 'busy', until: found.lease_until_ms };
  const { claim_id, lease_until_ms, ttl } = first;
  const taken = { ...found, claim_id, lease_until_ms, ttl };
  if (found.status === 'failed') {
    return first.round === found.round + 1
      ? { kind: 'claimed', record: inNewRound(taken, first.round, now) }
      : { kind: 'ended', isDelivered: false };
  }
  if (found.status !== 'pending') return { kind: 'ended', isDelivered: found.status === 'delivered' };
  if (found.next_attempt_at_ms > now) return { kind: 'not_due', due: found.next_attempt_at_ms };
  const wasHeld = sentAt - found.next_attempt_at_ms > HELD_MS;
  return wasHeld && isExpired(found, now)
    ? { kind: 'claimed', record: inNewRound(taken, found.round + 1, now) }
    : { kind: 'claimed', record: taken };
};

const attemptOf = (outcome: AttemptOutcome, at: number, took: number): Attempt => ({
  timestamp_ms: at,
  result: outcome.result,
  status: outcome.status,
  ...(outcome.result !== 'delivered' && { reason: outcome.reason }),
  duration_ms: took,
});

/** The record after an attempt. The claim holds on: until it is settled, no duplicate may try as well. */
export const withAttempt = (
  record: DeliveryRecord,
  outcome: AttemptOutcome,
  at: number,
  took: number,
): DeliveryRecord => {
  const isFailure = outcome.result !== 'delivered';
  const counts = !isFailure || outcome.countsAsAttempt !== false;
  return {
    ...record,
    ...(counts && {
      attempt_count: record.attempt_count + 1,
      first_attempt_at_ms: record.first_attempt_at_ms || at,
      attempts: [...record.attempts, attemptOf(outcome, at, took)].slice(-MAX_ATTEMPTS),
    }),
    ...(isFailure && { last_cause: outcome.cause }),
    reached_recipient_hashes: outcome.reachedRecipientHashes ?? record.reached_recipient_hashes,
  };
};

/** The record once nobody works on it any more. */
export const withStatus = (record: DeliveryRecord, status: Exclude<DeliveryStatus, 'pending'>): DeliveryRecord => ({
  ...record,
  status,
  lease_until_ms: 0,
});

/** The record of a delivery that can be claimed again at some time, ms. */
export const withNextAttempt = (record: DeliveryRecord, due: number): DeliveryRecord => ({
  ...record,
  next_attempt_at_ms: due,
  lease_until_ms: 0,
});
