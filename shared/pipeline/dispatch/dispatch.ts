import type { Context, SQSBatchResponse, SQSEvent, SQSRecord } from 'aws-lambda';
import { errorTrace, logger } from '../../adapters/logger.ts';
import { count, oldestAgeSeconds } from '../../adapters/metrics.ts';
import type { NotificationRepository } from '../../adapters/notifications/notification-repository.ts';
import type { Queues } from '../../adapters/queues.ts';
import type { NotificationTypeId } from '../../contracts/notification-types.ts';
import type { FailureReason } from '../../contracts/outcomes.ts';
import type { Clock } from '../../domain/clock.ts';
import { DISPATCH_LATENCY } from '../../domain/delivery-metrics.ts';
import { continuationBody, type PlannedEvent, planEvent } from '../../domain/planned-event.ts';
import { internalErrorDelayMs } from '../../domain/retry-schedule.ts';
import { createFanOut, type Progress } from './fan-out.ts';

/** The environment of the dispatch, parsed. */
export type DispatchEnvironment = {
  ALARM_EVENTS_QUEUE: string;
  DEAD_LETTER_QUEUE: string;
  SENDER_QUEUES: Record<NotificationTypeId, string>;
};

/** How long one invocation sends deliveries, in ms: half of the function's timeout. What is left goes on in a new message. */
const PASS_MS = 15_000;

type EventMessage = PlannedEvent & { record: SQSRecord };
type InvalidMessage = { record: SQSRecord; reason: FailureReason };

/** What became of a message. `again` leaves it on the queue, where its visibility has been set. */
type Result = { record: SQSRecord; again: boolean; isInternalError: boolean; sentAtMs: number };

const read = (record: SQSRecord, now: number): EventMessage | InvalidMessage => {
  const sentAtMs = Number(record.attributes.SentTimestamp) || now;
  const planned = planEvent(record.body, sentAtMs);
  return typeof planned === 'string' ? { record, reason: planned } : { ...planned, record };
};

const isInvalid = (message: EventMessage | InvalidMessage): message is InvalidMessage => 'reason' in message;

/** Makes the Lambda handler that fans alarm events out to the queues of the notification types. */
export const createDispatch = (
  notifications: Pick<NotificationRepository, 'targets'>,
  queues: Queues,
  environment: DispatchEnvironment,
  clock: Clock = Date.now,
) => {
  const fanOut = createFanOut(notifications, queues, environment.SENDER_QUEUES, clock);

  const delaySeconds = ({ attributes }: SQSRecord): number =>
    Math.ceil(internalErrorDelayMs(Number(attributes.ApproximateReceiveCount), 1) / 1_000);

  const returnToQueue = (record: SQSRecord): Promise<void> =>
    queues
      .changeVisibility(environment.ALARM_EVENTS_QUEUE, record, delaySeconds(record))
      .catch((error: unknown) => logger.error('visibility change failed', errorTrace(error)));

  const deadLetter = async ({ record, reason }: InvalidMessage): Promise<Result> => {
    const { MessageGroupId: messageGroupId } = record.attributes;
    const sentAtMs = Number(record.attributes.SentTimestamp);
    try {
      const why = { reason, cause: 'service', attempts: 0 } as const;
      await queues.sendToDeadLetterQueue(environment.DEAD_LETTER_QUEUE, { body: record.body, messageGroupId }, why);
      logger.error('invalid event', { message_id: record.messageId, reason });
      return { record, again: false, isInternalError: false, sentAtMs };
    } catch (error) {
      logger.error('internal error', { message_id: record.messageId, ...errorTrace(error) });
      await returnToQueue(record);
      return { record, again: true, isInternalError: true, sentAtMs };
    }
  };

  /**
   * Sends what is left of a plan as a message of its own, so that deliveries which are on their way are not repeated.
   *
   * @returns false where SQS did not take it
   */
  const sendContinuation = async ({ planned, failed, untried, known }: Progress<EventMessage>): Promise<boolean> => {
    const body = continuationBody(planned, [...failed, ...untried], known);
    const waitMs = failed.length > 0 ? internalErrorDelayMs(1, 1) : 0;
    try {
      await queues.sendDelayed(
        environment.ALARM_EVENTS_QUEUE,
        { body, messageGroupId: planned.event.tenant_id },
        waitMs,
      );
      return true;
    } catch (error) {
      logger.error('continuation not sent', { message_id: planned.record.messageId, ...errorTrace(error) });
      return false;
    }
  };

  const settle = async (progress: Progress<EventMessage>): Promise<Result> => {
    const { planned, failed, untried, sent, unknown, hasInternalError } = progress;
    const { record, sentAtMs } = planned;
    const result = { record, isInternalError: hasInternalError, sentAtMs };
    if (failed.length + untried.length === 0) return { ...result, again: false };
    if (sent + unknown > 0) {
      if (await sendContinuation(progress)) return { ...result, again: false };
      result.isInternalError = true;
    }
    await returnToQueue(record);
    return { ...result, again: true };
  };

  const report = (progress: readonly Progress[], results: readonly Result[], invalid: number): void => {
    const unprocessed = results.filter(({ isInternalError }) => isInternalError);
    const again = results.filter((result) => result.again);
    const sum = (of: (one: Progress) => number) => progress.reduce((total, one) => total + of(one), 0);
    const counts = {
      events: progress.length,
      invalid_events: invalid,
      deliveries: sum(({ sent }) => sent),
      unknown_notifications: sum(({ unknown }) => unknown),
      throttled_keys: progress.filter(({ failed, hasInternalError }) => failed.length > 0 && !hasInternalError).length,
    };
    const now = clock();
    const handled = results.length - again.length;
    count(
      counts,
      { function: 'dispatch-alarm-events' },
      {
        [DISPATCH_LATENCY]: progress
          .filter(({ failed, untried }) => failed.length + untried.length === 0)
          .map(({ planned }) => Math.max(0, now - planned.sentAtMs)),
      },
      {
        handled,
        internalErrors: unprocessed.length,
        oldestUnprocessedSeconds: oldestAgeSeconds(
          unprocessed.map(({ sentAtMs }) => sentAtMs),
          now,
        ),
      },
    );
  };

  return async ({ Records }: SQSEvent, context?: Context): Promise<SQSBatchResponse> => {
    logger.appendKeys({ request_id: context?.awsRequestId });
    const startedAt = clock();
    const messages = Records.map((record) => read(record, startedAt));
    const invalid = messages.filter(isInvalid);
    const [deadLettered, progress] = await Promise.all([
      Promise.all(invalid.map(deadLetter)),
      fanOut(
        messages.filter((message): message is EventMessage => !isInvalid(message)),
        startedAt + PASS_MS,
      ),
    ]);
    const results = [...deadLettered, ...(await Promise.all(progress.map(settle)))];
    report(progress, results, invalid.length);
    const again = results.filter((result) => result.again);
    return { batchItemFailures: again.map(({ record }) => ({ itemIdentifier: record.messageId })) };
  };
};
