import type { NotificationKey, NotificationRepository } from '../adapters/notifications/notification-repository.ts';
import { parseNotification } from '../contracts/notification.ts';
import { notFound, unavailable } from '../domain/errors.ts';
import { assertChangeable, type Changes, withChanges } from '../domain/notification.ts';
import { valid } from './request.ts';
import { assertFitsResponse } from './response.ts';

/** Times that an update starts over because another one was faster. */
const ROUNDS = 10;

/**
 * Updates a notification with optimistic concurrency (design 2, PUT): reads it, lays the changes over it, validates the
 * whole, and writes it only over the version that was read. Of two updates at once, one builds on the other.
 *
 * @throws ServiceError 400, 403, 404, 413, or 503 where others are always faster
 */
export const createNotificationUpdate =
  (notifications: Pick<NotificationRepository, 'get' | 'replace'>) =>
  async (key: NotificationKey, changes: Changes): Promise<void> => {
    assertChangeable(key.id);
    for (let round = 0; round < ROUNDS; round++) {
      const current = await notifications.get(key);
      if (!current) throw notFound('The notification');
      if (Object.keys(changes).length === 0) return;
      const attributes = valid(parseNotification(withChanges(current.record, changes)));
      assertFitsResponse(attributes);
      if (await notifications.replace(key, current.stored, attributes)) return;
    }
    throw unavailable();
  };
