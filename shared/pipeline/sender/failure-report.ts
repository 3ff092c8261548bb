import { errorTrace, logger } from '../../adapters/logger.ts';
import { type DeliveryRecord, isFailing, isShadow, mustBeReported } from '../../domain/delivery-record.ts';
import type { DeliveryResult } from '../../domain/delivery-result.ts';
import type { FailingDelivery } from '../failure-recorder.ts';
import { waitForNotices } from '../notices/wait-for-notices.ts';
import { type DeliveryJob, idsOf } from './delivery-job.ts';
import type { SenderDependencies } from './sender-dependencies.ts';

/** Returns whether a message is a summary, whose failure is reported like that of an alert. */
const isSummary = ({ notice }: DeliveryJob['body']): boolean => notice?.kind === 'summary';

/** A job and its result. */
type ProcessedJob = { job: DeliveryJob; result: DeliveryResult };

/** Returns the record of a delivery that this worker claimed, for the failures of its notification. */
const claimedDelivery = ({ result: { claimed, record } }: ProcessedJob): FailingDelivery[] =>
  claimed && record ? [{ record, isCounted: claimed.last_cause !== undefined }] : [];

/**
 * Creates the reports of the deliveries of a batch that fail, after all messages of the batch are processed: a report costs
 * no attempt and delays no alert. A notice causes no further notice. A summary causes
 * the same as an alert. What is withheld in shadow mode is not reported: another system sends it.
 */
export const createFailureReport = ({
  reports,
  recordFailures,
  deliveries,
  retryDelayScale,
}: Pick<SenderDependencies, 'reports' | 'recordFailures' | 'retryDelayScale'> & {
  deliveries: Pick<SenderDependencies['deliveries'], 'markReported'>;
}) => {
  /** Without it, the failure is reported again by the next attempt or message, which is harmless. */
  const markReported = async (job: DeliveryJob, failure: DeliveryRecord): Promise<void> => {
    try {
      await waitForNotices([deliveries.markReported(failure)], job.timeLeft);
    } catch (error) {
      logger.warn('report not recorded', { ...idsOf(job), ...errorTrace(error) });
    }
  };

  const report = async ({ job, result }: ProcessedJob): Promise<void> => {
    const { type, body, timeLeft } = job;
    const { event: sent, siblings } = body;
    const { record } = result;
    if (result.kind === 'summarized' && result.attempt && record)
      return waitForNotices([reports.reportLimit(sent, record, type)], timeLeft);
    if (!record || isShadow(record) || (body.notice && !isSummary(body)) || !mustBeReported(record, retryDelayScale))
      return;
    // A summary has got the state of its alarms when they were read.
    const event = { ...sent, state: record.state };
    // Technical contacts cannot be notified by email that their email fails, a deleted notification needs no notice, and
    // the recorder of bounces has reported each of them. While the service fails, the operators have an alarm.
    const isReported =
      type !== 'technicalContactsEmail' && (record.status === 'failed' || isFailing(record, retryDelayScale));
    // A failure of the service was escalated before.
    let isDecided = record.status === 'pending' && record.reported_status !== undefined;
    const escalate = async (): Promise<void> => {
      isDecided = await reports.escalateUnreached(event, record, siblings);
    };
    await waitForNotices(
      [...(isReported ? [reports.reportFailure(event, record)] : []), ...(isDecided ? [] : [escalate()])],
      timeLeft,
    );
    if (isDecided) await markReported(job, record);
  };

  /** @returns the errors of the reports that failed, by their jobs */
  return async (processed: readonly ProcessedJob[]): Promise<ReadonlyMap<DeliveryJob, unknown>> => {
    const errors = new Map<DeliveryJob, unknown>();
    const reportOrKeep = (each: ProcessedJob): Promise<unknown> =>
      report(each).catch((error: unknown) => errors.set(each.job, error));
    await Promise.all([recordFailures(processed.flatMap(claimedDelivery)), ...processed.map(reportOrKeep)]);
    return errors;
  };
};
