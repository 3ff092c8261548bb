import type { Context, SQSBatchResponse, SQSEvent, SQSRecord } from 'aws-lambda';
import { ulid } from 'ulid';
import { type NotificationTypeId, notificationTypes } from '../../contracts/notification-types.ts';
import { type TestResult, testRequest } from '../../contracts/sender.ts';
import type { Deliver } from '../../domain/deliver.ts';
import { deliveryId } from '../../domain/delivery-key.ts';
import { DELIVERY_LATENCY, deliveryCounts } from '../../domain/delivery-metrics.ts';
import { byTime, incidentKey } from '../../domain/incident.ts';
import { ownFailureWait } from '../../domain/retry-schedule.ts';
import { testEvent } from '../../domain/test-event.ts';
import { createDeliveryRepository } from '../delivery-repository.ts';
import type { createDocumentClient } from '../document-client.ts';
import { errorTrace, logger } from '../logger.ts';
import { count, tally } from '../metrics.ts';
import { createNotificationRepository } from '../notification-repository.ts';
import type { TargetReads } from '../notification-targets.ts';
import { createQueues, dueTime } from '../queues.ts';
import { attemptDelivery } from './delivery-attempt.ts';
import { attemptInTurn } from './incident-turn.ts';
import { postpone, queueOf, readDelivery, type SenderTools, type Settled, type Work } from './message.ts';

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
type SettledMessage = Settled & { record: SQSRecord };

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
  };

  const runTest = async (input: unknown, timeLeft: () => number): Promise<TestResult> => {
    const { tenant, type: tested, details } = testRequest.parse(input);
    if (tested !== type) throw new Error(`The sender of ${type} was asked to test ${tested}.`);
    const alert = { event: testEvent(tenant, Date.now()), deliveryId: ulid(), partsDone: [], timeLeft };
    const outcome = await deliver(alert, details).catch((error: unknown) => {
      logger.error('own failure', { type, ...errorTrace(error) });
      // Lambda logs what is thrown: this says nothing that the line above does not.
      throw new Error('The test did not run.');
    });
    count({ [`test_${outcome.result}`]: 1 }, { type });
    return { status: outcome.result === 'delivered' ? 'success' : 'failure', message: outcome.explanation };
  };

  /** A failure of our own: the message comes again, the sooner the fewer times it has come; no attempt is used. */
  const ownFailure = async (record: SQSRecord, error: unknown): Promise<SettledMessage> => {
    const receives = Number(record.attributes.ApproximateReceiveCount);
    const { MessageGroupId: tenant_id } = record.attributes;
    logger.error('own failure', { type, message_id: record.messageId, tenant_id, receives, ...errorTrace(error) });
    await tools.queues
      .putBack(queueOf(record, tools), record, ownFailureWait(receives, environment.RETRY_SCALE))
      .catch((cause: unknown) => logger.error('message waits out its visibility', { type, ...errorTrace(cause) }));
    return { verdict: 'failed', again: true, record };
  };

  const buryMalformed = async (record: SQSRecord): Promise<Settled> => {
    const { body, attributes } = record;
    const reason = { reason: 'malformed', cause: 'service', attempts: 0 } as const;
    await tools.queues.deadLetter(environment.DEAD_LETTER_QUEUE, { body, group: attributes.MessageGroupId }, reason);
    logger.error('malformed delivery', { type, message_id: record.messageId });
    return { verdict: 'dead', cause: 'service' };
  };

  const orFailure = (record: SQSRecord, settled: Promise<Settled>): Promise<SettledMessage> =>
    settled.then(
      (done) => ({ ...done, record }),
      (error: unknown) => ownFailure(record, error),
    );

  /** A retry that waits for hours comes by every 15 min: that costs no read and no write. */
  const isDue = ({ record }: Work): boolean => dueTime(record) <= tools.clock();

  const workOn = async (work: Work, targets: TargetReads): Promise<Settled> => {
    if (!isDue(work)) return postpone(work, dueTime(work.record) - tools.clock());
    const notification = await targets.find(placeOf(work));
    return hasIncidents ? attemptInTurn(work, notification) : attemptDelivery(work, notification);
  };

  /** Messages that must be worked on one after the other; each line goes beside the others. */
  const lines = (works: Work[]): Work[][] => {
    if (!hasIncidents) return works.map((work) => [work]);
    const sorted = works.toSorted((one, other) => byTime(one.body.event, other.body.event));
    return [...Map.groupBy(sorted, ({ body }) => `${body.notification_id} ${incidentKey(body.event)}`).values()];
  };

  const runBatch = async ({ Records }: SQSEvent, timeLeft: () => number): Promise<SQSBatchResponse> => {
    const messages = Records.map((record) => ({ record, body: readDelivery(record.body) }));
    const works = messages.flatMap(({ record, body }): Work[] =>
      body ? [{ tools, record, body, id: deliveryId(body.event, body.notification_id), timeLeft }] : [],
    );
    const targets = notifications.targets(works.filter(isDue).map(placeOf));

    const workInLine = async (line: Work[]): Promise<SettledMessage[]> => {
      const done: SettledMessage[] = [];
      for (const work of line) done.push(await orFailure(work.record, workOn(work, targets)));
      return done;
    };
    const malformed = messages
      .filter(({ body }) => !body)
      .map(({ record }) => orFailure(record, buryMalformed(record)));
    const settled = (await Promise.all([...lines(works).map(workInLine), Promise.all(malformed)])).flat();

    const verdicts = tally(settled.map(({ verdict }) => verdict));
    logger.info('batch done', { type, ...verdicts });
    const latency = settled.flatMap(({ latency }) => latency ?? []);
    count({ ...verdicts, ...tally(settled.flatMap(deliveryCounts)) }, { type }, { [DELIVERY_LATENCY]: latency });
    const again = settled.filter(({ again }) => again);
    return { batchItemFailures: again.map(({ record }) => ({ itemIdentifier: record.messageId })) };
  };

  return async (input: Invocation, context: Context): Promise<SQSBatchResponse | TestResult> => {
    logger.appendKeys({ request_id: context.awsRequestId });
    return 'Records' in input ? runBatch(input, timeLeftOf(context)) : runTest(input, timeLeftOf(context));
  };
};

const timeLeftOf = (context: Context) => () => context.getRemainingTimeInMillis();

const placeOf = ({ body }: Work) => ({ tenant: body.event.tenant_id, id: body.notification_id });
