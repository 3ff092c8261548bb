import type { Audit } from '../adapters/audits/audit-log.ts';
import type {
  NotificationRepository,
  VersionedNotification,
} from '../adapters/notifications/notification-repository.ts';
import type { AuditedEndpoint } from '../contracts/audit.ts';
import { type NotificationAttributes, parseNotification } from '../contracts/notification.ts';
import type { UrlRule } from '../contracts/notification-fields.ts';
import { typeFields } from '../contracts/notification-fields.ts';
import type { SigningSecrets } from '../contracts/signing-secrets.ts';
import { changedAttributes } from '../domain/audit.ts';
import type { Clock } from '../domain/clock.ts';
import { noSigningSecret, notFound, unavailable } from '../domain/errors.ts';
import type { NotificationKey } from '../domain/notification.ts';
import { assertChangeable, type Changes, keptHeaders, withChanges } from '../domain/notification-changes.ts';
import { newSigningSecret, noSigningSecrets, withNewSecret, withoutSecret } from '../domain/signing-secrets.ts';
import { valid } from './request.ts';
import { assertFitsResponse } from './response.ts';

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
      if (await notifications.replace({ key, old: current.stored, attributes, entry, signingSecrets })) return;
    }
    throw unavailable();
  };

/**
 * Creates the update of a notification: it merges the changes and validates the result. An update that changes nothing
 * writes nothing. A URL that was stored may stay.
 *
 * @throws ServiceError 400, 403, 404, 413, or 503 if every attempt conflicts with another change
 */
export const createNotificationUpdate = (
  notifications: Pick<NotificationRepository, 'get' | 'replace'>,
  isAllowedUrl: UrlRule,
) => {
  const change = createNotificationChange(notifications, 'update-notification');
  return (key: NotificationKey, changes: Changes, audit: Audit): Promise<void> =>
    change(key, audit, ({ record, unmasked, stored }) => {
      if (Object.keys(changes).length === 0) return undefined;
      const updated = withChanges(record, changes);
      const isAllowed = (url: string) => isAllowedUrl(url) || Object.values(typeFields(record)).includes(url);
      const attributes = valid(parseNotification(updated, isAllowed, keptHeaders(unmasked, updated)));
      assertFitsResponse(attributes);
      const isUnsigned = stored.signing_secrets !== undefined && attributes.type !== 'webhook';
      const changed = [...changedAttributes(unmasked, attributes), ...(isUnsigned ? ['signing_secret'] : [])];
      return changed.length === 0 ? undefined : { attributes, changed };
    });
};

/** Returns the change of the own signing secrets of a webhook. @throws ServiceError 400 for another type */
const changeOf = (
  { unmasked: attributes, stored }: VersionedNotification,
  signingSecrets: SigningSecrets | undefined,
): NotificationChange | undefined => {
  if (attributes.type !== 'webhook') throw noSigningSecret();
  return signingSecrets && signingSecrets !== stored.signing_secrets
    ? { attributes, signingSecrets, changed: ['signing_secret'] }
    : undefined;
};

/**
 * Creates the changes of a notification's own signing secret (docs/api.md#own-signing-secrets).
 *
 * @throws ServiceError 400 if it is no webhook, 403, 404, or 503 if every attempt conflicts with another change
 */
export const createSigningSecretChanges = (
  notifications: Pick<NotificationRepository, 'get' | 'replace'>,
  clock: Clock = Date.now,
) => ({
  /** Creates or replaces the secret. @returns the new one */
  async create(key: NotificationKey, audit: Audit): Promise<string> {
    const secret = newSigningSecret();
    await createNotificationChange(notifications, 'create-signing-secret')(key, audit, (current) =>
      changeOf(current, withNewSecret(current.stored.signing_secrets ?? noSigningSecrets, secret, clock())),
    );
    return secret;
  },

  /** Deletes the secret, if there is one. */
  delete: (key: NotificationKey, audit: Audit): Promise<void> =>
    createNotificationChange(notifications, 'delete-signing-secret')(key, audit, (current) =>
      changeOf(current, withoutSecret(current.stored.signing_secrets, clock())),
    ),
});
