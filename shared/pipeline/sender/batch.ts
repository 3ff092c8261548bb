import type { SQSBatchResponse, SQSEvent, SQSRecord } from 'aws-lambda';
import { logger } from '../../adapters/logger.ts';
import { count, emitMetrics, oldestAgeSeconds, tally } from '../../adapters/metrics.ts';
import type { NotificationRepository } from '../../adapters/notifications/notification-repository.ts';
import type { TargetReads } from '../../adapters/notifications/notification-targets.ts';
import { dueTimeMs, lockWaitCount } from '../../adapters/queues.ts';
import { messageBody } from '../../contracts/text.ts';
import { parseDelivery } from '../../domain/delivery-message.ts';
import {
  DELIVERY_LATENCY,
  DESTINATION_FAILURES,
  type DeliveryTotal,
  deliveryCounts,
  deliveryTotal,
  destinationFailure,
  FIRST_ATTEMPT_LATENCY,
  PRODUCER_ERRORS,
  PRODUCER_FAULTS,
} from '../../domain/delivery-metrics.ts';
import type { DeliveryResult } from '../../domain/delivery-result.ts';
import { compareEventTimes } from '../../domain/event-time.ts';
import { unstoredTarget } from '../../domain/heartbeat.ts';
import { type DeliveryTarget, operatorsNotification } from '../../domain/notification.ts';
import { createDeliver } from './deliver.ts';
import { createJob, type DeliveryJob, idsOf } from './delivery-job.ts';
import { createEarlyMessageCheck } from './early-messages.ts';
import { createFirstAttemptMove } from './move-first-attempts.ts';
import { isRetry, lateRetrySeconds, type QueueUrls, unprocessedSinceMs } from './received-message.ts';
import { createRequeue } from './requeue.ts';
import type { SenderDependencies } from './sender-dependencies.ts';

/** A job, its result, and when it had it, ms since the epoch: the rest of the batch may take longer. */
type ProcessedJob = { job: DeliveryJob; result: DeliveryResult; endedAtMs: number };

/** A message and its result. It has no job if it is malformed. */
type ProcessedMessage = { message: SQSRecord; result: DeliveryResult; job?: DeliveryJob };

/** Creates the processing of a batch of messages: each is delivered, rescheduled or dead-lettered, concurrently. */
export const createBatchProcessing = (
  dependencies: SenderDependencies,
  notifications: Pick<NotificationRepository, 'targets'>,
) => {
  const { type, queues, deadLetterQueueUrl, clock } = dependencies;
  const deliver = createDeliver(dependencies);
  const { reschedule, returnAfterError } = createRequeue(dependencies);
  const checkEarly = createEarlyMessageCheck(dependencies);
  const moveFirstAttempts = createFirstAttemptMove(dependencies);

  const deadLetterMalformed = async (message: SQSRecord): Promise<DeliveryResult> => {
    const { body, attributes } = message;
    const reason = { reason: 'malformed', cause: 'service', attemptCount: 0 } as const;
    const letter = { body: messageBody(body), messageGroupId: attributes.MessageGroupId };
    await queues.sendToDeadLetterQueue(deadLetterQueueUrl, letter, reason);
    logger.error('malformed delivery', { type, message_id: message.messageId, tenant_id: attributes.MessageGroupId });
    return { kind: 'dead_lettered', cause: 'service' };
  };

  const processMalformed = async (message: SQSRecord): Promise<ProcessedMessage> => {
    const result = await deadLetterMalformed(message).catch((error: unknown) => returnAfterError(message, {}, error));
    return { message, result };
  };

  const processedJob = async (job: DeliveryJob, result: Promise<DeliveryResult>): Promise<ProcessedJob> => ({
    job,
    result: await result.catch((error: unknown) => returnAfterError(job.message, idsOf(job), error)),
    endedAtMs: clock(),
  });

  /** Delivers jobs one after the other. */
  const deliverInTurn = async (jobs: readonly DeliveryJob[], targets: TargetReads): Promise<ProcessedJob[]> => {
    const processed: ProcessedJob[] = [];
    for (const job of jobs) processed.push(await processedJob(job, deliver(job, findTarget(job, targets))));
    return processed;
  };

  const resultOfMove = async (job: DeliveryJob, unsent: Promise<ReadonlySet<DeliveryJob>>): Promise<DeliveryResult> => {
    if ((await unsent).has(job)) throw new Error('The message could not be moved.');
    return { kind: 'moved' };
  };

  const deliverDue = async (jobs: readonly DeliveryJob[]): Promise<ProcessedJob[]> => {
    const { moved, unsent, others } = moveFirstAttempts(jobs);
    const targets = notifications.targets(others.map(targetKeyOf));
    const groups = inOrder(others);
    const processed = await Promise.all([
      ...moved.map(async (job) => [await processedJob(job, resultOfMove(job, unsent))]),
      ...groups.map((group) => deliverInTurn(group, targets)),
    ]);
    return processed.flat();
  };

  /** Delivers early messages whose delivery has become due, and reschedules the others. */
  const processEarly = async (jobs: readonly DeliveryJob[]): Promise<ProcessedJob[]> => {
    if (jobs.length === 0) return [];
    const { due, notDue } = await checkEarly(jobs);
    const wait = ({ message }: DeliveryJob) => dueTimeMs(message) - clock();
    const rescheduled = notDue.map((job) => processedJob(job, reschedule(job, wait(job))));
    return (await Promise.all([deliverDue(due), ...rescheduled])).flat();
  };

  const emitBatchMetrics = (processed: readonly ProcessedMessage[], jobs: readonly ProcessedJob[]): void => {
    const { delivered: _, ...outcomes } = tally(processed.map(({ result }) => result.kind));
    const unprocessed = processed.filter(({ result }) => result.kind === 'internal_error' || result.isLockNotAdvanced);
    const unrecorded = processed.filter(
      ({ result }) => result.kind === 'unrecorded' && !result.isTenantThrottled && !result.isLockNotAdvanced,
    );
    emitMetrics(
      {
        ...outcomes,
        ...tally(processed.flatMap(({ result }) => deliveryCounts(result))),
        ...tally(processed.flatMap(totalOf)),
        [PRODUCER_ERRORS]: outcomes.conflict ?? 0,
        failures_unseen: processed.filter(isRecordedFailure).length,
        internal_errors: unprocessed.length + unrecorded.length,
        oldest_unprocessed_seconds: Math.max(
          oldestAgeSeconds(
            unprocessed.map(({ message }) => unprocessedSinceMs(message, dependencies)),
            clock(),
          ),
          lateRetrySeconds(
            processed.map(({ message }) => message),
            dependencies,
          ),
        ),
      },
      { type },
      {
        [DESTINATION_FAILURES]: processed.flatMap(({ result }) => destinationFailure(result, type)),
        [DELIVERY_LATENCY]: jobs.flatMap(latencyMs),
        [FIRST_ATTEMPT_LATENCY]: jobs.flatMap((job) => firstAttemptLatencyMs(job, dependencies)),
      },
    );
    count({ [PRODUCER_FAULTS]: outcomes.conflict ?? 0 });
  };

  /** Delivers, reschedules or dead-letters messages, and emits the metrics of the batch. */
  return async ({ Records: messages }: SQSEvent, timeLeft: () => number): Promise<SQSBatchResponse> => {
    const parsed = messages.map((message) => ({ message, body: parseDelivery(message.body) }));
    const jobs = parsed.flatMap(({ message, body }) => (body ? [createJob(type, { message, body, timeLeft })] : []));
    const malformed = parsed.flatMap(({ message, body }) => (body ? [] : [message]));
    const nowMs = clock();
    // SQS delays a message by at most 15 min: one that is due later is rescheduled, after a read instead of a claim.
    const [due, early] = [
      jobs.filter(({ message }) => dueTimeMs(message) <= nowMs),
      jobs.filter(({ message }) => dueTimeMs(message) > nowMs),
    ];
    const [delivered, deliveredEarly, deadLettered] = await Promise.all([
      deliverDue(due),
      processEarly(early),
      Promise.all(malformed.map(processMalformed)),
    ]);
    const counted = [...delivered, ...deliveredEarly].filter(({ result }) => result.kind !== 'heartbeat');
    const processed: ProcessedMessage[] = [
      ...counted.map(({ job, result }) => ({ message: job.message, job, result })),
      ...deadLettered,
    ];
    emitBatchMetrics(processed, counted);
    const returned = processed.filter(({ result }) => result.isReturned);
    return { batchItemFailures: returned.map(({ message }) => ({ itemIdentifier: message.messageId })) };
  };
};

