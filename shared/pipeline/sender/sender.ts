import type { Context, SQSBatchResponse, SQSEvent, SQSRecord } from 'aws-lambda';
import type { AccountRepository } from '../../adapters/accounts/account-repository.ts';
import type { createDocumentClient } from '../../adapters/aws-client.ts';
import { createDeliveryRepository } from '../../adapters/deliveries/delivery-repository.ts';
import { createDestinationListReader } from '../../adapters/deliveries/destination-list.ts';
import { createFailedMessages } from '../../adapters/deliveries/failed-messages.ts';
import { createIncidentLocks } from '../../adapters/deliveries/incident-locks.ts';
import { createSummarizedAlerts } from '../../adapters/deliveries/summarized-alerts.ts';
import { createThrottlingWatch } from '../../adapters/dynamodb/key-throttling.ts';
import { errorTrace, logger } from '../../adapters/logger.ts';
import { count, emitMetrics, oldestAgeSeconds, tally } from '../../adapters/metrics.ts';
import { createNotificationReader } from '../../adapters/notifications/notification-reader.ts';
import { createTargetReader, type TargetReads } from '../../adapters/notifications/notification-targets.ts';
import { createQueues, dueTimeMs } from '../../adapters/queues.ts';
import { webhookPayload } from '../../contracts/alarm-event.ts';
import { messageBody } from '../../contracts/message-body.ts';
import { type Delivery, type TestResult, testRequest } from '../../contracts/messages.ts';
import { type NotificationTypeId, notificationTypes } from '../../contracts/notification-types.ts';
import { parseDelivery } from '../../domain/delivery-message.ts';
import {
  DELIVERY_LATENCY,
  type DeliveryTotal,
  deliveryCounts,
  deliveryTotal,
  PRODUCER_ERRORS,
  PRODUCER_FAULTS,
} from '../../domain/delivery-metrics.ts';
import { eventHeader } from '../../domain/event-header.ts';
import { compareEventTimes } from '../../domain/event-time.ts';
import { isHeartbeat, unstoredTarget } from '../../domain/heartbeat.ts';
import { type DeliveryTarget, operatorsNotification } from '../../domain/notification.ts';
import { testEvent } from '../../domain/test-event.ts';
import type { Transport } from '../../domain/transport.ts';
import { ulid } from '../../domain/ulid.ts';
import type { ParsedEnvironment, SenderName } from '../../environment.ts';
import { createFailureRecorder } from '../failure-recorder.ts';
import { createDeliveryReports } from '../notices/delivery-reports.ts';
import { createJob, type DeliveryJob, type SettledJob, type SettledMessage } from './delivery-job.ts';
import { createDeliverySteps } from './delivery-steps.ts';
import type { IncidentJobs } from './incident-lock.ts';
import { lateRetrySeconds, unprocessedSinceMs } from './read-message.ts';
import type { SenderDependencies } from './sender-dependencies.ts';

type Invocation = SQSEvent | { kind: 'test' };

/** A message, and its body unless that is invalid. */
type ParsedMessage = { message: SQSRecord; body: Delivery | undefined };

type MessageResult = ParsedMessage & { settled: SettledMessage };

/**
 * Creates the Lambda handler of a type's sender. Its input is either a batch from the type's queue or retry queue,
 * whose messages it processes concurrently, or a test request from the API, for which it returns the test result.
 */
