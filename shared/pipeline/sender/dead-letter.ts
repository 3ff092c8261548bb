import { errorTrace, logger } from '../../adapters/logger.ts';
import type { Failure } from '../../domain/attempt-outcome.ts';
import { bodyForRound, noticeBody } from '../../domain/delivery-message.ts';
import { type DeliveryRecord, withStatus } from '../../domain/delivery-record.ts';
import { DEFAULT_NOTIFICATION_ID } from '../../domain/notification-id.ts';
import { isUndeliveredNotice, undeliveredNotice } from '../../domain/undelivered-notice.ts';
import type { DeliveryJob, SettledMessage } from './delivery-job.ts';
import { logFailure } from './failure-log.ts';
import { persist } from './persist.ts';

/** What logs, records and dead letters hold of a failure. */
export type DeadLetterCause = Pick<Failure, 'reason' | 'cause' | 'status'>;

/**
 * Notifies the technical contacts by a delivery to them, whose record lets one a day through. There is no notice about a notice.
 *
 * @returns true where one was due and could not be queued
 */
const notifyContacts = async ({ dependencies, body }: DeliveryJob): Promise<boolean> => {
  if (!dependencies.sendsDeadLetterEmail || dependencies.type === 'technicalContactsEmail') return false;
  const tenant = body.event.tenant_id;
  const now = dependencies.clock();
  const notice = noticeBody(DEFAULT_NOTIFICATION_ID, undeliveredNotice(tenant, body.notification_id, now), now);
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
 * Gives a delivery up for this round, in an order that loses nothing if the worker crashes: the dead-letter queue has it, then
 * the record says so, then the contacts are notified, then the message is acknowledged. The claim holds until then, or a
 * duplicate would be sent meanwhile. The dead letter carries the number of the next round, which only it can start.
 */
export const deadLetter = async (
  job: DeliveryJob,
  record: DeliveryRecord,
  failure: DeadLetterCause,
): Promise<SettledMessage> => {
  const { dependencies, body } = job;
  const { deliveries, queues, deadLetterQueueUrl } = dependencies;
  // What the attempt did, recipients reached above all, must be known even where one of the next steps fails.
  await persist(job, () => deliveries.update(record, record));
  if (failure.reason === 'no_contacts' && isUndeliveredNotice(body.event)) {
    await deliveries.complete(withStatus(record, 'cancelled'));
    return { outcome: 'cancelled' };
  }
  const letter = { body: bodyForRound(body, record.round + 1), messageGroupId: body.event.tenant_id };
  await queues.sendToDeadLetterQueue(deadLetterQueueUrl, letter, { ...failure, attempts: record.attempt_count });
  await persist(job, () => deliveries.update(record, withStatus(record, 'failed')));
  const noticeLost = await notifyContacts(job);
  logFailure(job, 'dead_lettered', failure, record.attempt_count);
  return { outcome: 'dead_lettered', cause: failure.cause, noticeLost };
};
