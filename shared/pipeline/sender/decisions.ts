import { logger } from '../../adapters/logger.ts';
import type { DeliveryReason, MessageOutcome } from '../../contracts/outcomes.ts';
import { isRoundExpired, roundExpiryCause, withSuperseded } from '../../domain/delivery-record.ts';
import { MAX_ATTEMPTS } from '../../domain/retry-schedule.ts';
import { MIN_TIME_TO_SEND_MS, NoTimeLeftError } from '../../domain/timeouts.ts';
import { covers } from '../../domain/withheld.ts';
import type { Decision } from './claimed-delivery.ts';
import { idsOf, isNotice } from './delivery-job.ts';

/** Forwards the message of a notification that has got another type. */
export const typeChanged: Decision = (delivery) => {
  const { notification, job } = delivery;
  return notification && notification.type !== job.type ? delivery.forward(notification.type) : undefined;
};

export const deleted: Decision = (delivery) => (delivery.notification ? undefined : delivery.cancel());

/** Ends the delivery of an event after a newer one of its incident was delivered. */
const superseded: Decision = async (delivery) => {
  const { job, lock, record } = delivery;
  if (!lock?.newer) return undefined;
  const next = withSuperseded(record, job.time, lock.newer, delivery.nowMs);
  await delivery.write(next);
  const hasOlderTimestamp = next.newer_event_at_ms !== undefined;
  const [outcome, reason] = ['superseded', 'older_timestamp'] satisfies [MessageOutcome, DeliveryReason];
  if (hasOlderTimestamp) logger.warn('event superseded', { outcome, ...idsOf(job), reason });
  return { kind: 'superseded', hasOlderTimestamp };
};

/** Ends the delivery of an alert in shadow mode, which another system delivers. */
const shadowed: Decision = async (delivery) => {
  if (!delivery.isShadowed) return undefined;
  const result = await delivery.cancel('shadow');
  await delivery.lock?.advance();
  return result;
};

/**
 * An OK ends an incident whatever is muted. The alerts of a summary were not. An escalation can be hours newer than its
 * alert. A repeated event has the time of its first message.
 */
const muted: Decision = (delivery) => {
  const { job, isSummary, record, target } = delivery;
  const { event, accepted_at_ms } = job.body;
  if (isSummary || (job.isOrdered && event.state === 'OK')) return undefined;
  const atMs = isNotice(job.body) ? record.created_at_ms : (record.accepted_at_ms ?? accepted_at_ms);
  const isMuted = target.mutes?.some((period) => covers(period, atMs));
  return isMuted ? delivery.cancel('muted') : undefined;
};

const expired: Decision = (delivery) =>
  isRoundExpired(delivery.record, delivery.nowMs)
    ? delivery.deadLetter({ reason: 'expired', cause: roundExpiryCause(delivery.record) })
    : undefined;

/** Fails a delivery whose worker crashed after it recorded the last attempt and before it dead-lettered it. */
const exhausted: Decision = (delivery) =>
  delivery.record.attempt_count >= MAX_ATTEMPTS
    ? delivery.deadLetter({ reason: 'attempts_exhausted', cause: roundExpiryCause(delivery.record) })
    : undefined;

/** Returns the message to its queue if there is no time to send it. */
const outOfTime: Decision = ({ job }) => {
  if (job.timeLeft() < MIN_TIME_TO_SEND_MS) throw new NoTimeLeftError();
  return undefined;
};

/** What is decided about every delivery after its notification was found. */
export const usualDecisions: readonly Decision[] = [shadowed, muted, expired, exhausted, outOfTime];

/** Fails a summary whose notification has got a type without summaries. */
const notSummarized: Decision = (delivery) =>
  delivery.isSummary ? delivery.deadLetter({ reason: 'type_without_summaries', cause: 'destination' }) : undefined;

/** The decisions of types without summaries. */
export const decisionsWithoutSummaries: readonly Decision[] = [
  typeChanged,
  deleted,
  superseded,
  ...usualDecisions,
  notSummarized,
];
