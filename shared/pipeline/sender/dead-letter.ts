import { errorTrace, logger } from '../../adapters/logger.ts';
import type { Failure } from '../../domain/attempt-outcome.ts';
import { bodyForRound, noticeBody } from '../../domain/delivery-message.ts';
import { type DeliveryRecord, withFailure, withStatus } from '../../domain/delivery-record.ts';
import { DEFAULT_NOTIFICATION_ID } from '../../domain/notification-id.ts';
import { isUndeliveredNotice, undeliveredNotice } from '../../domain/undelivered-notice.ts';
import type { DeliveryJob, SettledMessage } from './delivery-job.ts';
import { logFailure } from './failure-log.ts';
import { persist } from './persist.ts';

/** The part of a failure that goes into logs, records and dead letters. */
export type DeadLetterCause = Pick<Failure, 'reason' | 'cause' | 'status'>;

/**
 * Notifies the technical contacts of a dead-lettered alert, at most once per notification per day. An undeliverable
 * notice causes no further notice (DECISIONS.md#dead-letter-notices).
 *
 * @returns true if the notice could not be queued
 */
const notifyContacts = async ({ dependencies, body }: DeliveryJob): Promise<boolean> => {
  if (!dependencies.sendsDeadLetterEmail || dependencies.type === 'technicalContactsEmail') return false;
  const tenant = body.event.tenant_id;
  const nowMs = dependencies.clock();
  const notice = noticeBody(DEFAULT_NOTIFICATION_ID, undeliveredNotice(tenant, body.notification_id, nowMs), nowMs);
  try {
    await dependencies.queues.sendDelayed(
      dependencies.queueUrls.technicalContactsEmail,
      { body: notice, messageGroupId: tenant },
      0,
    );
    return false;
  } catch (error) {
    logger.error('notice not queued', { type: dependencies.type, tenant_id: tenant, ...errorTrace(error) });
    return true;
  }
};

/**
 * Ends a round without delivery. The order prevents loss if the worker crashes: store the message for the tenant
 * (DECISIONS.md#failed-messages), send the dead letter, update the record, notify the contacts, acknowledge the message.
 * The stored message and the record have the same time of failure, which marks the message as current. The claim is held throughout, so that no duplicate is
 * delivered. The dead letter contains the number of the next round, and no other message can start that round
 * (DECISIONS.md#dead-letters).
 */
export const deadLetter = async (
  job: DeliveryJob,
  record: DeliveryRecord,
  failure: DeadLetterCause,
): Promise<SettledMessage> => {
  const { dependencies, body } = job;
  const { deliveries, failedMessages, queues, deadLetterQueueUrl, clock } = dependencies;
  // If a later step fails, the record must already include this attempt and the recipients it reached.
  await persist(job, () => deliveries.update(record, record));
  if (failure.reason === 'no_contacts' && isUndeliveredNotice(body.event)) {
    await deliveries.complete(withStatus(record, 'cancelled', clock()));
    return { outcome: 'cancelled' };
  }
  const [round, failedAtMs] = [record.round + 1, clock()];
  const letter = { body: bodyForRound(body, round), messageGroupId: body.event.tenant_id };
  if (!isUndeliveredNotice(body.event)) {
    await persist(job, () => failedMessages.put({ recordKey: record, failedAtMs, body: letter.body, round }));
  }
  await queues.sendToDeadLetterQueue(deadLetterQueueUrl, letter, { ...failure, attemptCount: record.attempt_count });
  await persist(job, () => deliveries.update(record, withFailure(record, failure.reason, failedAtMs)));
  const noticeLost = await notifyContacts(job);
  logFailure(job, 'dead_lettered', failure, record.attempt_count);
  return { outcome: 'dead_lettered', cause: failure.cause, noticeLost };
};
