import { randomUUID } from 'node:crypto';
import { logger } from '../../adapters/logger.ts';
import { type NotificationTypeId, notificationTypes } from '../../contracts/notification-types.ts';
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
  withNextAttempt,
  withShadow,
  withStatus,
  withSuperseded,
} from '../../domain/delivery-record.ts';
import { changedAtMs, type EventTime } from '../../domain/event-time.ts';
import { type DeliveryTarget, operatorsNotification } from '../../domain/notification.ts';
import { MAX_ATTEMPTS } from '../../domain/retry-schedule.ts';
import { alarmCount, type Summary, withSummaryOf } from '../../domain/summary.ts';
import { MIN_TIME_TO_SEND_MS } from '../../domain/transport.ts';
import { createDeadLetter } from './dead-letter.ts';
import { type DeliveryJob, idsOf, type SettledMessage } from './delivery-job.ts';
import { logOlderTimestamp } from './failure-log.ts';
import { sqsTimeMs } from './read-message.ts';
import { copyOfMessage, type Requeue } from './requeue.ts';
import type { SenderDependencies } from './sender-dependencies.ts';
import { createSummarizer } from './summarize.ts';

/** An attempt that is not yet settled. `record` includes the attempt but is not yet written, and its claim is held. */
export type UnsettledAttempt = { record: DeliveryRecord; attemptOutcome: AttemptOutcome };

/** The target of a delivery, and whether the tenant is in shadow mode. */
type Reads = readonly [target: DeliveryTarget | undefined, isWithheld: boolean];

/** The last 12 digits of a UUID are random: enough for the claims of one record, which is charged by size. */
const CLAIM_ID_LENGTH = 12;

/** The minimum time before the function times out to read a summary and to send it. */
const MIN_TIME_TO_SUMMARIZE_MS = MIN_TIME_TO_SEND_MS + 3_000;

const hasSummaries = (type: NotificationTypeId): boolean => notificationTypes[type].summarizedAfter !== null;

/** Earlier calls left too little time for the send. This is an internal error. */
class NoTimeLeftError extends Error {
  override readonly name = 'NoTimeLeftError';
}

