import type { Context, SQSBatchResponse, SQSEvent, SQSRecord } from 'aws-lambda';
import { ulid } from 'ulid';
import type { createDocumentClient } from '../../adapters/aws-client.ts';
import { createDeliveryRepository } from '../../adapters/deliveries/delivery-repository.ts';
import { createThrottlingWatch } from '../../adapters/dynamodb/key-throttling.ts';
import { errorTrace, logger } from '../../adapters/logger.ts';
import { count, oldestAgeSeconds, tally } from '../../adapters/metrics.ts';
import { createNotificationRepository } from '../../adapters/notifications/notification-repository.ts';
import type { TargetReads } from '../../adapters/notifications/notification-targets.ts';
import { createQueues, dueTime } from '../../adapters/queues.ts';
import { type TestResult, testRequest } from '../../contracts/messages.ts';
import { type NotificationTypeId, notificationTypes } from '../../contracts/notification-types.ts';
import { deliveryId } from '../../domain/delivery-key.ts';
import { DELIVERY_LATENCY, deliveryCounts } from '../../domain/delivery-metrics.ts';
import { incidentKey } from '../../domain/incident.ts';
import { internalErrorDelayMs } from '../../domain/retry-schedule.ts';
import { testEvent } from '../../domain/test-event.ts';
import type { Transport } from '../../domain/transport.ts';
import { attemptDelivery } from './delivery-attempt.ts';
import {
  type DeliveryJob,
  queueOf,
  readDelivery,
  reschedule,
  type SenderDependencies,
  type SettledMessage,
  unprocessedSince,
} from './delivery-job.ts';
import { deliverInOrder, type IncidentLine, type SettledJob } from './incident-lock.ts';
import { settle } from './settlement.ts';

/** The part of a sender's environment that all types share, parsed. */
export type SenderEnvironment = {
  NOTIFICATIONS_TABLE: string;
  DELIVERIES_TABLE: string;
  SENDER_QUEUES: Record<NotificationTypeId, string>;
  DEAD_LETTER_QUEUE: string;
  RETRY_QUEUE: string;
  RETRY_DELAY_SCALE: number;
  DEAD_LETTER_EMAIL: boolean;
};

type Invocation = SQSEvent | { kind: 'test' };

/**
 * Makes the Lambda handler of a type's sender. It is invoked with a batch of its queue or of its retries, whose messages it
 * processes concurrently and answers for one by one, or with a test request of the API, which it answers with a test
 * result.
 */
