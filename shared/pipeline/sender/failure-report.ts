import { errorTrace, logger } from '../../adapters/logger.ts';
import { type DeliveryRecord, isShadow, mustBeReported } from '../../domain/delivery-record.ts';
import type { FailedDelivery } from '../failure-recorder.ts';
import { settleNotices } from '../notices/settle-notices.ts';
import { type DeliveryJob, idsOf, type SettledJob, type SettledMessage } from './delivery-job.ts';
import type { SenderDependencies } from './sender-dependencies.ts';

/** Returns whether a message is a summary, whose failure is reported like that of an alert. */
const isSummary = ({ notice }: DeliveryJob['body']): boolean => notice?.kind === 'summary';

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
  deliveries,
  retryDelayScale,
}: Pick<SenderDependencies, 'reports' | 'recordFailures' | 'deliveries' | 'retryDelayScale'>) => {
  /** Without it, the failure is reported again by the next attempt or message, which is harmless. */
  const markReported = async (job: DeliveryJob, failure: DeliveryRecord): Promise<void> => {
    try {
      await deliveries.markReported(failure);
    } catch (error) {
      logger.warn('report not recorded', { ...idsOf(job), ...errorTrace(error) });
    }
  };

  const report = async ({ job, settled }: Result): Promise<void> => {
    const { type, body, timeLeft } = job;
    const { event: sent, notification_id, siblings } = body;
    const ids = { type, tenant_id: sent.tenant_id, event_id: sent.event_id, notification_id };
    if (isShadowReminder(job, settled)) {
      await settleNotices([reports.repeatShadow(sent.tenant_id, body.accepted_at_ms)], ids, timeLeft);
      return;
    }
    const { written } = job.writes.result();
    if (settled.outcome === 'summarized' && settled.attemptOutcome && written) {
      await settleNotices([reports.reportLimit(sent, written, type)], ids, timeLeft);
      return;
    }
    if (!written || (body.notice && !isSummary(body)) || !mustBeReported(written, retryDelayScale)) return;
    // A summary has got the state of its alarms when they were read.
    const event = { ...sent, state: written.state };
    if (isShadow(written)) {
      await settleNotices([reports.reportShadow(event, written)], ids, timeLeft);
      return;
    }
    // Technical contacts cannot be notified by email that their email fails, a deleted notification needs no notice, and
    // the recorder of bounces has reported each of them.
    const isReported =
      type !== 'technicalContactsEmail' && written.status !== 'cancelled' && written.status !== 'bounced';
    const isQueued = await settleNotices(
      [
        ...(isReported ? [reports.reportFailure(event, written)] : []),
        reports.escalateUnreached(event, written, siblings),
      ],
      ids,
      timeLeft,
    );
    if (isQueued) await markReported(job, written);
  };

  return async (results: readonly Result[]): Promise<void> => {
    await Promise.all([recordFailures(results.flatMap(claimedDelivery)), ...results.map(report)]);
  };
};