/** Returns whether a message leaves a failure in a record, which the watcher of the stream counts, too. */
const isRecordedFailure = ({ job, result: { kind } }: ProcessedMessage): boolean =>
  job !== undefined &&
  (job.body.notice === undefined || job.body.notice.kind === 'summary') &&
  (kind === 'retried' || kind === 'dead_lettered');

/** Returns the total that a message increments, none for notices. */
const totalOf = ({ job, result }: ProcessedMessage): DeliveryTotal[] => {
  if (job?.body.notice) return [];
  const total = deliveryTotal(result);
  return total ? [total] : [];
};

/** Returns the latency of a delivered alert in ms, none for other messages and for notices. */
const latencyMs = ({ job: { body }, result, endedAtMs }: ProcessedJob): number[] => {
  const isDelivered = deliveryTotal(result) === 'deliveries_delivered';
  return isDelivered && !body.notice ? [Math.max(0, endedAtMs - body.accepted_at_ms)] : [];
};

/**
 * Returns the ms from the acceptance of an alert to the start of its first attempt. None for later attempts and rounds
 * and for notices, and none if a circuit, a daily limit, the move of a slow tenant or an incident lock postponed it.
 */
const firstAttemptLatencyMs = ({ job, result: { firstAttemptAtMs } }: ProcessedJob, urls: QueueUrls): number[] => {
  const { body, message } = job;
  const isPostponed = isRetry(message, urls) || lockWaitCount(message) > 0;
  if (firstAttemptAtMs === undefined || body.notice || isPostponed) return [];
  return [Math.max(0, firstAttemptAtMs - body.accepted_at_ms)];
};

const targetKeyOf = ({ body }: DeliveryJob) => ({ tenant: body.event.tenant_id, id: body.notification_id });

const readTarget = async (job: DeliveryJob, targets: TargetReads): Promise<DeliveryTarget | undefined> => {
  const { event, notice, notification_id: id } = job.body;
  if (notice && id === operatorsNotification.id) return operatorsNotification;
  return (await targets.find(targetKeyOf(job))) ?? unstoredTarget(event.tenant_id);
};

/** Returns the target of a job, or undefined if it does not exist. Only notices go to the operators' notification. */
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