export const createSender = (
  type: NotificationTypeId,
  client: ReturnType<typeof createDocumentClient>,
  environment: SenderEnvironment,
  transport: Transport,
) => {
  const notifications = createNotificationRepository(client, environment.NOTIFICATIONS_TABLE);
  const { hasIncidents } = notificationTypes[type];
  const dependencies: SenderDependencies = {
    type,
    transport,
    deliveries: createDeliveryRepository(client, environment.DELIVERIES_TABLE),
    queues: createQueues(),
    queueUrls: environment.SENDER_QUEUES,
    retryQueueUrl: environment.RETRY_QUEUE,
    deadLetterQueueUrl: environment.DEAD_LETTER_QUEUE,
    retryDelayScale: environment.RETRY_DELAY_SCALE,
    sendsDeadLetterEmail: environment.DEAD_LETTER_EMAIL,
    clock: Date.now,
    isTenantThrottled: createThrottlingWatch(Date.now),
  };

  const runTest = async (input: unknown, timeLeft: () => number): Promise<TestResult> => {
    const { tenant, type: tested, details } = testRequest.parse(input);
    if (tested !== type) throw new Error(`The sender of ${type} was asked to test ${tested}.`);
    const now = Date.now();
    const alert = {
      event: testEvent(tenant, now),
      eventTimeMs: now,
      deliveryId: ulid(),
      reachedRecipientHashes: [],
      timeLeft,
    };
    const outcome = await transport(alert, details).catch((error: unknown) => {
      logger.error('internal error', { type, ...errorTrace(error) });
      // Lambda logs what is thrown: this says nothing that the line above does not.
      throw new Error('The test did not run.');
    });
    count({ [`test_${outcome.result}`]: 1 }, { type });
    return { status: outcome.result === 'delivered' ? 'success' : 'failure', message: outcome.explanation };
  };

  /** A failure of ours: the message returns to its queue, the later the more often it was received; no attempt is used. */
  const returnAfterFailure = async (message: SQSRecord, error: unknown): Promise<SettledMessage> => {
    const receives = Number(message.attributes.ApproximateReceiveCount);
    const { MessageGroupId: tenant_id } = message.attributes;
    const outcome = dependencies.isTenantThrottled(error, tenant_id ?? '') ? 'throttled_keys' : 'internal_error';
    const line = { type, outcome, message_id: message.messageId, tenant_id, receives, ...errorTrace(error) };
    if (outcome === 'internal_error') logger.error('internal error', line);
    else logger.warn('partition key throttled', line);
    await dependencies.queues
      .changeVisibility(
        queueOf(message, dependencies),
        message,
        Math.ceil(internalErrorDelayMs(receives, environment.RETRY_DELAY_SCALE) / 1_000),
      )
      .catch((cause: unknown) => logger.error('visibility change failed', { type, ...errorTrace(cause) }));
    return { outcome, isReturned: true };
  };

  const deadLetterMalformed = async (message: SQSRecord): Promise<SettledMessage> => {
    const { body, attributes } = message;
    const reason = { reason: 'malformed', cause: 'service', attempts: 0 } as const;
    const letter = { body, messageGroupId: attributes.MessageGroupId };
    await dependencies.queues.sendToDeadLetterQueue(environment.DEAD_LETTER_QUEUE, letter, reason);
    logger.error('malformed delivery', { type, message_id: message.messageId });
    return { outcome: 'dead_lettered', cause: 'service' };
  };

  const orFailure = (message: SQSRecord, settled: Promise<SettledMessage>): Promise<SettledMessage> =>
    settled.catch((error: unknown) => returnAfterFailure(message, error));

  const contain = async (job: DeliveryJob, settled: Promise<SettledMessage>): Promise<SettledJob> => ({
    job,
    settled: await orFailure(job.message, settled),
  });

  const deliverOne = async (job: DeliveryJob, targets: TargetReads): Promise<SettledMessage> => {
    const result = await attemptDelivery(job, await targets.find(placeOf(job)));
    return 'outcome' in result ? result : settle(job, result);
  };

  /** Messages that must be worked on one after the other; each line is worked on beside the others. */
  const linesOf = (jobs: DeliveryJob[]): IncidentLine[] => {
    const sorted = jobs.toSorted((one, other) => one.body.event_time_ms - other.body.event_time_ms);
    const lines = Map.groupBy(sorted, ({ body }) => `${body.notification_id} ${incidentKey(body.event)}`);
    return [...lines.values()].flatMap(([first, ...rest]): IncidentLine[] => (first ? [[first, ...rest]] : []));
  };

  const deliverAll = async (jobs: DeliveryJob[], targets: TargetReads): Promise<SettledJob[]> => {
    const lines = hasIncidents
      ? linesOf(jobs).map((line) => deliverInOrder(line, targets.find(placeOf(line[0])), contain))
      : jobs.map(async (job) => [await contain(job, deliverOne(job, targets))]);
    return (await Promise.all(lines)).flat();
  };

  const report = (settled: readonly { message: SQSRecord; settled: SettledMessage }[]): void => {
    const outcomes = tally(settled.map(({ settled: { outcome } }) => outcome));
    const unprocessed = settled.filter(({ settled: { outcome } }) => outcome === 'internal_error');
    const unrecorded = settled.filter(
      ({ settled: { outcome, isTenantThrottled } }) => outcome === 'unrecorded' && !isTenantThrottled,
    );
    const returned = unprocessed.length + (outcomes.throttled_keys ?? 0);
    count(
      { ...outcomes, ...tally(settled.flatMap(({ settled: one }) => deliveryCounts(one))) },
      { type },
      { [DELIVERY_LATENCY]: settled.flatMap(({ settled: { latencyMs } }) => latencyMs ?? []) },
      {
        handled: settled.length - returned,
        internalErrors: unprocessed.length + unrecorded.length,
        oldestUnprocessedSeconds: oldestAgeSeconds(
          unprocessed.map(({ message }) => unprocessedSince(message, dependencies)),
          dependencies.clock(),
        ),
      },
    );
  };

  const runBatch = async ({ Records }: SQSEvent, timeLeft: () => number): Promise<SQSBatchResponse> => {
    const messages = Records.map((message) => ({ message, body: readDelivery(message.body) }));
    const jobs = messages.flatMap(({ message, body }): DeliveryJob[] =>
      body ? [{ dependencies, message, body, deliveryId: deliveryId(body.event, body.notification_id), timeLeft }] : [],
    );
    const now = dependencies.clock();
    /** A retry that waits for hours passes every 15 min: that costs no read and no write. */
    const isDue = ({ message }: DeliveryJob): boolean => dueTime(message) <= now;
    const due = jobs.filter(isDue);
    const [delivered, notDue, malformed] = await Promise.all([
      deliverAll(due, notifications.targets(due.map(placeOf))),
      Promise.all(
        jobs.filter((job) => !isDue(job)).map((job) => contain(job, reschedule(job, dueTime(job.message) - now))),
      ),
      Promise.all(
        messages
          .filter(({ body }) => !body)
          .map(async ({ message }) => ({ message, settled: await orFailure(message, deadLetterMalformed(message)) })),
      ),
    ]);
    const settled = [
      ...[...delivered, ...notDue].map(({ job, settled: one }) => ({ message: job.message, settled: one })),
      ...malformed,
    ];
    report(settled);
    const returned = settled.filter(({ settled: one }) => one.isReturned);
    return { batchItemFailures: returned.map(({ message }) => ({ itemIdentifier: message.messageId })) };
  };

  return async (input: Invocation, context: Context): Promise<SQSBatchResponse | TestResult> => {
    logger.appendKeys({ request_id: context.awsRequestId });
    return 'Records' in input ? runBatch(input, timeLeftOf(context)) : runTest(input, timeLeftOf(context));
  };
};

const timeLeftOf = (context: Context) => () => context.getRemainingTimeInMillis();

const placeOf = ({ body }: DeliveryJob) => ({ tenant: body.event.tenant_id, id: body.notification_id });
