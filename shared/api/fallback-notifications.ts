import type { NotificationRepository } from '../adapters/notifications/notification-repository.ts';
import { unknownFallbacks } from '../domain/errors.ts';

/** Rejects fallback notifications that the tenant does not have. @throws ServiceError 400 with their IDs */
export const assertExistingFallbacks = async (
  notifications: Pick<NotificationRepository, 'exists'>,
  tenant: string,
  ids: readonly string[] = [],
): Promise<void> => {
  const isFound = await Promise.all(ids.map((id) => notifications.exists({ tenant, id })));
  const unknown = ids.filter((_, index) => !isFound[index]);
  if (unknown.length > 0) throw unknownFallbacks(unknown);
};
