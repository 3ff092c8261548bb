import { randomUUID } from 'node:crypto';
import type { SQSRecord } from 'aws-lambda';
import { errorTrace, logger } from '../../adapters/logger.ts';
import type { NotificationRepository } from '../../adapters/notifications/notification-repository.ts';
import type { TargetReads } from '../../adapters/notifications/notification-targets.ts';
import { dueTimeMs, lockWaitCount } from '../../adapters/queues.ts';
import { messageBody } from '../../contracts/messages.ts';
import type { AttemptOutcome, DeliveryResult } from '../../domain/attempt-outcome.ts';
import { parseDelivery } from '../../domain/delivery-message.ts';
import {
  claimedRecord,
  type DeliveryRecord,
  isOfSameDispatch,
  isShadow,
  mayHaveArrived,
  withAttempt,
} from '../../domain/delivery-record.ts';
import { changedAtMs, compareEventTimes } from '../../domain/event-time.ts';
import { isHeartbeat, isLateHeartbeat, unstoredTarget } from '../../domain/heartbeat.ts';
import { lockRetryDelayMs } from '../../domain/incident.ts';
import { type DeliveryTarget, operatorsNotification } from '../../domain/notification.ts';
import { MIN_TIME_TO_SEND_MS, NoTimeLeftError } from '../../domain/timeouts.ts';
import type { Transport } from '../../domain/transport.ts';
import { createBatchConsumer, createMessageReturn } from '../batch-consumer.ts';
import { type ProcessedMessage, resultOfBatch } from './batch-metrics.ts';
import { ClaimedDelivery, type Decision } from './claimed-delivery.ts';
import { createJob, type DeliveryJob, idsOf, queueUrlOf, type SenderDependencies, sqsTimeMs } from './delivery-job.ts';
import { claimLock, type HeldLock } from './held-lock.ts';
import { findDue, moveFirstAttempts, sendCopy } from './requeue.ts';

export type SenderParts = {
  /** Returns whether the first attempts of a tenant are moved to the retry queue. */
  isSlow: (tenant: string) => boolean;
  /** Before an alert is sent. The first decision that applies ends it. */
  decisions: readonly Decision[];
  transport: Transport;
  /** Ends the delivery of an alert above a daily limit, if these are summarized. */
  endAboveLimit?: (delivery: ClaimedDelivery) => Promise<DeliveryResult>;
};

type Reads = readonly [target: DeliveryTarget | undefined, isShadowed: boolean];

/** The last 12 digits of a UUID are random: enough for the claims of one record, which is charged by size. */
const CLAIM_ID_LENGTH = 12;

/** Creates the handler of a sender's queues. From top to bottom, a message is claimed, decided, sent and recorded. */
export const createDeliveryConsumer = (
  dependencies: SenderDependencies,
  parts: SenderParts,
  notifications: Pick<NotificationRepository, 'targets'>,
) => {
  const { type, queues, deadLetterQueueUrl, clock } = dependencies;
  const deliverAll = createDelivery(dependencies, parts, notifications);
  const { returnAfterError } = createReturn(dependencies);

  const deadLetterMalformed = async (message: SQSRecord): Promise<DeliveryResult> => {
    const { body, messageId: message_id, attributes } = message;
    const reason = { reason: 'malformed', cause: 'service', attemptCount: 0 } as const;
    const letter = { body: messageBody(body), messageGroupId: attributes.MessageGroupId };
    await queues.sendToDeadLetterQueue(deadLetterQueueUrl, letter, reason);
    logger.error('malformed delivery', { type, message_id, tenant_id: attributes.MessageGroupId });
    return { kind: 'dead_lettered', cause: 'service' };
  };

  return createBatchConsumer({
    dimension: { type },
    clock,
    parse: parseDelivery,
    async process(received, invalid, timeLeft) {
      const jobs = received.map((each) => createJob(type, { ...each, timeLeft }));
      const malformed = invalid.map(async (message) => {
        const result = deadLetterMalformed(message).catch((error: unknown) => returnAfterError(message, {}, error));
        return { message, result: await result, endedAtMs: clock() };
      });
      const processed = await Promise.all([deliverAll(jobs), ...malformed]);
      return resultOfBatch(processed.flat(), dependencies);
    },
  });
};

const createReturn = (dependencies: SenderDependencies) =>
  createMessageReturn({
    ...dependencies,
    dimension: { type: dependencies.type },
    queueUrlOf: (message) => queueUrlOf(message, dependencies),
  });

