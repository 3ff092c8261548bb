import type { Audit } from '../adapters/audits/audit-log.ts';
import type { NotificationKey, NotificationRepository } from '../adapters/notifications/notification-repository.ts';
import { parseNotification } from '../contracts/notification.ts';
import { changedAttributes } from '../domain/changed-attributes.ts';
import { type Changes, keptHeaders, withChanges } from '../domain/notification.ts';
import { createNotificationChange } from './notification-change.ts';
import { valid } from './request.ts';
import { assertFitsResponse } from './response.ts';

/**
 * Creates the update of a notification: it merges the changes and validates the result. An update that changes nothing
 * writes nothing.
 *
 * @throws ServiceError 400, 403, 404, 413, or 503 if every attempt conflicts with another change
 */
export const createNotificationUpdate = (notifications: Pick<NotificationRepository, 'get' | 'replace'>) => {
  const change = createNotificationChange(notifications, 'update-notification');
  return (key: NotificationKey, changes: Changes, audit: Audit): Promise<void> =>
    change(key, audit, ({ record, unmasked, stored }) => {
      if (Object.keys(changes).length === 0) return undefined;
      const updated = withChanges(record, changes);
      const attributes = valid(parseNotification(updated, keptHeaders(unmasked, updated)));
      assertFitsResponse(attributes);
      const isUnsigned = stored.signing_secrets !== undefined && attributes.type !== 'webhook';
      const changed = [...changedAttributes(unmasked, attributes), ...(isUnsigned ? ['signing_secret'] : [])];
      return changed.length === 0 ? undefined : { attributes, changed };
    });
};
