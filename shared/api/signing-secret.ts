import type { Audit } from '../adapters/audits/audit-log.ts';
import type {
  NotificationKey,
  NotificationRepository,
  VersionedNotification,
} from '../adapters/notifications/notification-repository.ts';
import type { SigningSecrets } from '../contracts/signing-secrets.ts';
import type { Clock } from '../domain/clock.ts';
import { noSigningSecret } from '../domain/errors.ts';
import { newSigningSecret, noSigningSecrets, withNewSecret, withoutSecret } from '../domain/signing-secrets.ts';
import { createNotificationChange, type NotificationChange } from './notification-change.ts';

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
