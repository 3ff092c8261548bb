import type { Audit } from '../adapters/audits/audit-log.ts';
import type { NotificationKey, NotificationRepository } from '../adapters/notifications/notification-repository.ts';
import { parseNotification } from '../contracts/notification.ts';
import { changedAttributes } from '../domain/changed-attributes.ts';
import { notFound, unavailable } from '../domain/errors.ts';
import { assertChangeable, type Changes, keptHeaders, withChanges } from '../domain/notification.ts';
import { valid } from './request.ts';
import { assertFitsResponse } from './response.ts';

/** The maximum number of attempts to update a notification that other requests change concurrently. */
const MAX_ATTEMPTS = 10;

/**
 * Creates the update of a notification with optimistic concurrency: it reads the notification, merges the changes,
 * validates the result and writes it with its audit entry if the version has not changed. Concurrent updates are applied
 * one after the other (docs/decisions/api.md#partial-updates). An update that changes nothing writes nothing.
 *
 * @throws ServiceError 400, 403, 404, 413, or 503 if every attempt conflicts with another update
 */
export const createNotificationUpdate =
  (notifications: Pick<NotificationRepository, 'get' | 'replace'>) =>
  async (key: NotificationKey, changes: Changes, audit: Audit): Promise<void> => {
    assertChangeable(key.id);
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
      const current = await notifications.get(key);
      if (!current) throw notFound('The notification');
      if (Object.keys(changes).length === 0) return;
      const updated = withChanges(current.record, changes);
      const attributes = valid(parseNotification(updated, keptHeaders(current.unmasked, updated)));
      assertFitsResponse(attributes);
      const changed = changedAttributes(current.unmasked, attributes);
      if (changed.length === 0) return;
      const entry = audit({ action: 'update-notification', target_id: key.id, changed });
      if (await notifications.replace(key, current.stored, attributes, entry)) return;
    }
    throw unavailable();
  };
