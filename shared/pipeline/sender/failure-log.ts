import { logger } from '../../adapters/logger.ts';
import type { MessageOutcome } from '../../contracts/outcomes.ts';
import type { Failure } from '../../domain/attempt-outcome.ts';
import type { DeliveryJob } from './delivery-job.ts';

/**
 * Logs a failed attempt: IDs, reason, status and error code, never the destination's response
 * (DECISIONS.md#what-is-logged).
 */
export const logFailure = (
  { dependencies, deliveryId, body }: DeliveryJob,
  outcome: MessageOutcome,
  { reason, cause, status, code }: Pick<Failure, 'reason' | 'cause' | 'status' | 'code'>,
  attemptCount: number,
): void => {
  const { notification_id, event } = body;
  logger.warn('delivery failed', {
    outcome,
    type: dependencies.type,
    delivery_id: deliveryId,
    tenant_id: event.tenant_id,
    event_id: event.event_id,
    notification_id,
    reason,
    cause,
    status,
    code,
    attempt_count: attemptCount,
  });
};
