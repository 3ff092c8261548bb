import type { EmailStops } from '../adapters/accounts/email-stops.ts';
import type { Audit } from '../adapters/audits/audit-log.ts';
import { errorTrace, logger } from '../adapters/logger.ts';
import type {
  NotificationRepository,
  VersionedNotification,
} from '../adapters/notifications/notification-repository.ts';
import type { AuditedEndpoint } from '../contracts/audit.ts';
import { type NotificationAttributes, parseNotification } from '../contracts/notification.ts';
import { typeFields, type UrlRule } from '../contracts/notification-fields.ts';
import type { NotificationRecord } from '../contracts/responses/notifications.ts';
import type { SigningSecrets } from '../contracts/webhook-request.ts';
import { changedAttributes } from '../domain/audit.ts';
import { noSigningSecret, notFound, unavailable } from '../domain/errors.ts';
import type { NotificationKey } from '../domain/notification.ts';
import { assertChangeable, type Changes, keptHeaders, withChanges } from '../domain/notification-changes.ts';
import { newSigningSecret, noSigningSecrets, withNewSecret, withoutSecret } from '../domain/signing-secrets.ts';
import type { Clock } from '../domain/time.ts';
import { type ParsedRequest, valid } from './request.ts';
import {
  type ApiResponse,
  assertFitsResponse,
  created,
  locationResponse,
  ok,
  withPreferenceApplied,
} from './response.ts';

/** To change a notification that other requests change concurrently. */
const MAX_ATTEMPTS = 10;

/** `changed`: the names of the attributes that differ. */
export type NotificationChange = {
  attributes: NotificationAttributes;
  /** Default: as before. */
  signingSecrets?: SigningSecrets;
  changed: readonly string[];
};

/**
 * Creates the change of a notification with optimistic concurrency: it writes what `change` returns, with its audit entry,
 * unless another request changed the notification meanwhile (docs/decisions/api.md#partial-updates).
 * @throws ServiceError 403, 404, 503 if every attempt conflicts with another change, and what `change` throws
 */
const createNotificationChange =
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
 * @throws ServiceError 400 if it is no webhook, 403, 404, or 503 if every attempt conflicts with another change
 */
export const createSigningSecretChanges = (
  notifications: Pick<NotificationRepository, 'get' | 'replace'>,
  clock: Clock = Date.now,
) => ({
  async create(key: NotificationKey, audit: Audit): Promise<string> {
    const secret = newSigningSecret();
    await createNotificationChange(notifications, 'create-signing-secret')(key, audit, (current) =>
      changeOf(current, withNewSecret(current.stored.signing_secrets ?? noSigningSecrets, secret, clock())),
    );
    return secret;
  },

  delete: (key: NotificationKey, audit: Audit): Promise<void> =>
    createNotificationChange(notifications, 'delete-signing-secret')(key, audit, (current) =>
      changeOf(current, withoutSecret(current.stored.signing_secrets, clock())),
    ),
});

type ReturnPreference = 'minimal' | 'representation' | undefined;

/** What the response to a change contains (RFC 7240, section 4.2). */
export const returnPreference = ({ preferences }: ParsedRequest): ReturnPreference => {
  const value = preferences.get('return');
  return value === 'minimal' || value === 'representation' ? value : undefined;
};

/**
 * Responds to a change with the notification, if the request prefers it (201 and 200). The change is made: if the
 * notification cannot be read, or was deleted, the preference is not applied.
 */
export const createChangedResponse =
  (notifications: Pick<NotificationRepository, 'get'>) =>
  async (
    status: 201 | 204,
    key: NotificationKey,
    location: string,
    preference: ReturnPreference,
  ): Promise<ApiResponse> => {
    const minimal = locationResponse(status, location);
    const applied = preference && `return=${preference}`;
    if (preference !== 'representation') return withPreferenceApplied(minimal, applied);
    const found = await notifications.get(key).catch((error: unknown) => {
      logger.warn('changed notification not read', { notification_id: key.id, ...errorTrace(error) });
    });
    if (!found) return minimal;
    const { headers, ...response } = (status === 201 ? created : ok)(found.record);
    return withPreferenceApplied({ ...response, headers: { ...minimal.headers, ...headers } }, applied);
  };

/** Without the stop of its address, if that cannot be read: the operation does not depend on the table Accounts. */
export const createNotificationResponse =
  (stops: Pick<EmailStops, 'find'>) =>
  async (tenant: string, record: NotificationRecord): Promise<ApiResponse> => {
    const { address } = record.details;
    if (record.type !== 'email' || address === undefined) return ok(record);
    const stop = await stops.find({ tenant, address }).catch((error: unknown) => {
      logger.warn('stops of emails not read', { notification_id: record.id, ...errorTrace(error) });
    });
    return ok({ ...record, ...(stop && { stopped: { reason: stop.reason, since: stop.sinceMs } }) });
  };
