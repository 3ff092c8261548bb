import { errorTrace, logger } from '../../adapters/logger.ts';
import { withStatus } from '../../domain/delivery-record.ts';
import { isLateHeartbeat } from '../../domain/heartbeat.ts';
import type { DeliveryTarget } from '../../domain/notification.ts';
import type { Attempt } from './delivery-attempt.ts';
import { type DeliveryJob, idsOf } from './delivery-job.ts';
import type { SenderDependencies } from './sender-dependencies.ts';

/**
 * Creates the delivery of heartbeats: one attempt, like that of an alert. A failure is only logged, because the receiver
 * reports missing heartbeats (docs/decisions/monitoring.md#heartbeat). Never rejects.
 */
export const createHeartbeatDelivery = ({ clock }: Pick<SenderDependencies, 'clock'>, attempt: Attempt) => {
  const attemptOnce = async (job: DeliveryJob, target: Promise<DeliveryTarget | undefined>): Promise<void> => {
    const result = await attempt(job, target);
    // A duplicate of a message.
    if ('outcome' in result) return;
    const { record, attemptOutcome } = result;
    const isDelivered = attemptOutcome.result === 'delivered';
    if (!isDelivered) {
      const { reason, status, code } = attemptOutcome;
      logger.error('heartbeat not delivered', { ...idsOf(job), reason, status, code });
    }
    await job.writes.update(record, withStatus(record, isDelivered ? 'delivered' : 'failed', clock()));
  };

  return async (job: DeliveryJob, findTarget: () => Promise<DeliveryTarget | undefined>): Promise<void> => {
    try {
      if (isLateHeartbeat(job.body.accepted_at_ms, clock())) logger.error('heartbeat too late', idsOf(job));
      else await attemptOnce(job, findTarget());
    } catch (error) {
      logger.error('heartbeat not delivered', { ...idsOf(job), ...errorTrace(error) });
    }
  };
};