/** Never rejects: what fails returns its message, and counts no attempt. */
export const createDelivery = (
  dependencies: SenderDependencies,
  { isSlow, decisions, transport, endAboveLimit }: SenderParts,
  notifications: Pick<NotificationRepository, 'targets'>,
) => {
  const { accounts, deliveries, clock } = dependencies;
  const { returnMessage, logError, returnAfterError } = createReturn(dependencies);

  const deliverAll = async (jobs: readonly DeliveryJob[]): Promise<ProcessedMessage[]> => {
    // SQS delays a message by at most 15 min: one that is due later is rescheduled, after a read instead of a claim.
    const nowMs = clock();
    const isEarly = ({ message }: DeliveryJob): boolean => dueTimeMs(message) > nowMs;
    const due = jobs.filter((job) => !isEarly(job));
    return (await Promise.all([deliverDue(due), deliverEarly(jobs.filter(isEarly))])).flat();
  };

  /** Delivers early messages whose delivery has become due, and reschedules the others. */
  const deliverEarly = async (jobs: readonly DeliveryJob[]): Promise<ProcessedMessage[]> => {
    if (jobs.length === 0) return [];
    const due = await findDue(dependencies, jobs);
    const notDue = jobs.filter((job) => !due.includes(job));
    const rescheduled = notDue.map((job) => processedJob(job, reschedule(job, dueTimeMs(job.message) - clock())));
    return (await Promise.all([deliverDue(due), ...rescheduled])).flat();
  };

  /** Moves the first attempts of slow tenants, and delivers the others. */
  const deliverDue = async (jobs: readonly DeliveryJob[]): Promise<ProcessedMessage[]> => {
    const moved = moveFirstAttempts(dependencies, isSlow, jobs);
    const others = jobs.filter((job) => !moved.has(job));
    const targets = notifications.targets(others.map(targetKeyOf));
    const processed = await Promise.all([
      ...[...moved].map(async ([job, result]) => [await processedJob(job, result)]),
      ...inOrder(others).map((group) => deliverInTurn(group, targets)),
    ]);
    return processed.flat();
  };

  const deliverInTurn = async (jobs: readonly DeliveryJob[], targets: TargetReads): Promise<ProcessedMessage[]> => {
    const processed: ProcessedMessage[] = [];
    for (const job of jobs) processed.push(await processedJob(job, deliver(job, findTarget(job, targets))));
    return processed;
  };

  const processedJob = async (job: DeliveryJob, result: Promise<DeliveryResult>): Promise<ProcessedMessage> => {
    const ended = await result.catch((error: unknown) => endAfterError(job, error));
    const isOfHeartbeat = isHeartbeat(job.body.event);
    return { job, message: job.message, result: isOfHeartbeat ? { kind: 'heartbeat' } : ended, endedAtMs: clock() };
  };

  /** Delivers the alert of a message: makes at most one attempt, and records it. */
  const deliver = async (job: DeliveryJob, target: Promise<DeliveryTarget | undefined>): Promise<DeliveryResult> => {
    const { event, accepted_at_ms: acceptedAtMs, notice } = job.body;
    if (isHeartbeat(event) && isLateHeartbeat(acceptedAtMs, clock())) {
      logger.error('heartbeat too late', idsOf(job));
      return { kind: 'heartbeat' };
    }
    // By the clock of SQS, a summary must wait for other senders to list alerts.
    const waitMs = notice?.kind === 'summary' ? acceptedAtMs - sqsTimeMs(job.message) : 0;
    if (waitMs > 0) return reschedule(job, waitMs);
    if (job.isOrdered) return deliverInOrder(job, target);
    if (job.timeLeft() < MIN_TIME_TO_SEND_MS) throw new NoTimeLeftError();
    return claimAndDeliver(job, target, undefined);
  };

  const deliverInOrder = async (
    job: DeliveryJob,
    target: Promise<DeliveryTarget | undefined>,
  ): Promise<DeliveryResult> => {
    // Earlier messages of the incident have used up the time of the invocation.
    if (job.timeLeft() < MIN_TIME_TO_SEND_MS) return waitForLock(job);
    const lock = await claimLock(dependencies, job);
    if (!lock) return waitForLock(job);
    let isDecided = false;
    try {
      const result = await claimAndDeliver(job, target, lock);
      isDecided = result.isReturned !== true;
      if (!lock.error) return result;
      await returnAfterError(job.message, idsOf(job), lock.error);
      return { ...result, isReturned: true, isInternalError: true };
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
    const first = claimedRecord(job.body, randomUUID().slice(-CLAIM_ID_LENGTH), clock(), job.type);
    const claim = await deliveries.claim(first, clock());
    switch (claim.kind) {
      case 'ended':
        return endDuplicate(claim.record, first, lock);
      case 'conflict':
        logger.error('event conflict', idsOf(job));
        await deliveries.recordConflict(first, clock());
        return { kind: 'conflict', isRepeated: true };
      case 'busy':
        await returnMessage(job.message, claim.leaseUntilMs - clock() + 1_000);
        return { kind: 'busy', isReturned: true };
      case 'not_due':
        return reschedule(job, claim.record.next_attempt_at_ms - clock());
      case 'claimed':
        return deliverClaimed(new ClaimedDelivery(job, claim.record, lock, dependencies), reads);
    }
  };

  /** Messages to the operators' notification are sent, and summaries, whose alerts were not withheld. */
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

  const deliverClaimed = async (delivery: ClaimedDelivery, reads: Promise<Reads>): Promise<DeliveryResult> => {
    try {
      return (await decide(delivery, reads).catch(releaseAfter(delivery))) ?? (await send(delivery));
    } catch (error) {
      if (delivery.hasUnrecordedRecipients) return replaceAfterError(delivery, error);
      throw error;
    }
  };

  const decide = async (delivery: ClaimedDelivery, reads: Promise<Reads>): Promise<DeliveryResult | undefined> => {
    [delivery.notification, delivery.isShadowed] = await reads;
    for (const decision of decisions) {
      const result = await decision(delivery);
      if (result) return result;
    }
    return undefined;
  };

  const send = async (delivery: ClaimedDelivery): Promise<DeliveryResult> => {
    const startedAtMs = clock();
    const attempt = await callTransport(delivery).catch(releaseAfter(delivery));
    const { claimed, record, lock } = delivery;
    if (attempt.result === 'permanent' && attempt.canBeSummarized && endAboveLimit) {
      const { reachedRecipientHashes: reached = record.reached_recipient_hashes } = attempt;
      delivery.record = { ...record, reached_recipient_hashes: reached, last_reason: attempt.reason };
      return { ...(await endAboveLimit(delivery).catch(releaseAfter(delivery))), attempt };
    }
    delivery.record = withAttempt(record, attempt, startedAtMs, clock() - startedAtMs);
    // An attempt that an open circuit prevented leaves its cause.
    const isUnattempted = claimed.round === 1 && claimed.attempt_count === 0 && claimed.last_cause === undefined;
    const isFirst = isUnattempted && delivery.record.attempt_count === 1;
    const result = { attempt, firstAttemptAtMs: isFirst ? startedAtMs : undefined };
    if (attempt.result !== 'delivered') return { ...(await delivery.recordFailed(attempt)), ...result };
    // The lock advances before the delivery is recorded: a crash in between must not let an older event follow.
    await lock?.advance();
    return { ...(await delivery.recordDelivered()), ...result };
  };

  const callTransport = ({ job, record, target, summary }: ClaimedDelivery): Promise<AttemptOutcome> => {
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

  /** Releases the claim after an internal error: nothing was sent. If this write fails too, the lease expires. */
  const releaseAfter =
    (delivery: ClaimedDelivery) =>
    async (error: unknown): Promise<never> => {
      await delivery.release().catch(() => undefined);
      throw error;
    };

  const reschedule = async (job: DeliveryJob, waitMs: number): Promise<DeliveryResult> => {
    await sendCopy(dependencies, job, waitMs);
    return { kind: 'not_due' };
  };

  /** Returning it would exhaust maxReceiveCount. To the same queue: that of retries has a longer batching window. */
  const waitForLock = async (job: DeliveryJob): Promise<DeliveryResult> => {
    const waits = lockWaitCount(job.message);
    const url = queueUrlOf(job.message, dependencies);
    await sendCopy(dependencies, job, lockRetryDelayMs(waits), { url, lockWaits: waits + 1 });
    return { kind: 'busy' };
  };

  /** After an attempt that reached recipients who could not be recorded: the copy, due after the lease, lists them. */
  const replaceAfterError = async (
    { job, claimed, record }: ClaimedDelivery,
    error: unknown,
  ): Promise<DeliveryResult> => {
    const waitMs = Math.max(0, claimed.lease_until_ms - clock()) + 1_000;
    await sendCopy(dependencies, job, waitMs, { record }).catch(() => {
      throw error;
    });
    return { kind: logError(job.message, idsOf(job), error) };
  };

  /** Returns the message to its queue. A heartbeat is given up: its receiver reports missing ones. */
  const endAfterError = async (job: DeliveryJob, error: unknown): Promise<DeliveryResult> => {
    if (!isHeartbeat(job.body.event)) return returnAfterError(job.message, idsOf(job), error);
    logger.error('heartbeat not delivered', { ...idsOf(job), ...errorTrace(error) });
    return { kind: 'heartbeat' };
  };

  return deliverAll;
};

const targetKeyOf = ({ body }: DeliveryJob) => ({ tenant: body.event.tenant_id, id: body.notification_id });

const readTarget = async (job: DeliveryJob, targets: TargetReads): Promise<DeliveryTarget | undefined> => {
  const { event, notice, notification_id: id } = job.body;
  if (notice && id === operatorsNotification.id) return operatorsNotification;
  return (await targets.find(targetKeyOf(job))) ?? unstoredTarget(event.tenant_id);
};

/** Only notices go to the operators' notification. */
const findTarget = (job: DeliveryJob, targets: TargetReads): Promise<DeliveryTarget | undefined> => {
  const target = readTarget(job, targets);
  // Not every delivery is claimed and awaits its target: an unhandled rejection would end the process.
  target.catch(() => undefined);
  return target;
};

/** Groups the jobs that must be delivered one after the other, oldest event first. */
const inOrder = (jobs: readonly DeliveryJob[]): DeliveryJob[][] => {
  const ordered = jobs.filter(({ isOrdered }) => isOrdered);
  const sorted = ordered.toSorted((first, second) => compareEventTimes(first.time, second.time));
  return [
    ...Map.groupBy(sorted, ({ body }) => `${body.notification_id} ${body.event.incident_key}`).values(),
    ...jobs.filter(({ isOrdered }) => !isOrdered).map((job) => [job]),
  ];
};
