import { randomUUID } from 'node:crypto';
import { errorTrace, logger } from '../../adapters/logger.ts';
import { type NotificationTypeId, notificationTypes } from '../../contracts/notification-types.ts';
import type { DeliveryReason, MessageOutcome, WithheldReason } from '../../contracts/outcomes.ts';
import type { AttemptOutcome } from '../../domain/attempt-outcome.ts';
import {
  claimedRecord,
  type DeliveryRecord,
  isOfSameDispatch,
  isRoundExpired,
  isShadow,
  mayHaveArrived,
  roundExpiryCause,
  withAttempt,
  withCancellation,
  withSuperseded,
  withWithheld,
} from '../../domain/delivery-record.ts';
import type { DeliveryResult } from '../../domain/delivery-result.ts';
import { changedAtMs, type EventTime } from '../../domain/event-time.ts';
import { isHeartbeat, isLateHeartbeat } from '../../domain/heartbeat.ts';
import { type DeliveryTarget, operatorsNotification } from '../../domain/notification.ts';
import { MAX_ATTEMPTS } from '../../domain/retry-schedule.ts';
import type { Summary } from '../../domain/summary.ts';
import { MIN_TIME_TO_SEND_MS, NoTimeLeftError } from '../../domain/transport.ts';
import { covers } from '../../domain/withheld.ts';
import { ClaimedDelivery } from './claimed-delivery.ts';
import { type DeliveryJob, idsOf } from './delivery-job.ts';
import { createAttemptEnd } from './end-attempt.ts';
import { HeldLock } from './held-lock.ts';
import { sqsTimeMs } from './received-message.ts';
import { copyOfMessage, createRequeue } from './requeue.ts';
import type { SenderDependencies } from './sender-dependencies.ts';

/** The target of a delivery, and whether the tenant is in shadow mode. */
type Reads = readonly [target: DeliveryTarget | undefined, isShadowed: boolean];

/** What is decided about a delivery before it is sent: its result, or that it is sent, with the summary if it is one. */
type Decision = DeliveryResult | { kind: 'send'; target: DeliveryTarget; summary: Summary | undefined };

/** The last 12 digits of a UUID are random: enough for the claims of one record, which is charged by size. */
const CLAIM_ID_LENGTH = 12;

const hasSummaries = (type: NotificationTypeId): boolean => notificationTypes[type].summarizedAfter !== null;

/** Returns whether an attempt is the first of its delivery. One that an open circuit prevented leaves its cause. */
const isFirstAttempt = ({ claimed, record }: ClaimedDelivery): boolean =>
  claimed.round === 1 && claimed.attempt_count === 0 && claimed.last_cause === undefined && record.attempt_count === 1;

/** An OK ends an incident whatever is muted. The alerts of a summary were not. */
const isMutedFor = (
  { body: { event, notice, accepted_at_ms }, isOrdered }: DeliveryJob,
  { mutes = [] }: DeliveryTarget,
) =>
  notice?.kind !== 'summary' &&
  !(isOrdered && event.state === 'OK') &&
  mutes.some((period) => covers(period, accepted_at_ms));

/** Logs that an event was superseded only because of its timestamp. */
const logOlderTimestamp = (job: DeliveryJob): void => {
  const [outcome, reason]: [MessageOutcome, DeliveryReason] = ['superseded', 'older_timestamp'];
  logger.warn('event superseded', { outcome, ...idsOf(job), reason });
};

/**
 * Creates the delivery of one alert (docs/decisions/deliveries.md): what follows are its decisions, from the claim of the
 * record to the record of the attempt.
 */
