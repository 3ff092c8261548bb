import type { Context, SQSBatchResponse, SQSEvent, SQSRecord } from 'aws-lambda';
import { ulid } from 'ulid';
import { createDeliveryRepository } from '../../adapters/deliveries/delivery-repository.ts';
import type { createDocumentClient } from '../../adapters/document-client.ts';
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
import { internalErrorDelaySeconds } from '../../domain/retry-schedule.ts';
import { testEvent } from '../../domain/test-event.ts';
import type { Deliver } from '../../domain/transport.ts';
import { attemptDelivery } from './delivery-attempt.ts';
import {
  queueOf,
  readDelivery,
  reschedule,
  type SenderTools,
  type Settled,
  unprocessedSince,
  type Work,
} from './delivery-job.ts';
import { deliverInOrder, type IncidentLine, type SettledWork } from './incident-lock.ts';
import { settle } from './settlement.ts';

/** The part of a sender's environment that all types share, parsed. */
export type SenderEnvironment = {
  NOTIFICATIONS_TABLE: string;
  DELIVERIES_TABLE: string;
  SENDER_QUEUES: Record<NotificationTypeId, string>;
  DEAD_LETTER_QUEUE: string;
  RETRY_QUEUE: string;
  RETRY_SCALE: number;
  DEAD_LETTER_MAIL: boolean;
};

type Invocation = SQSEvent | { kind: 'test' };

/**
 * Makes the Lambda handler of a type's sender. It is invoked with a batch of its queue or of its retries, whose messages it
 * works on at the same time and answers for one by one, or with a test request of the API, which it answers with a test
 * result.
 */
