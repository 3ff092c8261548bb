import { roundOf } from '../../domain/delivery-message.ts';
import { type DeliveryRecord, isFailing } from '../../domain/delivery-record.ts';
import { settleNotices } from '../notices/settle-notices.ts';
import type { DeliveryJob, SettledJob } from './delivery-job.ts';

/** Returns the record after an attempt if the delivery is failing now and was not before the attempt. */
export const newlyFailing = (
  { dependencies }: DeliveryJob,
  claimed: DeliveryRecord,
  next: DeliveryRecord,
): DeliveryRecord | undefined => {
  const { retryDelayScale } = dependencies;
  return isFailing(next, retryDelayScale) && !isFailing(claimed, retryDelayScale) ? next : undefined;
};

/**
 * Returns the record of a delivery that an earlier worker may not have reported: it crashed before it acknowledged this
 * message, or SQS delivered the message twice. Repeating a report has no effect.
 */
export const unreportedFailure = (
  { message, body, dependencies }: DeliveryJob,
  record: DeliveryRecord,
): DeliveryRecord | undefined => {
  if (Number(message.attributes.ApproximateReceiveCount) <= 1) return undefined;
  const endedThisRound = record.status === 'failed' && record.round === roundOf(body);
  const endedWithoutReport = endedThisRound || record.status === 'cancelled' || record.status === 'bounced';
  return endedWithoutReport || isFailing(record, dependencies.retryDelayScale) ? record : undefined;
};

const reportFailure = async ({ job, settled: { failing } }: SettledJob): Promise<void> => {
  const { dependencies, body, timeLeft } = job;
  const { event, notice, notification_id, siblings } = body;
  if (!failing || notice) return;
  const { type, reports } = dependencies;
  // Technical contacts cannot be notified by email that their email fails, a deleted notification needs no notice, and
  // the recorder of bounces has reported each of them.
  const isReported =
    type !== 'technicalContactsEmail' && failing.status !== 'cancelled' && failing.status !== 'bounced';
  await settleNotices(
    [
      ...(isReported ? [reports.reportFailure(event, failing)] : []),
      reports.escalateUnreached(event, failing, siblings),
    ],
    { type, tenant_id: event.tenant_id, event_id: event.event_id, notification_id },
    timeLeft,
  );
};

/**
 * Reports the deliveries of a batch that fail, after all messages of the batch are settled: a notice costs no attempt
 * and delays no alert. A notice causes no further notice. Never rejects.
 */
export const reportFailures = async (results: readonly SettledJob[]): Promise<void> => {
  await Promise.all(results.map(reportFailure));
};
