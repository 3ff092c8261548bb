import { errorTrace, logger } from '../../adapters/logger.ts';
import type { Failure } from '../../domain/attempt-outcome.ts';
import { bodyForRound, noticeBody } from '../../domain/delivery-message.ts';
import { type DeliveryRecord, ended } from '../../domain/delivery-record.ts';
import { DEFAULT_NOTIFICATION_ID } from '../../domain/notification-id.ts';
import { isUndeliveredNotice, undeliveredNotice } from '../../domain/undelivered-notice.ts';
import type { Settled, Work } from './delivery-job.ts';
import { logFailure } from './failure-log.ts';
import { persist } from './persist.ts';

/** What logs, records and dead letters hold of a failure. */
export type DeadLetterCause = Pick<Failure, 'reason' | 'cause' | 'status'>;

/**
 * Notifies the technical contacts by a delivery to them, whose record lets one a day through. There is no notice about a notice.
 *
 * @returns true where one was due and could not be queued
 */
const notifyContacts = async ({ tools, body }: Work): Promise<boolean> => {
  if (!tools.deadLetterMail || tools.type === 'technicalContactsEmail') return false;
  const tenant = body.event.tenant_id;
  const now = tools.clock();
  const notice = noticeBody(DEFAULT_NOTIFICATION_ID, undeliveredNotice(tenant, body.notification_id, now), now);
  try {
    await tools.queues.sendDelayed(tools.queueUrls.technicalContactsEmail, { body: notice, group: tenant }, 0);
    return false;
  } catch (error) {
    logger.error('notice not queued', { type: tools.type, tenant_id: tenant, ...errorTrace(error) });
    return true;
  }
};

/**
 * Gives a delivery up for this round, in an order that loses nothing if the worker crashes: the dead-letter queue has it, then
 * the record says so, then the contacts are notified, then the message is acknowledged. The claim holds until then, or a
 * duplicate would be sent meanwhile. The dead letter carries the number of the next round, which only it can start.
 */
export const deadLetter = async (work: Work, record: DeliveryRecord, failure: DeadLetterCause): Promise<Settled> => {
  const { tools, body } = work;
  const { deliveries, queues, deadLetterUrl } = tools;
  // What the attempt did, recipients reached above all, must be known even where one of the next steps fails.
  await persist(work, () => deliveries.update(record, record));
  if (failure.reason === 'no contacts' && isUndeliveredNotice(body.event)) {
    await deliveries.complete(ended(record, 'cancelled'));
    return { verdict: 'cancelled' };
  }
  const letter = { body: bodyForRound(body, record.round + 1), group: body.event.tenant_id };
  await queues.sendToDeadLetterQueue(deadLetterUrl, letter, { ...failure, attempts: record.attempts });
  await persist(work, () => deliveries.update(record, ended(record, 'dead')));
  const noticeLost = await notifyContacts(work);
  logFailure(work, 'dead', failure, record.attempts);
  return { verdict: 'dead', cause: failure.cause, noticeLost };
};
