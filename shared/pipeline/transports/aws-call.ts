import { logger } from '../../adapters/logger.ts';
import type { Failure } from '../../domain/attempt-outcome.ts';
import { awsFailure } from '../../domain/aws-outcome.ts';
import { sendTimeoutMs } from '../../domain/timeouts.ts';
import type { Alert } from '../../domain/transport.ts';

/** Sends a message with SES or SNS. @returns undefined if it was accepted */
export const sendWithAws = async (
  service: 'ses' | 'sns',
  { timeLeft }: Alert,
  send: (timeoutMs: number) => Promise<void>,
): Promise<Failure | undefined> => {
  const timeoutMs = sendTimeoutMs(timeLeft);
  try {
    await send(timeoutMs);
    return undefined;
  } catch (error) {
    return awsFailure(service, error);
  }
};

/** Accepted messages use quotas of the AWS account (docs/decisions/monitoring.md#what-is-logged). */
export const logAccepted = (
  message: 'email accepted' | 'sms accepted',
  { event, notificationId, deliveryId, trace }: Alert,
): void =>
  logger.info(message, {
    delivery_id: deliveryId,
    tenant_id: event.tenant_id,
    event_id: event.event_id,
    notification_id: notificationId,
    trace_id: trace?.id,
  });
