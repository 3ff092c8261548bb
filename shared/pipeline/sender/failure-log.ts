import { logger } from '../../adapters/logger.ts';
import type { Failure } from '../../domain/attempt-outcome.ts';
import type { Verdict, Work } from './delivery-job.ts';

/** Logs one line about an attempt that failed: ids, reason, status and error code, never what the destination said. */
export const logFailure = (
  { tools, id, body }: Work,
  verdict: Verdict,
  { reason, cause, status, code }: Pick<Failure, 'reason' | 'cause' | 'status' | 'code'>,
  attempts: number,
): void => {
  const { notification_id, event } = body;
  logger.warn('delivery failed', {
    verdict,
    type: tools.type,
    delivery_id: id,
    tenant_id: event.tenant_id,
    event_id: event.event_id,
    notification_id,
    reason,
    cause,
    status,
    code,
    attempts,
  });
};
