import type { NotificationKey } from '../../domain/notification.ts';
import { errorTrace, logger } from '../logger.ts';
import { count } from '../metrics.ts';

/**
 * A stored notification cannot be read: its type is unknown to this version of the service, or its data is incomplete.
 */
export class UnreadableNotificationError extends Error {
  override readonly name = 'UnreadableNotificationError';

  constructor({ id }: NotificationKey, cause?: unknown) {
    super(`The notification ${id} cannot be read.`, { cause });
  }
}

/** Logs and counts an unreadable notification. @returns the error to throw */
export const unreadable = (key: NotificationKey, cause?: unknown): UnreadableNotificationError => {
  logger.error('unreadable notification', {
    tenant_id: key.tenant,
    notification_id: key.id,
    ...(cause !== undefined && errorTrace(cause)),
  });
  count({ unreadable_notifications: 1 });
  return new UnreadableNotificationError(key, cause);
};

/** Returns undefined for an unreadable notification, which is already logged and counted. Rethrows other errors. */
export const omitUnreadable = (error: unknown): undefined => {
  if (!(error instanceof UnreadableNotificationError)) throw error;
};
