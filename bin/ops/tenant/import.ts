import { createHash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { readNotificationCount } from '../../../shared/adapters/notifications/notification-counter.ts';
import type { VersionedNotification } from '../../../shared/adapters/notifications/notification-reader.ts';
import { UnreadableNotificationError } from '../../../shared/adapters/notifications/notification-targets.ts';
import { valid } from '../../../shared/api/request.ts';
import { assertFitsResponse } from '../../../shared/api/response.ts';
import { type AccountChanges, parseAccountChanges } from '../../../shared/contracts/account.ts';
import { errorStatus } from '../../../shared/contracts/errors.ts';
import { isJsonObject } from '../../../shared/contracts/json.ts';
import {
  type NotificationAttributes,
  otherMuteErrors,
  parseNotification,
} from '../../../shared/contracts/notification.ts';
import { brokenTextRule } from '../../../shared/contracts/text.ts';
import { DEFAULT_TIME_ZONE } from '../../../shared/contracts/time-zone.ts';
import { changedAttributes } from '../../../shared/domain/audit.ts';
import { urlRule } from '../../../shared/domain/egress.ts';
import { badRequest, notificationLimitReached, ServiceError } from '../../../shared/domain/errors.ts';
import type { NotificationKey } from '../../../shared/domain/notification.ts';
import { DEFAULT_NOTIFICATION_ID, isNotificationId } from '../../../shared/domain/notification-id.ts';
import { pluralize, sanitize } from '../print.ts';
import type { Session } from '../session.ts';
import type { SourceRecord } from './import-source.ts';

/** What an import does with a record. `differs` means that other values are stored, and stay. */
export type ImportResult = 'created' | 'updated' | 'unchanged' | 'differs';

export type ImportedNotification = { old_id: string; new_id: string; result: ImportResult };

export type ImportedAttribute = { attribute: string; result: ImportResult };

/** A record that is not imported, its ID in the source if it is known, and the rules that it breaks. */
export type Refusal = { source: string; old_id?: string; error: string };

export type TenantImport = {
  notifications: ImportedNotification[];
  account: ImportedAttribute[];
  refused: Refusal[];
};

type ImportOptions = {
  /** The maximum number of notifications of the tenant. */
  limit: number;
  isDryRun: boolean;
  canUpdate: boolean;
};

/** Returns the rule that a record breaks. Rethrows an error that is no reason to refuse it. */
const brokenRule = (error: unknown): string => {
  if (error instanceof ServiceError && errorStatus[error.type] < 500) return error.details;
  if (error instanceof UnreadableNotificationError) return error.message;
  throw error;
};

/** What a system shows instead of a secret. */
const MASKED = /^[*\u2022]{3,}$/u;

/** Rejects values that the source does not show. @throws ServiceError 400 */
const assertUnmasked = (fields: Readonly<Record<string, unknown>>): void => {
  const masked = Object.entries(fields).flatMap(([name, value]) => {
    if (!isJsonObject(value)) return MASKED.test(String(value)) ? [name] : [];
    return Object.keys(value).flatMap((key) => (MASKED.test(String(value[key])) ? [`${name}.${key}`] : []));
  });
  if (masked.length > 0) throw badRequest(masked.map((name) => `${name}: is masked, enter the value`).join('; '));
};

const byKey = ([left]: readonly string[], [right]: readonly string[]): number =>
  (left ?? '') < (right ?? '') ? -1 : 1;

/** Returns a hash of the attributes that does not depend on the order of keys. */
const hashOf = ({ details, metadata = {}, ...attributes }: NotificationAttributes): string => {
  const maps = [details, metadata].map((map) => Object.entries(map).sort(byKey));
  const { label, type, webhook_request, ordered, muted_until } = attributes;
  return createHash('sha256')
    .update(JSON.stringify([label, type, ...maps, webhook_request, ordered, muted_until]))
    .digest('base64');
};

/** Attributes that may be absent or undefined, which are the same. */
const optionalAttributes = {
  metadata: undefined,
  webhook_request: undefined,
  ordered: undefined,
  muted_until: undefined,
};

/** Returns the ID of a record in the source. @throws ServiceError 400 */
const oldIdOf = ({ id }: Readonly<Record<string, unknown>>): string => {
  if (typeof id !== 'string') throw badRequest(`id: ${id === undefined ? 'is required' : 'must be a string'}`);
  const rule = sanitize(id) === id ? brokenTextRule(id, 1, 255) : 'must not contain control characters';
  if (rule !== undefined) throw badRequest(`id: ${rule}`);
  return id;
};

/** Creates a function that imports a notification. It returns undefined for one that was already in the source. */
const notificationImport = (
  { notifications, documents, deployment, audit }: Session,
  tenant: string,
  { limit, isDryRun, canUpdate }: ImportOptions,
) => {
  const isAllowedUrl = urlRule(deployment.outputs.Settings.changed.egressAllow ?? []);
  const imported = new Map<string, { hash: string; source: string }>();
  /** How many notifications the tenant would have after a dry run. */
  let planned: number | undefined;

  /** @returns false if the ID exists @throws ServiceError 403 if the tenant is at its limit */
  const create = async (id: string, attributes: NotificationAttributes): Promise<boolean> => {
    if (!isDryRun)
      return notifications.createWithId({ key: { tenant, id }, attributes, audit: await audit(tenant), limit });
    planned ??= await readNotificationCount(documents, deployment.outputs.NotificationsTable, tenant);
    if (planned >= limit) throw notificationLimitReached(limit);
    planned++;
    return true;
  };

  /** @returns false if the notification has changed */
  const replace = async (
    key: NotificationKey,
    { unmasked, stored }: VersionedNotification,
    attributes: NotificationAttributes,
  ): Promise<boolean> => {
    const changed = changedAttributes(unmasked, attributes);
    const entry = (await audit(tenant))({ action: 'update-notification', target_id: key.id, changed });
    return notifications.replace({ key, old: stored, attributes, entry });
  };

  const store = async (id: string, source: NotificationAttributes): Promise<ImportResult> => {
    const key = { tenant, id };
    const found = await notifications.get(key);
    // Each write fails if another one came first: then the result depends on what that stored.
    if (!found) return (await create(id, source)) ? 'created' : store(id, source);
    // A source without mutes ends none that was set here.
    const attributes = { ...source, muted_until: source.muted_until ?? found.unmasked.muted_until };
    if (isDeepStrictEqual({ ...optionalAttributes, ...found.unmasked }, { ...optionalAttributes, ...attributes }))
      return 'unchanged';
    if (!canUpdate) return 'differs';
    const isUpdated = isDryRun || (await replace(key, found, attributes));
    return isUpdated ? 'updated' : store(id, source);
  };

  return async (
    record: Readonly<Record<string, unknown>>,
    source: string,
  ): Promise<ImportedNotification | undefined> => {
    const old_id = oldIdOf(record);
    if (old_id === DEFAULT_NOTIFICATION_ID) return { old_id, new_id: old_id, result: 'unchanged' };
    const { details, metadata } = record;
    assertUnmasked({ details, metadata });
    const attributes = valid(parseNotification(record, isAllowedUrl), otherMuteErrors(record));
    assertFitsResponse(attributes);
    const hash = hashOf(attributes);
    const earlier = imported.get(old_id);
    if (earlier?.hash === hash) return undefined;
    if (earlier) throw badRequest(`id: has other attributes in ${earlier.source}`);
    const new_id = importedId(tenant, old_id);
    const result = await store(new_id, attributes);
    imported.set(old_id, { hash, source });
    return { old_id, new_id, result };
  };
};

const attributes = ['technical_contacts', 'escalation_notifications', 'summaries', 'time_zone', 'webhook_token'];

/** Imports the attributes of an account that the source has and an update can set. */
const importAccount = async (
  { accounts, audit }: Session,
  tenant: string,
  { isDryRun, canUpdate }: ImportOptions,
  record: Readonly<Record<string, unknown>>,
): Promise<ImportedAttribute[]> => {
  assertUnmasked({ webhook_token: record.webhook_token });
  const parsed = valid(parseAccountChanges(Object.fromEntries(attributes.map((name) => [name, record[name]]))));
  const fallback = parsed.escalation_notifications?.map((id) => importedId(tenant, id));
  const changes = { ...parsed, ...(fallback && { escalation_notifications: fallback }) };
  const { contacts, fallbackNotifications, summaries, timeZone, token } = await accounts.describe(tenant);
  /** What is stored of each attribute, and what stands for none. */
  const stored: readonly [keyof AccountChanges, value: unknown, none: unknown][] = [
    ['technical_contacts', contacts, []],
    ['escalation_notifications', fallbackNotifications, []],
    ['summaries', summaries ?? null, null],
    ['time_zone', timeZone, DEFAULT_TIME_ZONE],
    ['webhook_token', token, undefined],
  ];
  const imported: ImportedAttribute[] = [];
  for (const [attribute, value, none] of stored) {
    if (changes[attribute] === undefined) continue;
    const isSet = !isDeepStrictEqual(value, none);
    const isReplaced = !isDeepStrictEqual(value, changes[attribute]) && (!isSet || canUpdate);
    if (isReplaced && !isDryRun)
      await accounts.update(tenant, { [attribute]: changes[attribute] }, await audit(tenant));
    const replaced = isSet ? 'updated' : 'created';
    const kept = isDeepStrictEqual(value, changes[attribute]) ? 'unchanged' : 'differs';
    imported.push({ attribute, result: isReplaced ? replaced : kept });
  }
  return imported;
};

/** Returns the kind and the record of a line of our own export, and guesses the kind of any other record. */
const kindAndRecord = (value: Readonly<Record<string, unknown>>): { kind: string; record: Record<string, unknown> } => {
  const { kind, record } = value;
  if (typeof kind === 'string' && isJsonObject(record)) return { kind, record };
  return { kind: 'technical_contacts' in value ? 'account' : 'notification', record: value };
};

/**
 * Imports notifications and accounts of the API, and lines of an export, under the rules of the API. It continues
 * after records that are refused, and can be repeated. @throws ServiceError serviceUnavailable, UnconfirmedChangeError
 */
export const importTenant = async (
  session: Session,
  tenant: string,
  records: AsyncIterable<SourceRecord>,
  options: ImportOptions,
): Promise<TenantImport> => {
  const result: TenantImport = { notifications: [], account: [], refused: [] };
  const importNotification = notificationImport(session, tenant, options);
  let openExport: string | undefined;

  const importRecord = async (source: string, value: unknown): Promise<void> => {
    if (!isJsonObject(value)) throw badRequest('must be a JSON object');
    const { kind, record } = kindAndRecord(value);
    if (kind === 'export') openExport = source;
    if (kind === 'end') openExport = undefined;
    if (kind === 'unreadable_notification') throw badRequest('the exported notification could not be read');
    if (kind === 'account') result.account.push(...(await importAccount(session, tenant, options, record)));
    if (kind !== 'notification') return;
    const imported = await importNotification(record, source);
    if (imported) result.notifications.push(imported);
  };

  let count = 0;
  for await (const found of records) {
    const { place: source } = found;
    try {
      if ('error' in found) throw badRequest(found.error);
      await importRecord(source, found.record);
    } catch (error) {
      const id = 'record' in found && isJsonObject(found.record) ? kindAndRecord(found.record).record.id : undefined;
      result.refused.push({ source, ...(typeof id === 'string' && { old_id: id }), error: brokenRule(error) });
    }
    session.progress.show(`Read ${pluralize(++count, 'record')}.`);
  }
  if (openExport) result.refused.push({ source: openExport, error: 'the export is incomplete: it has no line `end`' });
  return result;
};

const CROCKFORD_BASE32 = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';

/**
 * Returns the ID of a notification that another system knows by `oldId`, always the same for a tenant, so that an import
 * can be repeated (docs/decisions/storage.md#imported-notifications). An ID of this service is kept. The ULID of another
 * one has the time 0, so imported notifications are listed before those that the service created.
 */
export const importedId = (tenant: string, oldId: string): string => {
  if (isNotificationId(oldId)) return oldId;
  const hash = createHash('sha256')
    .update(JSON.stringify([tenant, oldId]))
    .digest();
  return `nt${'0'.repeat(10)}${Array.from(hash.subarray(0, 16), (byte) => CROCKFORD_BASE32[byte % 32]).join('')}`;
};

const results = ['created', 'updated', 'unchanged', 'differs'] as const satisfies ImportResult[];

export const describeMap = (notifications: readonly ImportedNotification[]): string =>
  [
    'old_id\tnew_id\tresult',
    ...notifications.map(({ old_id, new_id, result }) => `${old_id}\t${new_id}\t${result}`),
  ].join('\n');

/** Returns the refused records, what differs, and a summary, one per line. */
export const describeImport = ({ notifications, account, refused }: TenantImport, isDryRun: boolean): string => {
  const counts = results.flatMap((result) => {
    const count = notifications.filter((each) => each.result === result).length;
    return count > 0 ? [`${count} ${result}`] : [];
  });
  const hasDifferences = [...notifications, ...account].some(({ result }) => result === 'differs');
  return [
    ...refused.map(({ source, old_id, error }) =>
      [source, ...(old_id === undefined ? [] : [old_id]), error].map(sanitize).join(': '),
    ),
    ...account.map(({ attribute, result }) => `account ${attribute}: ${result}`),
    ...(hasDifferences ? ['What differs was not changed: --update replaces it.'] : []),
    `${isDryRun ? 'Dry run, nothing was changed. ' : ''}${pluralize(notifications.length, 'notification')}: ${
      counts.join(', ') || 'none'
    }; ${pluralize(refused.length, 'record')} refused.`,
  ].join('\n');
};
