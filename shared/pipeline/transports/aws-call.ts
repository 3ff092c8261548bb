import { logger } from '../../adapters/logger.ts';
import type { Failure } from '../../domain/attempt-outcome.ts';
import { awsFailure } from '../../domain/aws-outcome.ts';
import { sendTimeoutMs } from '../../domain/timeouts.ts';
import type { Alert } from '../../domain/transport.ts';

/**
 * Sends a message with SES or SNS. What uses quotas of the AWS account is logged
 * (docs/decisions/monitoring.md#what-is-logged).
 *
 * @returns undefined if it was accepted
 */
export const sendWithAws = async (
  service: 'ses' | 'sns',
  { event, notificationId, deliveryId, trace, timeLeft }: Alert,
  send: (timeoutMs: number) => Promise<void>,
  logged?: 'email accepted' | 'sms accepted',
): Promise<Failure | undefined> => {
  const timeoutMs = sendTimeoutMs(timeLeft);
  try {
    await send(timeoutMs);
  } catch (error) {
    return awsFailure(service, error);
  }
  if (logged) {
    const { tenant_id, event_id } = event;
    const ids = { delivery_id: deliveryId, tenant_id, event_id, notification_id: notificationId, trace_id: trace?.id };
    logger.info(logged, ids);
  }
  return undefined;
};
