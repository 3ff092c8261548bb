import type { AccountRepository } from '../adapters/accounts/account-repository.ts';
import type { NotificationRepository } from '../adapters/notifications/notification-repository.ts';
import { unknownFallbacks } from '../domain/errors.ts';

/**
 * Rejects new fallback notifications that the tenant does not have. The account keeps the IDs of deleted ones, so that a
 * request may contain what it read.
 *
 * @throws ServiceError 400 with their IDs
 */
export const assertExistingFallbacks = async (
  notifications: Pick<NotificationRepository, 'exists'>,
  accounts: Pick<AccountRepository, 'fallbackNotifications'>,
  tenant: string,
  wanted: readonly string[] = [],
): Promise<void> => {
  if (wanted.length === 0) return;
  const present = await accounts.fallbackNotifications(tenant);
  const ids = wanted.filter((id) => !present.includes(id));
  const isFound = await Promise.all(ids.map((id) => notifications.exists({ tenant, id })));
  const unknown = ids.filter((_, index) => !isFound[index]);
  if (unknown.length > 0) throw unknownFallbacks(unknown);
};