export const createSender = (
  type: NotificationTypeId,
  client: ReturnType<typeof createDocumentClient>,
  accounts: AccountRepository,
  environment: ParsedEnvironment<SenderName>,
  transport: Transport,
  {
    isNearLimit = async () => false,
    isSlowTenant = () => false,
  }: Partial<Pick<SenderDependencies, 'isNearLimit' | 'isSlowTenant'>> = {},
) => {
  const notifications = {
    ...createNotificationReader(client, environment.NOTIFICATIONS_TABLE),
    ...createTargetReader(client, environment.NOTIFICATIONS_TABLE),
  };
  const { hasIncidents } = notificationTypes[type];
  const deliveries = createDeliveryRepository(client, environment.DELIVERIES_TABLE);
  const queues = createQueues();
  // On the queue of the type, a notice that is due later would raise the age of the oldest message.
  const delayedQueueUrls = { ...environment.SENDER_QUEUES, [type]: environment.RETRY_QUEUE };
  const dependencies: SenderDependencies = {
    type,
    transport,
    accounts,
    deliveries,
    incidentLocks: createIncidentLocks(client, environment.DELIVERIES_TABLE),
    failedMessages: createFailedMessages(client, environment.DELIVERIES_TABLE),
    summarizedAlerts: createSummarizedAlerts(client, environment.DELIVERIES_TABLE),
    queues,
    reports: createDeliveryReports(
      {
        client,
        queues,
        notifications,
        deliveries,
        readDestinationList: createDestinationListReader(client, environment.DELIVERIES_TABLE),
        accounts,
        delayedQueueUrls,
        clock: Date.now,
      },
      environment,
    ),
    recordFailures: createFailureRecorder(client, environment.DELIVERIES_TABLE, Date.now),
    queueUrls: environment.SENDER_QUEUES,
    delayedQueueUrls,
    retryQueueUrl: environment.RETRY_QUEUE,
    deadLetterQueueUrl: environment.DEAD_LETTER_QUEUE,
    retryDelayScale: environment.RETRY_DELAY_SCALE,
    clock: Date.now,
    isTenantThrottled: createThrottlingWatch(Date.now),
    isNearLimit,
    isSlowTenant,
  };
  const {
    reschedule,
    settledJob,
    settledOrReturned,
    attempt,
    settle,
    deliverHeartbeat,
    checkEarly,
    moveFirstAttempts,
    deliverInOrder,
    reportFailures,
  } = createDeliverySteps(dependencies);

  const runTest = async (input: unknown, timeLeft: () => number): Promise<TestResult> => {
    const { tenant, type: testedType, details, webhook_request: webhookRequest, state } = testRequest.parse(input);
    if (testedType !== type) throw new Error(`The sender of ${type} received a test of ${testedType}.`);
    const nowMs = Date.now();
    const event = testEvent(tenant, nowMs, state);
    const alert = {
      event: eventHeader(event, nowMs),
      payload: JSON.stringify(webhookPayload(event)),
      eventTimeMs: nowMs,
      deliveryId: ulid(),
      reachedRecipientHashes: [],
      timeLeft,
    };
    const outcome = await transport(alert, details, webhookRequest).catch((error: unknown) => {
      logger.error('internal error', { type, ...errorTrace(error) });
      // Lambda logs the thrown error, so it must not contain the original message.
      throw new Error('The test did not run.');
    });
    emitMetrics({ [`test_${outcome.result}`]: 1 }, { type });
    return outcome.result === 'delivered'
      ? { status: 'success', message: outcome.explanation }
      : { status: 'failure', message: outcome.explanation, response_text: outcome.responseText };
  };

  const deadLetterMalformed = async (message: SQSRecord): Promise<SettledMessage> => {
    const { body, attributes } = message;
    const reason = { reason: 'malformed', cause: 'service', attemptCount: 0 } as const;
    const letter = { body: messageBody(body), messageGroupId: attributes.MessageGroupId };
    await dependencies.queues.sendToDeadLetterQueue(environment.DEAD_LETTER_QUEUE, letter, reason);
    logger.error('malformed delivery', { type, message_id: message.messageId, tenant_id: attributes.MessageGroupId });
    return { outcome: 'dead_lettered', cause: 'service' };
  };

  const deliverIndependently = async (job: DeliveryJob, targets: TargetReads): Promise<SettledMessage> => {
    const result = await attempt(job, findTarget(job, targets));
    return 'outcome' in result ? result : settle(job, result);
  };

  /** Heartbeats have no result: they are acknowledged, and neither counted nor reported. */
  const deliverJob = async (job: DeliveryJob, targets: TargetReads): Promise<SettledJob[]> => {
    if (!isHeartbeat(job.body.event)) return [await settledJob(job, deliverIndependently(job, targets))];
    await deliverHeartbeat(job, () => findTarget(job, targets));
    return [];
  };

  const deliverAll = async (jobs: DeliveryJob[], targets: TargetReads): Promise<SettledJob[]> => {
    const settled = hasIncidents
      ? groupByIncident(jobs).map((group) => deliverInOrder(group, findTarget(group[0], targets)))
      : jobs.map((job) => deliverJob(job, targets));
    return (await Promise.all(settled)).flat();
  };

  const deliverDue = async (jobs: readonly DeliveryJob[]): Promise<SettledJob[]> => {
    const { moved, others } = moveFirstAttempts(jobs);
    const delivered = deliverAll(others, notifications.targets(others.map(targetKeyOf)));
    return (await Promise.all([moved, delivered])).flat();
  };

  /** Delivers early messages whose delivery has become due, and reschedules the others. */
  const processEarly = async (jobs: readonly DeliveryJob[]): Promise<SettledJob[]> => {
    if (jobs.length === 0) return [];
    const { due, notDue } = await checkEarly(jobs);
    const wait = ({ message }: DeliveryJob) => dueTimeMs(message) - dependencies.clock();
    const rescheduled = notDue.map((job) => settledJob(job, reschedule(job, wait(job))));
    return (await Promise.all([deliverDue(due), ...rescheduled])).flat();
  };

  const emitBatchMetrics = (results: readonly MessageResult[], delivered: readonly SettledJob[]): void => {
    const { delivered: _, ...outcomes } = tally(results.map(({ settled }) => settled.outcome));
    const unprocessed = results.filter(
      ({ settled }) => settled.outcome === 'internal_error' || settled.isLockNotAdvanced,
    );
    const unrecorded = results.filter(
      ({ settled }) => settled.outcome === 'unrecorded' && !settled.isTenantThrottled && !settled.isLockNotAdvanced,
    );
    emitMetrics(
      {
        ...outcomes,
        ...tally(results.flatMap(({ settled }) => deliveryCounts(settled))),
        ...tally(results.flatMap(totalOf)),
        [PRODUCER_ERRORS]: outcomes.conflict ?? 0,
        internal_errors: unprocessed.length + unrecorded.length,
        oldest_unprocessed_seconds: Math.max(
          oldestAgeSeconds(
            unprocessed.map(({ message }) => unprocessedSinceMs(message, dependencies)),
            dependencies.clock(),
          ),
          lateRetrySeconds(
            results.map(({ message }) => message),
            dependencies,
          ),
        ),
      },
      { type },
      { [DELIVERY_LATENCY]: delivered.flatMap(latencyMs) },
    );
    count({ [PRODUCER_FAULTS]: outcomes.conflict ?? 0 });
  };

  /** Delivers, reschedules or dead-letters messages. */
  const processMessages = async (messages: readonly SQSRecord[], timeLeft: () => number) => {
    const parsed = messages.map(parseMessage);
    const jobs = parsed.flatMap(({ message, body }): DeliveryJob[] =>
      body ? [createJob(dependencies, { message, body, timeLeft })] : [],
    );
    const malformed = parsed.flatMap(({ message, body }) => (body ? [] : [message]));
    const nowMs = dependencies.clock();
    // SQS delays a message by at most 15 min: one that is due later is rescheduled, after a read instead of a claim.
    const due = jobs.filter(({ message }) => dueTimeMs(message) <= nowMs);
    const early = jobs.filter(({ message }) => dueTimeMs(message) > nowMs);
    const [delivered, deliveredEarly, deadLettered] = await Promise.all([
      deliverDue(due),
      processEarly(early),
      Promise.all(
        malformed.map(async (message) => ({
          message,
          body: undefined,
          settled: await settledOrReturned(message, deadLetterMalformed(message)),
        })),
      ),
    ]);
    const settled = [...delivered, ...deliveredEarly].map(({ job, settled: result }) => ({
      message: job.message,
      body: job.body,
      settled: result,
    }));
    return { delivered: [...delivered, ...deliveredEarly], results: [...settled, ...deadLettered] };
  };

  const runBatch = async ({ Records: messages }: SQSEvent, timeLeft: () => number): Promise<SQSBatchResponse> => {
    const { delivered, results } = await processMessages(messages, timeLeft);
    emitBatchMetrics(results, delivered);
    await reportFailures(delivered);
    const returned = results.filter(({ settled }) => settled.isReturned);
    return { batchItemFailures: returned.map(({ message }) => ({ itemIdentifier: message.messageId })) };
  };

  return async (input: Invocation, context: Context): Promise<SQSBatchResponse | TestResult> => {
    logger.appendKeys({ request_id: context.awsRequestId });
    const timeLeft = () => context.getRemainingTimeInMillis();
    return 'Records' in input ? runBatch(input, timeLeft) : runTest(input, timeLeft);
  };
};

const parseMessage = (message: SQSRecord): ParsedMessage => ({ message, body: parseDelivery(message.body) });

/** Returns the total that a message increments, none for notices. */
const totalOf = ({ body, settled }: MessageResult): DeliveryTotal[] => {
  if (body?.notice) return [];
  const total = deliveryTotal(settled);
  return total ? [total] : [];
};

/** Returns the latency of a delivered alert in ms, none for other messages and for notices. */
const latencyMs = ({ job: { body }, settled, settledAtMs }: SettledJob): number[] => {
  const isDelivered = deliveryTotal(settled) === 'deliveries_delivered';
  return isDelivered && !body.notice ? [Math.max(0, settledAtMs - body.accepted_at_ms)] : [];
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
const groupByIncident = (jobs: readonly DeliveryJob[]): IncidentJobs[] => {
  const sorted = jobs.toSorted((first, second) => compareEventTimes(first.time, second.time));
  const groups = Map.groupBy(sorted, ({ body }) => `${body.notification_id} ${body.event.incident_key}`);
  return [...groups.values()].flatMap(([first, ...rest]): IncidentJobs[] => (first ? [[first, ...rest]] : []));
};
