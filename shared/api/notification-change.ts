import type { Audit } from '../adapters/audits/audit-log.ts';
import type {
  NotificationKey,
  NotificationRepository,
  VersionedNotification,
} from '../adapters/notifications/notification-repository.ts';
import type { AuditedEndpoint } from '../contracts/audit.ts';
import type { NotificationAttributes } from '../contracts/notification.ts';
import type { SigningSecrets } from '../contracts/signing-secrets.ts';
import { notFound, unavailable } from '../domain/errors.ts';
import { assertChangeable } from '../domain/notification.ts';

/** The maximum number of attempts to change a notification that other requests change concurrently. */
const MAX_ATTEMPTS = 10;

/** A notification after a change, and the names of the attributes that differ. */
export type NotificationChange = {
  attributes: NotificationAttributes;
  /** Default: as before. */
  signingSecrets?: SigningSecrets;
  changed: readonly string[];
};

/**
 * Creates the change of a notification with optimistic concurrency: it reads the notification and writes what `change`
 * returns with its audit entry if the version has not changed. Concurrent changes are applied one after the other
 * (docs/decisions/api.md#partial-updates).
 *
 * @throws ServiceError 403, 404, 503 if every attempt conflicts with another change, and what `change` throws
 */
export const createNotificationChange =
  (notifications: Pick<NotificationRepository, 'get' | 'replace'>, action: AuditedEndpoint) =>
  /** @param change returns undefined if it changes nothing, which writes nothing */
  async (
    key: NotificationKey,
    audit: Audit,
    change: (current: VersionedNotification) => NotificationChange | undefined,
  ): Promise<void> => {
    assertChangeable(key.id);
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
      const current = await notifications.get(key);
      if (!current) throw notFound('The notification');
      const wanted = change(current);
      if (!wanted) return;
      const { attributes, changed, signingSecrets } = wanted;
      const entry = audit({ action, target_id: key.id, changed });
      if (await notifications.replace(key, current.stored, attributes, entry, signingSecrets)) return;
    }
    throw unavailable();
  };
