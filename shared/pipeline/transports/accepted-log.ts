import { logger } from '../../adapters/logger.ts';
import type { Alert } from '../../domain/transport.ts';

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
