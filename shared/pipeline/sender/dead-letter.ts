import type { Failure } from '../../domain/attempt-outcome.ts';
import { bodyForRound } from '../../domain/delivery-message.ts';
import { type DeliveryRecord, withFailure, withStatus } from '../../domain/delivery-record.ts';
import type { DeliveryJob, SettledMessage } from './delivery-job.ts';
import { logFailure } from './failure-log.ts';
import { persist } from './persist.ts';
import type { SenderDependencies } from './sender-dependencies.ts';

/** The part of a failure that goes into logs, records and dead letters. */
export type DeadLetterFailure = Pick<Failure, 'reason' | 'cause' | 'status'>;

/**
 * Creates the end of a round without delivery. The order prevents loss if the worker crashes: store the message for the
 * tenant (docs/decisions/deliveries.md#failed-messages), send the dead letter, update the record, report the failure,
 * acknowledge the message. The stored message and the record have the same time of failure, which marks the message as
 * current. The claim is held throughout, so that no duplicate is delivered. The dead letter and the stored message
 * contain the number of the next round, and no other message can start that round
 * (docs/decisions/deliveries.md#dead-letters).
 */
export const createDeadLetter =
  ({ failedMessages, queues, deadLetterQueueUrl, clock }: SenderDependencies) =>
  async (job: DeliveryJob, record: DeliveryRecord, failure: DeadLetterFailure): Promise<SettledMessage> => {
    const { body, writes } = job;
    // If a later step fails, the record must already include this attempt and the recipients it reached. Its message is
    // then received again, which must not count as overdue since the attempt: that would start a new round.
    await persist(job, () => writes.update(record, { ...record, next_attempt_at_ms: clock() }));
    const isNotice = body.notice !== undefined && body.notice.kind !== 'summary';
    if (failure.reason === 'no_contacts' && isNotice) {
      await writes.update(record, withStatus(record, 'cancelled', clock()));
      return { outcome: 'cancelled' };
    }
    const [round, failedAtMs] = [record.round + 1, clock()];
    const letter = { body: bodyForRound(body, round), messageGroupId: body.event.tenant_id };
    if (!isNotice) {
      await persist(job, () => failedMessages.put({ recordKey: record, failedAtMs, body: letter.body, round }));
    }
    await queues.sendToDeadLetterQueue(deadLetterQueueUrl, letter, { ...failure, attemptCount: record.attempt_count });
    const stored = await persist(job, () => writes.update(record, withFailure(record, failure.reason, failedAtMs)));
    logFailure(job, 'dead_lettered', failure, record.attempt_count);
    await writes.settleBounce(stored);
    return { outcome: 'dead_lettered', cause: failure.cause };
  };