export const createSender = (
  type: NotificationTypeId,
  client: ReturnType<typeof createDocumentClient>,
  environment: SenderEnvironment,
  deliver: Deliver,
) => {
  const notifications = createNotificationRepository(client, environment.NOTIFICATIONS_TABLE);
  const { hasIncidents } = notificationTypes[type];
  const tools: SenderTools = {
    type,
    deliver,
    deliveries: createDeliveryRepository(client, environment.DELIVERIES_TABLE),
    queues: createQueues(),
    queueUrls: environment.SENDER_QUEUES,
    retryUrl: environment.RETRY_QUEUE,
    deadLetterUrl: environment.DEAD_LETTER_QUEUE,
    retryScale: environment.RETRY_SCALE,
    deadLetterMail: environment.DEAD_LETTER_MAIL,
    clock: Date.now,
    isTenantThrottled: createThrottlingWatch(Date.now),
  };

  const runTest = async (input: unknown, timeLeft: () => number): Promise<TestResult> => {
    const { tenant, type: tested, details } = testRequest.parse(input);
    if (tested !== type) throw new Error(`The sender of ${type} was asked to test ${tested}.`);
    const now = Date.now();
    const alert = { event: testEvent(tenant, now), eventTimeMs: now, deliveryId: ulid(), partsDone: [], timeLeft };
    const outcome = await deliver(alert, details).catch((error: unknown) => {
      logger.error('internal error', { type, ...errorTrace(error) });
      // Lambda logs what is thrown: this says nothing that the line above does not.
      throw new Error('The test did not run.');
    });
    count({ [`test_${outcome.result}`]: 1 }, { type });
    return { status: outcome.result === 'delivered' ? 'success' : 'failure', message: outcome.explanation };
  };

  /** A failure of ours: the message returns to its queue, the later the more often it was received; no attempt is used. */
  const returnAfterFailure = async (record: SQSRecord, error: unknown): Promise<Settled> => {
    const receives = Number(record.attributes.ApproximateReceiveCount);
    const { MessageGroupId: tenant_id } = record.attributes;
    const verdict = tools.isTenantThrottled(error, tenant_id ?? '') ? 'throttled_keys' : 'internal_error';
    const line = { type, verdict, message_id: record.messageId, tenant_id, receives, ...errorTrace(error) };
    if (verdict === 'internal_error') logger.error('internal error', line);
    else logger.warn('partition key throttled', line);
    await tools.queues
      .changeVisibility(queueOf(record, tools), record, internalErrorDelaySeconds(receives, environment.RETRY_SCALE))
      .catch((cause: unknown) => logger.error('visibility change failed', { type, ...errorTrace(cause) }));
    return { verdict, again: true };
  };

  const deadLetterMalformed = async (record: SQSRecord): Promise<Settled> => {
    const { body, attributes } = record;
    const reason = { reason: 'malformed', cause: 'service', attempts: 0 } as const;
    const letter = { body, group: attributes.MessageGroupId };
    await tools.queues.sendToDeadLetterQueue(environment.DEAD_LETTER_QUEUE, letter, reason);
    logger.error('malformed delivery', { type, message_id: record.messageId });
    return { verdict: 'dead', cause: 'service' };
  };

  const orFailure = (record: SQSRecord, settled: Promise<Settled>): Promise<Settled> =>
    settled.catch((error: unknown) => returnAfterFailure(record, error));

  const contain = async (work: Work, settled: Promise<Settled>): Promise<SettledWork> => ({
    work,
    settled: await orFailure(work.record, settled),
  });

  const deliverOne = async (work: Work, targets: TargetReads): Promise<Settled> => {
    const result = await attemptDelivery(work, await targets.find(placeOf(work)));
    return 'verdict' in result ? result : settle(work, result);
  };

  /** Messages that must be worked on one after the other; each line is worked on beside the others. */
  const linesOf = (works: Work[]): IncidentLine[] => {
    const sorted = works.toSorted((one, other) => one.body.event_time_ms - other.body.event_time_ms);
    const lines = Map.groupBy(sorted, ({ body }) => `${body.notification_id} ${incidentKey(body.event)}`);
    return [...lines.values()].flatMap(([first, ...rest]): IncidentLine[] => (first ? [[first, ...rest]] : []));
  };

  const deliverAll = async (works: Work[], targets: TargetReads): Promise<SettledWork[]> => {
    const lines = hasIncidents
      ? linesOf(works).map((line) => deliverInOrder(line, targets.find(placeOf(line[0])), contain))
      : works.map(async (work) => [await contain(work, deliverOne(work, targets))]);
    return (await Promise.all(lines)).flat();
  };

  const report = (settled: readonly { record: SQSRecord; settled: Settled }[]): void => {
    const verdicts = tally(settled.map(({ settled: { verdict } }) => verdict));
    const unprocessed = settled.filter(({ settled: { verdict } }) => verdict === 'internal_error');
    const unrecorded = settled.filter(
      ({ settled: { verdict, isTenantThrottled } }) => verdict === 'unrecorded' && !isTenantThrottled,
    );
    const returned = unprocessed.length + (verdicts.throttled_keys ?? 0);
    count(
      { ...verdicts, ...tally(settled.flatMap(({ settled: one }) => deliveryCounts(one))) },
      { type },
      { [DELIVERY_LATENCY]: settled.flatMap(({ settled: { latency } }) => latency ?? []) },
      {
        handled: settled.length - returned,
        internalErrors: unprocessed.length + unrecorded.length,
        oldestUnprocessedSeconds: oldestAgeSeconds(
          unprocessed.map(({ record }) => unprocessedSince(record, tools)),
          tools.clock(),
        ),
      },
    );
  };

  const runBatch = async ({ Records }: SQSEvent, timeLeft: () => number): Promise<SQSBatchResponse> => {
    const messages = Records.map((record) => ({ record, body: readDelivery(record.body) }));
    const works = messages.flatMap(({ record, body }): Work[] =>
      body ? [{ tools, record, body, id: deliveryId(body.event, body.notification_id), timeLeft }] : [],
    );
    const now = tools.clock();
    /** A retry that waits for hours passes every 15 min: that costs no read and no write. */
    const isDue = ({ record }: Work): boolean => dueTime(record) <= now;
    const due = works.filter(isDue);
    const [delivered, early, malformed] = await Promise.all([
      deliverAll(due, notifications.targets(due.map(placeOf))),
      Promise.all(
        works.filter((work) => !isDue(work)).map((work) => contain(work, reschedule(work, dueTime(work.record) - now))),
      ),
      Promise.all(
        messages
          .filter(({ body }) => !body)
          .map(async ({ record }) => ({ record, settled: await orFailure(record, deadLetterMalformed(record)) })),
      ),
    ]);
    const settled = [
      ...[...delivered, ...early].map(({ work, settled: one }) => ({ record: work.record, settled: one })),
      ...malformed,
    ];
    report(settled);
    const again = settled.filter(({ settled: one }) => one.again);
    return { batchItemFailures: again.map(({ record }) => ({ itemIdentifier: record.messageId })) };
  };

  return async (input: Invocation, context: Context): Promise<SQSBatchResponse | TestResult> => {
    logger.appendKeys({ request_id: context.awsRequestId });
    return 'Records' in input ? runBatch(input, timeLeftOf(context)) : runTest(input, timeLeftOf(context));
  };
};

const timeLeftOf = (context: Context) => () => context.getRemainingTimeInMillis();

const placeOf = ({ body }: Work) => ({ tenant: body.event.tenant_id, id: body.notification_id });
