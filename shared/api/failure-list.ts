import type { FailureReader, NotificationFailures } from '../adapters/deliveries/notification-failures.ts';
import type { NotificationRepository } from '../adapters/notifications/notification-repository.ts';
import { omitUnreadable } from '../adapters/notifications/notification-targets.ts';
import type { Page, Slice } from '../contracts/collection.ts';
import type { ListedFailures } from '../contracts/responses/deliveries.ts';
import type { DeliveryTarget } from '../domain/notification.ts';
import { takePage } from './paging.ts';

/** The maximum number of notifications on a page: the last success of each is a query. */
const MAX_NOTIFICATIONS = 100;

/** Returns failures as tenants see them (docs/api.md#failures). Times are ms since the epoch. */
export const failureFields = (failures: Omit<NotificationFailures, 'notificationId'>) => ({
  failed: failures.failedCount,
  first_failed_at: failures.firstFailedAtMs,
  last_failed_at: failures.lastFailedAtMs,
  last_reason: failures.lastReason ?? null,
});

/** The failures of a notification that exists. */
type Found = { id: string; target: DeliveryTarget; failures: NotificationFailures };

/**
 * Creates the function that returns a page of a tenant's notifications with failures, by ID. It omits deleted and
 * unreadable notifications: nothing deletes the failures of a notification before they expire.
 */
export const createFailureList = (
  failures: FailureReader,
  notifications: Pick<NotificationRepository, 'targets'>,
): ((tenant: string, page: Page) => Promise<Slice<ListedFailures>>) => {
  async function* existing(tenant: string, start: string | null, groupSize: number): AsyncGenerator<Found> {
    for await (const group of failures.list(tenant, start, groupSize)) {
      const keys = group.map(({ notificationId: id }) => ({ tenant, id }));
      const targets = notifications.targets(keys);
      for (const found of group) {
        const id = found.notificationId;
        const target = await targets.find({ tenant, id }).catch(omitUnreadable);
        if (target) yield { id, target, failures: found };
      }
    }
  }

  const listed = async (tenant: string, { id, target, failures: found }: Found): Promise<ListedFailures> => ({
    notification_id: id,
    notification_label: target.label ?? null,
    type: target.type,
    ...failureFields(found),
    last_delivered_at: await failures.lastDeliveredAtMs({ tenant, notificationId: id }, found.firstFailedAtMs),
  });

  return async (tenant, { limit, marker }) => {
    const maxCount = Math.min(limit, MAX_NOTIFICATIONS);
    const { values, next } = await takePage(existing(tenant, marker, maxCount + 1), maxCount);
    return { values: await Promise.all(values.map((found) => listed(tenant, found))), next };
  };
};
