import { roundOf } from '../../contracts/messages.ts';
import { type DeliveryRecord, isFailing, isShadow } from '../../domain/delivery-record.ts';
import type { FailedDelivery } from '../failure-recorder.ts';
import { settleNotices } from '../notices/settle-notices.ts';
import type { DeliveryJob, SettledJob, SettledMessage } from './delivery-job.ts';
import type { SenderDependencies } from './sender-dependencies.ts';

/** Returns whether this attempt was the first after which the alert may have reached nobody. */
const isNewFailure = (claimed: DeliveryRecord, written: DeliveryRecord, scale: number): boolean => {
  switch (written.status) {
    case 'failed':
    case 'bounced':
      return true;
    case 'cancelled':
      return !isFailing(claimed, scale);
    default:
      return isFailing(written, scale) && !isFailing(claimed, scale);
  }
};

/**
 * Returns whether an earlier worker may not have reported a delivery: it crashed before it acknowledged this message, or
 * returned it, or SQS delivered the message twice. Repeating a report has no effect.
 */
const mayBeUnreported = ({ message, body }: DeliveryJob, found: DeliveryRecord, scale: number): boolean => {
  if (Number(message.attributes.ApproximateReceiveCount) <= 1) return false;
  if (found.status === 'failed') return found.round === roundOf(body);
  return found.status === 'cancelled' || found.status === 'bounced' || isFailing(found, scale);
};

/** Returns whether a message is a summary, whose failure is reported like that of an alert. */
const isSummary = ({ notice }: DeliveryJob['body']): boolean => notice?.kind === 'summary';

/**
 * Returns the record of a delivery to report, as it was written or found: it is failing, was dead-lettered, was
 * cancelled, or bounced before the sender had recorded it.
 *
 * @param scale factor for the delays between attempts
 */
export const failureOf = (job: DeliveryJob, scale: number): DeliveryRecord | undefined => {
  const { claimed, written } = job.writes.result();
  if (!written || (job.body.notice && !isSummary(job.body))) return undefined;
  // If the message was returned, its next attempt may have become due before it was received again.
  const isNew = claimed !== undefined && isNewFailure(claimed, written, scale);
  return isNew || mayBeUnreported(job, written, scale) ? written : undefined;
};

/** A job and its result, whenever it had it. */
type Result = Omit<SettledJob, 'settledAtMs'>;

/** Returns the record of a delivery that this job claimed, for the failures of its notification. */
const claimedDelivery = ({ job }: Result): FailedDelivery[] => {
  const { claimed, written } = job.writes.result();
  return claimed && written ? [{ record: written, isCounted: claimed.last_cause !== undefined }] : [];
};

/** Returns whether a notice of shadow mode was sent, perhaps by an earlier worker that crashed. */
const isShadowReminder = ({ body: { notice }, message }: DeliveryJob, { outcome }: SettledMessage): boolean => {
  const isRepeated = outcome === 'duplicate' && Number(message.attributes.ApproximateReceiveCount) > 1;
  return notice?.kind === 'shadow' && (outcome === 'delivered' || outcome === 'unrecorded' || isRepeated);
};

/**
 * Creates the reports of the deliveries of a batch that fail, after all messages of the batch are settled: a report costs
 * no attempt and delays no alert. A notice causes no further notice, except that of shadow mode that of the next day. A
 * summary causes the same as an alert.
 * Never rejects.
 */
export const createFailureReport = ({
  reports,
  recordFailures,
  retryDelayScale,
}: Pick<SenderDependencies, 'reports' | 'recordFailures' | 'retryDelayScale'>) => {
  const report = async ({ job, settled }: Result): Promise<void> => {
    if (settled.isReturned) return;
    const { type, body, timeLeft } = job;
    const { event: sent, notification_id, siblings } = body;
    const ids = { type, tenant_id: sent.tenant_id, event_id: sent.event_id, notification_id };
    if (isShadowReminder(job, settled)) {
      return settleNotices([reports.repeatShadow(sent.tenant_id, body.accepted_at_ms)], ids, timeLeft);
    }
    const { written } = job.writes.result();
    if (settled.outcome === 'summarized' && settled.attemptOutcome && written) {
      return settleNotices([reports.reportLimit(sent, written, type)], ids, timeLeft);
    }
    const failure = failureOf(job, retryDelayScale);
    if (!failure) return;
    // A summary has got the state of its alarms when they were read.
    const event = { ...sent, state: failure.state };
    if (isShadow(failure)) return settleNotices([reports.reportShadow(event, failure)], ids, timeLeft);
    // Technical contacts cannot be notified by email that their email fails, a deleted notification needs no notice, and
    // the recorder of bounces has reported each of them.
    const isReported =
      type !== 'technicalContactsEmail' && failure.status !== 'cancelled' && failure.status !== 'bounced';
    await settleNotices(
      [
        ...(isReported ? [reports.reportFailure(event, failure)] : []),
        reports.escalateUnreached(event, failure, siblings),
      ],
      ids,
      timeLeft,
    );
  };

  return async (results: readonly Result[]): Promise<void> => {
    await Promise.all([recordFailures(results.flatMap(claimedDelivery)), ...results.map(report)]);
  };
};
