import type { Context, SQSBatchResponse, SQSEvent, SQSRecord } from 'aws-lambda';
import { ulid } from 'ulid';
import type { NotificationTypeId } from '../../contracts/notification-types.ts';
import { type TestResult, testRequest } from '../../contracts/sender.ts';
import type { Deliver } from '../../domain/deliver.ts';
import { ownFailureWait } from '../../domain/retry-schedule.ts';
import { testEvent } from '../../domain/test-event.ts';
import { createDeliveryRepository } from '../delivery-repository.ts';
import type { createDocumentClient } from '../document-client.ts';
import { errorTrace, logger } from '../logger.ts';
import { count, tally } from '../metrics.ts';
import { createNotificationRepository } from '../notification-repository.ts';
import { createQueues } from '../queues.ts';
import {
  attemptDelivery,
  type IncomingMessage,
  readMessage,
  type SenderTools,
  type Settled,
} from './delivery-attempt.ts';

/** The part of a sender's environment that all types share, parsed. */
export type SenderEnvironment = {
  NOTIFICATIONS_TABLE: string;
  DELIVERIES_TABLE: string;
  SENDER_QUEUES: Record<NotificationTypeId, string>;
  DEAD_LETTER_QUEUE: string;
  RETRY_SCALE: number;
};

type Invocation = SQSEvent | { kind: 'test' };

/**
 * Makes the Lambda handler of a type's sender. It is invoked with a batch of its queue, whose messages it works on at the
 * same time and answers for one by one, or with a test request of the API, which it answers with a test result.
 */
export const createSender = (
  type: NotificationTypeId,
  client: ReturnType<typeof createDocumentClient>,
  environment: SenderEnvironment,
  deliver: Deliver,
) => {
  const notifications = createNotificationRepository(client, environment.NOTIFICATIONS_TABLE);
  const tools: SenderTools = {
    type,
    deliver,
    deliveries: createDeliveryRepository(client, environment.DELIVERIES_TABLE),
    queues: createQueues(),
    queueUrls: environment.SENDER_QUEUES,
    deadLetterUrl: environment.DEAD_LETTER_QUEUE,
    retryScale: environment.RETRY_SCALE,
    clock: Date.now,
  };

  const runTest = async (input: unknown): Promise<TestResult> => {
    const { tenant, type: tested, details } = testRequest.parse(input);
    if (tested !== type) throw new Error(`The sender of ${type} was asked to test ${tested}.`);
    const outcome = await deliver({ event: testEvent(tenant, Date.now()), deliveryId: ulid(), partsDone: [] }, details);
    count({ [`test_${outcome.result}`]: 1 }, { type });
    return { status: outcome.result === 'delivered' ? 'success' : 'failure', message: outcome.explanation };
  };

  /** A failure of our own: the message comes again, the sooner the fewer times it has come; no attempt is used. */
  const ownFailure = async (record: SQSRecord, error: unknown): Promise<Settled> => {
    const receives = Number(record.attributes.ApproximateReceiveCount);
    logger.error('own failure', { type, message_id: record.messageId, receives, ...errorTrace(error) });
    await tools.queues
      .putBack(environment.SENDER_QUEUES[type], record, ownFailureWait(receives, environment.RETRY_SCALE))
      .catch((cause: unknown) => logger.error('message waits out its visibility', { type, ...errorTrace(cause) }));
    return { verdict: 'failed', again: true };
  };

  const workOn = async (
    { record, body }: IncomingMessage,
    heads: Awaited<ReturnType<typeof notifications.heads>>,
    timeLeft: () => number,
  ) => {
    if (!body) {
      const { body: text, attributes } = record;
      const reason = { reason: 'malformed', cause: 'service', attempts: 0 } as const;
      await tools.queues.deadLetter(
        environment.DEAD_LETTER_QUEUE,
        { body: text, group: attributes.MessageGroupId },
        reason,
      );
      logger.error('malformed delivery', { type, message_id: record.messageId });
      return { verdict: 'dead' } satisfies Settled;
    }
    const notification = heads.find({ tenant: body.event.tenant_id, id: body.notification_id });
    return attemptDelivery(tools, record, body, notification, timeLeft);
  };

  const runBatch = async ({ Records }: SQSEvent, timeLeft: () => number): Promise<SQSBatchResponse> => {
    const messages = Records.map(readMessage);
    const keys = messages.flatMap(({ body }) =>
      body ? [{ tenant: body.event.tenant_id, id: body.notification_id }] : [],
    );
    const heads = notifications.heads(keys);
    // Awaited by each message alone, so that a failure to read puts back every message, and throws none away.
    heads.catch(() => undefined);
    const settled = await Promise.all(
      messages.map(async (message) => {
        const outcome = await heads
          .then((found) => workOn(message, found, timeLeft))
          .catch((error: unknown) => ownFailure(message.record, error));
        return { ...outcome, id: message.record.messageId };
      }),
    );
    const verdicts = tally(settled.map(({ verdict }) => verdict));
    logger.info('batch done', { type, ...verdicts });
    count(verdicts, { type });
    return { batchItemFailures: settled.filter(({ again }) => again).map(({ id }) => ({ itemIdentifier: id })) };
  };

  return async (input: Invocation, context: Context): Promise<SQSBatchResponse | TestResult> =>
    'Records' in input ? runBatch(input, () => context.getRemainingTimeInMillis()) : runTest(input);
};
