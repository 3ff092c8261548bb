import { logger } from '../../adapters/logger.ts';
import type { DeliveryReason, MessageOutcome } from '../../contracts/outcomes.ts';
import type { Failure } from '../../domain/attempt-outcome.ts';
import { type DeliveryJob, idsOf } from './delivery-job.ts';

/**
 * Logs a failed attempt: IDs, reason, status and error code, never the destination's response
 * (docs/decisions/monitoring.md#what-is-logged).
 */
export const logFailure = (
  job: DeliveryJob,
  outcome: MessageOutcome,
  { reason, cause, status, code }: Pick<Failure, 'reason' | 'cause' | 'status' | 'code'>,
  attemptCount: number,
): void => {
  logger.warn('delivery failed', { outcome, ...idsOf(job), reason, cause, status, code, attempt_count: attemptCount });
};

/** Logs that an event was superseded only because of its timestamp. */
export const logOlderTimestamp = (job: DeliveryJob): void => {
  const [outcome, reason]: [MessageOutcome, DeliveryReason] = ['superseded', 'older_timestamp'];
  logger.warn('event superseded', { outcome, ...idsOf(job), reason });
};