/** Creates the attempts of a sender. */
export const createAttempt = (
  dependencies: SenderDependencies,
  { reschedule, returnBusyMessage }: Pick<Requeue, 'reschedule' | 'returnBusyMessage'>,
) => {
  const { type, transport, accounts, deliveries, summarizedAlerts, queues, queueUrls, clock } = dependencies;
  const deadLetter = createDeadLetter(dependencies);

  /** Releases the claim of a delivery that was not sent. */
  const release = ({ writes }: DeliveryJob, record: DeliveryRecord): Promise<DeliveryRecord> =>
    writes.update(record, withNextAttempt(record, record.next_attempt_at_ms));

  /** Releases the claim, and sends the message again. */
  const sendAgain = async (job: DeliveryJob, record: DeliveryRecord): Promise<SettledMessage> => {
    await release(job, record);
    return reschedule(job, 0);
  };

  const summarizer = createSummarizer(dependencies, sendAgain);

  /** Releases the claim after an internal error: nothing was sent. If this write fails too, the lease expires. */
  const releaseAfter = async (job: DeliveryJob, record: DeliveryRecord, error: unknown): Promise<never> => {
    await release(job, record).catch(() => undefined);
    throw error;
  };

  const readSummary = ({ body, timeLeft }: DeliveryJob): Promise<Summary | undefined> =>
    summarizedAlerts.read(body.event, () => timeLeft() >= MIN_TIME_TO_SUMMARIZE_MS);

  const callTransport = async (
    job: DeliveryJob,
    record: DeliveryRecord,
    { details, webhookRequest }: DeliveryTarget,
    summary: Summary | undefined,
  ): Promise<AttemptOutcome> => {
    const { body, deliveryId, time, timeLeft } = job;
    try {
      const { event, payload, notice, trace, notification_id: notificationId } = body;
      const alert = {
        event,
        payload,
        notice,
        summary,
        trace,
        eventTimeMs: changedAtMs(time),
        acceptedAtMs: time.acceptedAtMs,
        notificationId,
        deliveryId,
        reachedRecipientHashes: record.reached_recipient_hashes ?? [],
        mayHaveArrived: mayHaveArrived(record),
        timeLeft,
      };
      return await transport(alert, details, webhookRequest);
    } catch (error) {
      return releaseAfter(job, record, error);
    }
  };

  /** Ends the delivery of a deleted notification. */
  const cancel = async ({ writes }: DeliveryJob, record: DeliveryRecord): Promise<SettledMessage> => {
    await writes.settleBounce(await writes.update(record, withStatus(record, 'cancelled', clock())));
    return { outcome: 'cancelled' };
  };

  /**
   * Returns whether the tenant's alerts are recorded and not sent. Messages to the operators' notification are sent, and
   * summaries, because their alerts were not withheld.
   */
  const isInShadowMode = async ({ body: { event, notice, notification_id: id, accepted_at_ms } }: DeliveryJob) =>
    notice?.kind !== 'summary' &&
    id !== operatorsNotification.id &&
    (await accounts.isShadowed(event.tenant_id, accepted_at_ms));

  /** Returns whether a notice that a tenant is in shadow mode is outdated. */
  const isOutdated = async ({ body: { event, notice } }: DeliveryJob): Promise<boolean> =>
    notice?.kind === 'shadow' && !(await accounts.hasShadowMode(event.tenant_id));

  /** Ends the delivery of an alert in shadow mode. */
  const withhold = async ({ writes }: DeliveryJob, record: DeliveryRecord): Promise<SettledMessage> => {
    await writes.settleBounce(await writes.update(record, withShadow(record, clock())));
    return { outcome: 'cancelled', advancesLock: true };
  };

  /** Ends the delivery of an event after a newer one was delivered. */
  const supersede = async (job: DeliveryJob, record: DeliveryRecord, newer: EventTime): Promise<SettledMessage> => {
    const superseded = withSuperseded(record, job.time, newer, clock());
    await job.writes.update(record, superseded);
    const hasOlderTimestamp = superseded.newer_event_at_ms !== undefined;
    if (hasOlderTimestamp) logOlderTimestamp(job);
    return { outcome: 'superseded', hasOlderTimestamp };
  };

  const attemptClaimedDelivery = async (
    job: DeliveryJob,
    record: DeliveryRecord,
    reads: Promise<Reads>,
    newer: EventTime | undefined,
  ): Promise<SettledMessage | UnsettledAttempt> => {
    const [target, isWithheld] = await reads.catch(async (error: unknown) => {
      await release(job, record).catch(() => undefined);
      throw error;
    });
    const released = (error: unknown) => releaseAfter(job, record, error);
    const isSummary = job.body.notice?.kind === 'summary';
    if (target && target.type !== type) {
      // A type without summaries cannot read their alerts, and the escalation says how many alarms there are and their state.
      const isUnsent = isSummary && hasSummaries(type) && !hasSummaries(target.type);
      const unsent = isUnsent ? await readSummary(job).catch(released) : undefined;
      if (unsent && alarmCount(unsent) === 0) return cancel(job, record);
      await release(job, unsent ? withSummaryOf(record, unsent) : record);
      await queues.sendDelayed(queueUrls[target.type], copyOfMessage(job), 0);
      return { outcome: 'forwarded' };
    }
    if (!target) return cancel(job, record);
    if (newer) return supersede(job, record, newer);
    if (isWithheld) return withhold(job, record);
    if (isRoundExpired(record, clock()))
      return deadLetter(job, record, { reason: 'expired', cause: roundExpiryCause(record) });
    // A worker crashed after it recorded the last attempt and before it dead-lettered the delivery.
    if (record.attempt_count >= MAX_ATTEMPTS)
      return deadLetter(job, record, { reason: 'attempts_exhausted', cause: roundExpiryCause(record) });
    if (job.timeLeft() < MIN_TIME_TO_SEND_MS) {
      await release(job, record);
      throw new NoTimeLeftError();
    }
    const summarized = await summarizer.unlessFirst({ job, record, target }).catch(released);
    if (summarized) return summarized;
    if (isSummary && !hasSummaries(type))
      return deadLetter(job, record, { reason: 'type_without_summaries', cause: 'destination' });
    const summary = isSummary ? await readSummary(job).catch(released) : undefined;
    if (isSummary && !summary) return sendAgain(job, record);
    // A worker that queued the summary crashed before it stored an alert, which another summary then lists.
    if (summary && alarmCount(summary) === 0) return cancel(job, record);
    const startedAtMs = clock();
    const attemptOutcome = await callTransport(job, record, target, summary);
    const { reachedRecipientHashes: reached = record.reached_recipient_hashes } = attemptOutcome;
    if (attemptOutcome.result === 'permanent' && attemptOutcome.canBeSummarized) {
      const alert = { job, record: { ...record, reached_recipient_hashes: reached }, target };
      return { ...(await summarizer.aboveLimit(alert).catch(released)), attemptOutcome };
    }
    const attempted = summary ? withSummaryOf(record, summary) : record;
    return { record: withAttempt(attempted, attemptOutcome, startedAtMs, clock() - startedAtMs), attemptOutcome };
  };

  /** Returns how long, by the clock of SQS, a summary must wait for other senders to list alerts. */
  const summaryWaitMs = ({ body: { notice, accepted_at_ms }, message }: DeliveryJob): number =>
    notice?.kind === 'summary' ? accepted_at_ms - sqsTimeMs(message) : 0;

  const reportConflict = async (job: DeliveryJob, record: DeliveryRecord): Promise<SettledMessage> => {
    logger.error('event conflict', idsOf(job));
    await deliveries.recordConflict(record, clock());
    return { outcome: 'conflict', isRepeated: true };
  };

  /**
   * Claims the delivery of a message, while its target is being read, and makes one attempt. If the notification's type
   * has changed, releases the claim and forwards the message to the queue of the new type instead.
   *
   * @param target the notification's target, or undefined if the notification was deleted. Its rejection is handled only
   * if the delivery is claimed
   * @param newer the times of the newest delivered event of the incident, if it is newer than this one
   * @returns the attempt, which the caller must settle, or the result of the message if there was no attempt to settle
   * @throws the error of a dependency, which does not count as an attempt
   */
  return async (
    job: DeliveryJob,
    target: Promise<DeliveryTarget | undefined>,
    newer?: EventTime,
  ): Promise<SettledMessage | UnsettledAttempt> => {
    if (job.timeLeft() < MIN_TIME_TO_SEND_MS) throw new NoTimeLeftError();

    // It leaves no record, so that a notice of the same day can follow.
    if (await isOutdated(job)) return { outcome: 'cancelled' };
    const waitMs = summaryWaitMs(job);
    if (waitMs > 0) return reschedule(job, waitMs);
    const reads = Promise.all([target, isInShadowMode(job)]);
    reads.catch(() => undefined);
    const first = claimedRecord(
      job.body,
      randomUUID().slice(-CLAIM_ID_LENGTH),
      clock(),
      notificationTypes[type].canBounce,
    );
    const claim = await job.writes.claim(first);
    switch (claim.kind) {
      case 'ended':
        // A worker that crashed may have recorded the end and not that all recipients have bounced.
        await job.writes.settleBounce(claim.record);
        return {
          outcome: 'duplicate',
          isRepeated: !isOfSameDispatch(claim.record, first),
          advancesLock: claim.record.status === 'delivered' || isShadow(claim.record),
        };
      case 'conflict':
        return reportConflict(job, first);
      case 'busy':
        return returnBusyMessage(job, claim.leaseUntilMs - clock() + 1_000);
      case 'not_due':
        return reschedule(job, claim.record.next_attempt_at_ms - clock());
      case 'claimed':
        return attemptClaimedDelivery(job, claim.record, reads, newer);
    }
  };
};

/** Makes one attempt of a delivery. */
export type Attempt = ReturnType<typeof createAttempt>;