export const createDeliver = (dependencies: SenderDependencies) => {
  const { type, transport, accounts, deliveries, incidentLocks, queues, queueUrls, clock, refusalOf } = dependencies;
  const { reschedule, returnBusyMessage, waitForLock, returnAfterError, replaceAfterError } =
    createRequeue(dependencies);
  const { recordDelivered, recordFailed, deadLetter } = createAttemptEnd(dependencies);

  /**
   * Delivers the alert of a message: makes at most one attempt, and records it. Never rejects: a failure of a dependency
   * returns the message to its queue, and counts no attempt.
   *
   * @param target the notification's target, or undefined if the notification was deleted
   */
  const deliver = async (job: DeliveryJob, target: Promise<DeliveryTarget | undefined>): Promise<DeliveryResult> => {
    const { event, accepted_at_ms } = job.body;
    if (isHeartbeat(event) && isLateHeartbeat(accepted_at_ms, clock())) {
      logger.error('heartbeat too late', idsOf(job));
      return { kind: 'heartbeat' };
    }
    const result = await deliverOnce(job, target).catch((error: unknown) => endAfterError(job, error));
    return isHeartbeat(event) ? { kind: 'heartbeat' } : result;
  };

  const deliverOnce = async (
    job: DeliveryJob,
    target: Promise<DeliveryTarget | undefined>,
  ): Promise<DeliveryResult> => {
    const waitMs = summaryWaitMs(job);
    if (waitMs > 0) return reschedule(job, waitMs);
    if (job.isOrdered) return deliverInOrder(job, target);
    if (job.timeLeft() < MIN_TIME_TO_SEND_MS) throw new NoTimeLeftError();
    return claimAndDeliver(job, target, undefined);
  };

  /** Returns how long, by the clock of SQS, a summary must wait for other senders to list alerts. */
  const summaryWaitMs = ({ body: { notice, accepted_at_ms }, message }: DeliveryJob): number =>
    notice?.kind === 'summary' ? accepted_at_ms - sqsTimeMs(message) : 0;

  /** Delivers an event while this worker holds the lock of its incident. */
  const deliverInOrder = async (
    job: DeliveryJob,
    target: Promise<DeliveryTarget | undefined>,
  ): Promise<DeliveryResult> => {
    // Earlier messages of the incident have used up the time of the invocation.
    if (job.timeLeft() < MIN_TIME_TO_SEND_MS) return waitForLock(job);
    const lock = await HeldLock.claim(incidentLocks, job, clock);
    if (!lock) return waitForLock(job);
    let isDecided = false;
    try {
      const result = await claimAndDeliver(job, target, lock);
      isDecided = result.isReturned !== true;
      if (!lock.error) return result;
      await returnAfterError(job.message, idsOf(job), lock.error);
      return { ...result, isReturned: true, isLockNotAdvanced: true };
    } finally {
      await lock.release(isDecided);
    }
  };

  /** Claims the delivery, while its target is being read, and delivers it. */
  const claimAndDeliver = async (
    job: DeliveryJob,
    target: Promise<DeliveryTarget | undefined>,
    lock: HeldLock | undefined,
  ): Promise<DeliveryResult> => {
    const reads = Promise.all([target, isInShadowMode(job)]);
    reads.catch(() => undefined);
    const first = claimedRecord(job.body, randomUUID().slice(-CLAIM_ID_LENGTH), clock(), type);
    const claim = await deliveries.claim(first, clock());
    switch (claim.kind) {
      case 'ended':
        return endDuplicate(claim.record, first, lock);
      case 'conflict':
        return reportConflict(job, first);
      case 'busy':
        return returnBusyMessage(job, claim.leaseUntilMs - clock() + 1_000);
      case 'not_due':
        return reschedule(job, claim.record.next_attempt_at_ms - clock());
      case 'claimed':
        return deliverClaimed(job, claim.record, reads, lock);
    }
  };

  /**
   * Returns whether the tenant's alerts are recorded and not sent. Messages to the operators' notification are sent, and
   * summaries, because their alerts were not withheld.
   */
  const isInShadowMode = async ({ body: { event, notice, notification_id: id, accepted_at_ms } }: DeliveryJob) =>
    notice?.kind !== 'summary' &&
    id !== operatorsNotification.id &&
    (await accounts.isShadowed(event.tenant_id, accepted_at_ms));

  /** A worker that crashed may have recorded the end and neither that all recipients have bounced nor that the lock advances. */
  const endDuplicate = async (
    found: DeliveryRecord,
    first: DeliveryRecord,
    lock: HeldLock | undefined,
  ): Promise<DeliveryResult> => {
    await deliveries.markBounced(found, clock());
    if (found.status === 'delivered' || isShadow(found)) await lock?.advance();
    return { kind: 'duplicate', isRepeated: !isOfSameDispatch(found, first) };
  };

  const reportConflict = async (job: DeliveryJob, record: DeliveryRecord): Promise<DeliveryResult> => {
    logger.error('event conflict', idsOf(job));
    await deliveries.recordConflict(record, clock());
    return { kind: 'conflict', isRepeated: true };
  };

  /** Decides about a claimed delivery and sends it. Never rejects. */
  const deliverClaimed = async (
    job: DeliveryJob,
    claimed: DeliveryRecord,
    reads: Promise<Reads>,
    lock: HeldLock | undefined,
  ): Promise<DeliveryResult> => {
    const delivery = new ClaimedDelivery(job, claimed, dependencies);
    const run = async (): Promise<DeliveryResult> => {
      const decision = await decide(delivery, reads, lock).catch(releaseAfter(delivery));
      return decision.kind === 'send' ? send(delivery, decision.target, decision.summary, lock) : decision;
    };
    return run().catch((error: unknown) => endClaimedAfterError(delivery, error));
  };

  /** Decides about a claimed delivery, up to its send. */
  const decide = async (
    delivery: ClaimedDelivery,
    reads: Promise<Reads>,
    lock: HeldLock | undefined,
  ): Promise<Decision> => {
    const { job, record } = delivery;
    const [target, isShadowed] = await reads;
    const isSummary = job.body.notice?.kind === 'summary';
    if (target && target.type !== type) return forward(delivery, target.type, isSummary);
    if (!target) return cancel(delivery);
    if (lock?.newer) return supersede(delivery, lock.newer);
    if (isShadowed) return withhold(delivery, 'shadow', lock);
    if (isMutedFor(job, target)) return withhold(delivery, 'muted', undefined);
    if (isRoundExpired(record, clock()))
      return deadLetter(delivery, { reason: 'expired', cause: roundExpiryCause(record) });
    // A worker crashed after it recorded the last attempt and before it dead-lettered the delivery.
    if (record.attempt_count >= MAX_ATTEMPTS)
      return deadLetter(delivery, { reason: 'attempts_exhausted', cause: roundExpiryCause(record) });
    if (job.timeLeft() < MIN_TIME_TO_SEND_MS) throw new NoTimeLeftError();
    const summarized = await summaries?.unlessFirst(delivery, target, () => refuse(delivery, target));
    if (summarized) return summarized;
    if (!isSummary) return { kind: 'send', target, summary: undefined };
    if (!summaries) return deadLetter(delivery, { reason: 'type_without_summaries', cause: 'destination' });
    const summary = await summaries.read(delivery);
    if (summary === 'late') return sendAgain(delivery);
    return summary === 'empty' ? cancel(delivery) : { kind: 'send', target, summary };
  };

  /** Ends the delivery of an alert to a destination to which nothing is sent. @returns undefined for others */
  const refuse = async (
    delivery: ClaimedDelivery,
    { details }: DeliveryTarget,
  ): Promise<DeliveryResult | undefined> => {
    const reason = await refusalOf?.(delivery.job.body.event.tenant_id, details);
    return reason && deadLetter(delivery, { reason, cause: 'destination' });
  };

  /** Makes one attempt, and records it. */
  const send = async (
    delivery: ClaimedDelivery,
    target: DeliveryTarget,
    summary: Summary | undefined,
    lock: HeldLock | undefined,
  ): Promise<DeliveryResult> => {
    const startedAtMs = clock();
    const attempt = await callTransport(delivery, target, summary).catch(releaseAfter(delivery));
    const { record } = delivery;
    if (attempt.result === 'permanent' && attempt.canBeSummarized && summaries) {
      const { reachedRecipientHashes: reached = record.reached_recipient_hashes } = attempt;
      delivery.record = { ...record, reached_recipient_hashes: reached, last_reason: attempt.reason };
      return { ...(await summaries.aboveLimit(delivery, target).catch(releaseAfter(delivery))), attempt };
    }
    delivery.record = withAttempt(record, attempt, startedAtMs, clock() - startedAtMs);
    const firstAttemptAtMs = isFirstAttempt(delivery) ? startedAtMs : undefined;
    if (attempt.result !== 'delivered')
      return { ...(await recordFailed(delivery, attempt)), attempt, firstAttemptAtMs };
    // The lock advances before the delivery is recorded: a crash in between must not let an older event follow.
    await lock?.advance();
    return { ...(await recordDelivered(delivery)), attempt, firstAttemptAtMs };
  };

  const callTransport = (
    { job, record }: ClaimedDelivery,
    target: DeliveryTarget,
    summary: Summary | undefined,
  ): Promise<AttemptOutcome> => {
    const { body, deliveryId, time, timeLeft } = job;
    const { event, payload, notice, trace, notification_id: notificationId } = body;
    const alert = {
      event,
      payload,
      notice,
      summary,
      trace,
      eventTimeMs: changedAtMs(time),
      delayMs: clock() - time.acceptedAtMs,
      notificationId,
      deliveryId,
      reachedRecipientHashes: record.reached_recipient_hashes ?? [],
      mayHaveArrived: mayHaveArrived(record),
      timeLeft,
    };
    return transport(alert, target.details, target);
  };

  /**
   * Sends the message to the queue of the notification's new type. A type without summaries cannot read their alerts, and
   * the escalation says how many alarms there are, and their state.
   */
  const forward = async (
    delivery: ClaimedDelivery,
    newType: NotificationTypeId,
    isSummary: boolean,
  ): Promise<DeliveryResult> => {
    const isUnsent = isSummary && !hasSummaries(newType);
    const unsent = isUnsent ? await summaries?.read(delivery) : undefined;
    if (unsent === 'empty') return cancel(delivery);
    await delivery.release();
    await queues.sendDelayed(queueUrls[newType], copyOfMessage(delivery.job), 0);
    return { kind: 'forwarded' };
  };

  /** Ends the delivery of a deleted notification, or of an empty summary. */
  const cancel = async (delivery: ClaimedDelivery): Promise<DeliveryResult> => {
    await delivery.write(withCancellation(delivery.record, undefined, clock()));
    await delivery.markBounced();
    return { kind: 'cancelled' };
  };

  /** Ends the delivery of an event after a newer one was delivered. */
  const supersede = async (delivery: ClaimedDelivery, newer: EventTime): Promise<DeliveryResult> => {
    const superseded = withSuperseded(delivery.record, delivery.job.time, newer, clock());
    await delivery.write(superseded);
    const hasOlderTimestamp = superseded.newer_event_at_ms !== undefined;
    if (hasOlderTimestamp) logOlderTimestamp(delivery.job);
    return { kind: 'superseded', hasOlderTimestamp };
  };

  /** Ends the delivery of an alert that is not sent. In shadow mode, another system delivers it. */
  const withhold = async (
    delivery: ClaimedDelivery,
    reason: WithheldReason,
    lock: HeldLock | undefined,
  ): Promise<DeliveryResult> => {
    await delivery.write(withWithheld(delivery.record, reason, clock()));
    await delivery.markBounced();
    await lock?.advance();
    return { kind: 'cancelled' };
  };

  /** Releases the claim after an internal error: nothing was sent. If this write fails too, the lease expires. */
  const releaseAfter =
    (delivery: ClaimedDelivery) =>
    async (error: unknown): Promise<never> => {
      await delivery.release().catch(() => undefined);
      throw error;
    };

  /** Returns the message to its queue. A heartbeat is given up: its receiver reports missing ones. Never rejects. */
  const endAfterError = async (job: DeliveryJob, error: unknown): Promise<DeliveryResult> => {
    if (!isHeartbeat(job.body.event)) return returnAfterError(job.message, idsOf(job), error);
    logger.error('heartbeat not delivered', { ...idsOf(job), ...errorTrace(error) });
    return { kind: 'heartbeat' };
  };

  /** Does the same for a claimed delivery, or sends a copy that says who was reached, due after the lease. */
  const endClaimedAfterError = (delivery: ClaimedDelivery, error: unknown): Promise<DeliveryResult> => {
    const { job, claimed, record } = delivery;
    if (!delivery.hasUnrecordedRecipients) return endAfterError(job, error);
    return replaceAfterError(job, record, Math.max(0, claimed.lease_until_ms - clock()) + 1_000, error);
  };

  /** Releases the claim, and sends the message again. */
  const sendAgain = async (delivery: ClaimedDelivery): Promise<DeliveryResult> => {
    await delivery.release();
    return reschedule(delivery.job, 0);
  };

  const summaries = dependencies.createSummaries?.(dependencies, sendAgain);

  return deliver;
};
