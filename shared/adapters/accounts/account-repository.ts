import { randomBytes } from 'node:crypto';
import { type DynamoDBDocumentClient, GetCommand, UpdateCommand } from '@aws-sdk/lib-dynamodb';
import { lru } from 'tiny-lru';
import * as z from 'zod/mini';
import type { AccountChanges, SummarySettings } from '../../contracts/account.ts';
import {
  effectiveLimits,
  isLimitName,
  type LimitName,
  limitNames,
  type TenantLimits,
} from '../../contracts/tenant-limits.ts';
import { DEFAULT_TIME_ZONE } from '../../contracts/time-zone.ts';
import { changedAttributes } from '../../domain/audit.ts';
import type { Clock } from '../../domain/clock.ts';
import { newSigningSecret, RETIREMENT_MS } from '../../domain/signing-secrets.ts';
import { covers, isOver, type WithheldPeriod } from '../../domain/withheld.ts';
import type { Audit } from '../audits/audit-log.ts';
import { attributesUpdate } from '../dynamodb/conditional-writes.ts';
import { type Item, storedPeriod } from '../dynamodb/items.ts';
import { retryConflicts, type TransactItem, transact } from '../dynamodb/transactions.ts';

/**
 * The token and signing secrets (`whsec_…`) of a tenant's webhooks. After a rotation, `secrets` also contains the
 * replaced secret until it stops signing.
 */
export type WebhookCredentials = { token: string; secrets: string[] };

/** Returns the primary key of a tenant's account (table Accounts). */
export const accountKey = (tenant: string) => ({ pk: `account#${tenant}` });

const storedSummaries = z.object({ email_after: z.number(), sms_after: z.number(), window_minutes: z.number() });

/** The item of an account. */
const storedAccount = z.object({
  /** Sent with every webhook request. */
  webhook_token: z.optional(z.string()),
  /** The current signing secret, `whsec_…`. */
  webhook_secrets: z.optional(z.array(z.string())),
  /** The replaced signing secret, if any. It also signs until `until_ms`, ms since the epoch. */
  retired_secrets: z.optional(z.array(z.object({ secret: z.string(), until_ms: z.number() }))),
  /** Email addresses. */
  technical_contacts: z.optional(z.array(z.string())),
  /** IDs of notifications to which escalations also go. */
  escalation_notifications: z.optional(z.array(z.string())),
  /** When alerts are summarized, if they are. */
  summaries: z.optional(storedSummaries),
  /** The IANA time zone of emails, unless it is the default. */
  time_zone: z.optional(z.string()),
  /** The period of shadow mode, if there is or was one. */
  shadow: z.optional(storedPeriod),
  /** When operators turned off its emails, if they are off. */
  email_off_since_ms: z.optional(z.number()),
  /** Earlier periods of shadow mode, whose events may still be queued. */
  ended_shadows: z.optional(z.array(storedPeriod)),
});

/** The limits that differ from the settings of the deployment, each an attribute of the item. */
const storedLimits = z.partialRecord(z.enum(limitNames), z.number());

const parseAccount = (item: Item) => ({
  ...storedAccount.parse(item),
  limits: storedLimits.parse(Object.fromEntries(Object.entries(item).filter(([name]) => isLimitName(name)))),
});
type StoredAccount = ReturnType<typeof parseAccount>;

/** How long functions cache an account: a change of credentials or limits takes effect within this time. */
const CACHE_MS = 60_000;

/** How long an ended period of shadow mode is kept: longer than a message on a queue (4 days) and a dead letter (14). */
const ENDED_SHADOW_MS = 30 * 86_400_000;

/**
 * Account details for operators and admins. `retired` is the replaced secret, which also signs until `untilMs`, ms
 * since the epoch.
 */
export type AccountDescription = {
  contacts: string[];
  /** The IDs of the fallback notifications. */
  fallbackNotifications: string[];
  summaries: SummarySettings | undefined;
  timeZone: string;
  token: string | undefined;
  secrets: string[];
  retired: { secret: string; untilMs: number }[];
  /** The limits that differ from the settings of the deployment. */
  limits: Partial<TenantLimits>;
  /** The period of shadow mode, unless it is over. */
  shadow: WithheldPeriod | undefined;
  /** When operators turned off its emails, ms since the epoch, if they are off. */
  emailOffSinceMs: number | undefined;
};

/** Returns a limit of a tenant. */
export type LimitOf = (tenant: string) => Promise<number>;

/** An account that is being read or was read. */
type CachedAccount = {
  account: Promise<StoredAccount>;
  untilMs: number;
  /** True if the account was read in shadow mode. */
  isInShadowMode?: boolean;
};

/** Another request replaced the signing secret between the read and the write. */
export class ConcurrentRotationError extends Error {
  override name = 'ConcurrentRotationError';

  constructor() {
    super('The signing secret was replaced at the same time. Check it before you try again.');
  }
}

/** Reads and writes the accounts of tenants (table Accounts). */
export const createAccountRepository = (client: DynamoDBDocumentClient, table: string, clock: Clock = Date.now) => {
  const cache = lru<CachedAccount>(1_000);

  /** Returns the account, strongly consistent. A missing item has no attributes. */
  const read = async (tenant: string): Promise<StoredAccount> => {
    const { Item = {} } = await client.send(
      new GetCommand({ TableName: table, Key: accountKey(tenant), ConsistentRead: true }),
    );
    return parseAccount(Item);
  };

  /**
   * Returns the transaction item that sets attributes of an account, or removes those that are undefined, on a condition.
   */
  const setAttributes = (
    tenant: string,
    attributes: Item,
    condition: { ConditionExpression?: string; ExpressionAttributeValues?: Record<string, unknown> } = {},
  ): TransactItem => {
    const { ExpressionAttributeValues, ...update } = attributesUpdate(attributes);
    const values = { ...condition.ExpressionAttributeValues, ...ExpressionAttributeValues };
    return {
      Update: {
        TableName: table,
        Key: accountKey(tenant),
        ...update,
        ...condition,
        // DynamoDB rejects an empty map.
        ExpressionAttributeValues: Object.keys(values).length > 0 ? values : undefined,
      },
    };
  };

  /** Returns the period of shadow mode unless it is over. */
  const shadowOf = ({ shadow }: StoredAccount): WithheldPeriod | undefined =>
    shadow && !isOver(shadow, clock()) ? shadow : undefined;

  /** Returns the replaced secret if it still signs. */
  const stillSigning = ({ retired_secrets: retired = [] }: StoredAccount) =>
    retired.filter(({ until_ms }) => until_ms > clock()).slice(0, 1);

  /** Stores new credentials unless the account has some: the first writer wins. @returns the stored account */
  const createCredentials = async (tenant: string): Promise<StoredAccount> => {
    const { Attributes } = await retryConflicts(() =>
      client.send(
        new UpdateCommand({
          TableName: table,
          Key: accountKey(tenant),
          UpdateExpression:
            'SET webhook_token = if_not_exists(webhook_token, :token), webhook_secrets = if_not_exists(webhook_secrets, :secrets)',
          ExpressionAttributeValues: {
            ':token': randomBytes(32).toString('base64url'),
            ':secrets': [newSigningSecret()],
          },
          ReturnValues: 'ALL_NEW',
        }),
      ),
    );
    return parseAccount(Attributes ?? {});
  };

  /** Returns the account with webhook credentials, which are created if they are missing. */
  const withCredentials = async (tenant: string, found: StoredAccount): Promise<StoredAccount> =>
    found.webhook_token && found.webhook_secrets ? found : createCredentials(tenant);

  /** Returns the account, read at most a minute ago. Caching promises lets concurrent deliveries share one read. */
  const cached = (tenant: string): CachedAccount => {
    const found = cache.get(tenant);
    if (found && found.untilMs > clock()) return found;
    const readOnce = async (): Promise<StoredAccount> => {
      const account = await read(tenant);
      entry.isInShadowMode = shadowOf(account) !== undefined;
      return account;
    };
    const entry: CachedAccount = { account: readOnce().catch(forget(tenant)), untilMs: clock() + CACHE_MS };
    cache.set(tenant, entry);
    return entry;
  };

  const forget =
    (tenant: string) =>
    (error: unknown): never => {
      cache.delete(tenant);
      throw error;
    };

  const describe = (stored: StoredAccount): AccountDescription => ({
    contacts: stored.technical_contacts ?? [],
    fallbackNotifications: stored.escalation_notifications ?? [],
    summaries: stored.summaries,
    timeZone: stored.time_zone ?? DEFAULT_TIME_ZONE,
    token: stored.webhook_token,
    secrets: stored.webhook_secrets ?? [],
    retired: stillSigning(stored).map(({ secret, until_ms: untilMs }) => ({ secret, untilMs })),
    limits: stored.limits,
    shadow: shadowOf(stored),
    emailOffSinceMs: stored.email_off_since_ms,
  });

  return {
    /** Returns the tenant's webhook token and signing secrets, created on first use and cached for a minute. */
    async webhookCredentials(tenant: string): Promise<WebhookCredentials> {
      const entry = cached(tenant);
      // The next caller finds the credentials that this one creates.
      entry.account = entry.account.then((found) => withCredentials(tenant, found)).catch(forget(tenant));
      const stored = await entry.account;
      const { webhook_token: token, webhook_secrets: secrets } = stored;
      if (!token || !secrets) throw new Error('The account has no webhook credentials after their creation.');
      return { token, secrets: [...secrets, ...stillSigning(stored).map(({ secret }) => secret)] };
    },

    /**
     * Returns the function that reads a limit of a tenant: its override, or else that of the deployment. It caches the
     * account for a minute.
     */
    limit:
      (name: LimitName, settings: TenantLimits): LimitOf =>
      async (tenant) =>
        effectiveLimits(settings, (await cached(tenant).account).limits)[name],

    /** Returns the function that reads a limit of a tenant like `limit`, without caching it. */
    currentLimit:
      (name: LimitName, settings: TenantLimits): LimitOf =>
      async (tenant) =>
        effectiveLimits(settings, (await read(tenant)).limits)[name],

    /** Returns the email addresses of the account's technical contacts. */
    technicalContacts: async (tenant: string): Promise<string[]> => describe(await read(tenant)).contacts,

    /** Returns the IDs of the account's fallback notifications. It caches the account for a minute. */
    fallbackNotifications: async (tenant: string): Promise<string[]> =>
      describe(await cached(tenant).account).fallbackNotifications,

    /** Returns the settings of summaries, undefined without summaries. It caches the account for a minute. */
    summaries: async (tenant: string): Promise<SummarySettings | undefined> => (await cached(tenant).account).summaries,

    /** Returns the time zone of emails. It caches the account for a minute. */
    timeZone: async (tenant: string): Promise<string> => describe(await cached(tenant).account).timeZone,

    /** Returns whether operators have turned off its emails. It caches the account for a minute. */
    isEmailOff: async (tenant: string): Promise<boolean> =>
      (await cached(tenant).account).email_off_since_ms !== undefined,

    /** Returns the stored account. Does not create missing credentials. */
    describe: async (tenant: string): Promise<AccountDescription> => describe(await read(tenant)),

    /** Returns the stored account. Creates missing credentials: the first writer wins. */
    describeWithCredentials: async (tenant: string): Promise<AccountDescription> =>
      describe(await withCredentials(tenant, await read(tenant))),

    /**
     * Changes the given attributes that differ in one transaction with the audit entry, so that a late copy of the
     * request changes nothing. Writes nothing if none differs. Senders use a new token within a minute, when their cache
     * expires.
     *
     * @throws UnconfirmedChangeError
     */
    async update(tenant: string, changes: AccountChanges, audit: Audit): Promise<void> {
      // An empty or default value removes the attribute.
      const isCleared = changes.escalation_notifications?.length === 0;
      const wanted = {
        ...changes,
        ...(isCleared && { escalation_notifications: undefined }),
        ...(changes.summaries === null && { summaries: undefined }),
        ...(changes.time_zone === DEFAULT_TIME_ZONE && { time_zone: undefined }),
      };
      const changed = changedAttributes(await read(tenant), wanted, Object.keys(wanted));
      if (changed.length === 0) return;
      const attributes = Object.fromEntries(Object.entries(wanted).filter(([name]) => changed.includes(name)));
      const entry = audit({ action: 'update-account', target_id: tenant, changed });
      await transact(client, { account: setAttributes(tenant, attributes), entry });
    },

    /**
     * Changes limits of a tenant; undefined restores the setting of the deployment. Functions use them within a minute,
     * when their cache expires.
     *
     * @throws UnconfirmedChangeError
     */
    async changeLimits(
      tenant: string,
      changes: Partial<Record<LimitName, number | undefined>>,
      audit: Audit,
    ): Promise<void> {
      const entry = audit({ action: 'update-account', target_id: tenant, changed: Object.keys(changes) });
      await transact(client, { account: setAttributes(tenant, changes), entry });
    },

    /**
     * Returns whether alerts of an event that SQS accepted at a time are recorded and not sent. Without shadow mode, the
     * account is cached for a minute. In shadow mode, this reads it, so that no alert is withheld after the end of the
     * mode, and what else the delivery needs is in the cache.
     */
    async isShadowed(tenant: string, acceptedAtMs: number): Promise<boolean> {
      if (cache.get(tenant)?.isInShadowMode) cache.delete(tenant);
      const { shadow, ended_shadows: ended = [] } = await cached(tenant).account;
      return [...ended, ...(shadow ? [shadow] : [])].some((period) => covers(period, acceptedAtMs));
    },

    /**
     * Sets the period of shadow mode; undefined removes it. A period that is over stays in force for its events, which may
     * be queued or dead-lettered.
     *
     * @throws UnconfirmedChangeError
     */
    async setShadow(tenant: string, shadow: WithheldPeriod | undefined, audit: Audit): Promise<void> {
      const { shadow: stored, ended_shadows: earlier = [] } = await read(tenant);
      const isNeeded = (period: WithheldPeriod): boolean => !isOver(period, clock() - ENDED_SHADOW_MS);
      const replaced = stored && isOver(stored, clock()) ? [stored] : [];
      const ended = [...earlier, ...replaced].filter(isNeeded);
      const entry = audit({ action: 'update-account', target_id: tenant, changed: ['shadow'] });
      const changes = { shadow, ended_shadows: ended.length > 0 ? ended : undefined };
      await transact(client, { account: setAttributes(tenant, changes), entry });
    },

    /**
     * Turns the emails of an account off or on, unless they are. Senders follow within a minute, when their cache expires.
     *
     * @returns whether that changed something
     * @throws UnconfirmedChangeError
     */
    async setEmailOff(tenant: string, isOff: boolean, audit: Audit): Promise<boolean> {
      const changes = { email_off_since_ms: isOff ? clock() : undefined };
      const condition = `${isOff ? 'attribute_not_exists' : 'attribute_exists'}(email_off_since_ms)`;
      const entry = audit({ action: 'update-account', target_id: tenant, changed: ['email_off'] });
      const account = setAttributes(tenant, changes, { ConditionExpression: condition });
      return (await transact(client, { account, entry })).length === 0;
    },

    /**
     * Replaces the account's signing secret. The replaced secret also signs for 24 hours; an earlier one stops signing.
     * Senders use the new secret within a minute, when their cache expires. Fails if another request replaces the
     * secret first, since a second rotation would stop the first secret from signing.
     *
     * @param audit records the change
     * @param options.canJoin returns the new secret of a concurrent rotation instead of failing
     * @returns the new secret
     * @throws ConcurrentRotationError, UnconfirmedChangeError
     */
    async rotateSecret(tenant: string, audit: Audit, { canJoin = false }: { canJoin?: boolean } = {}): Promise<string> {
      const secret = newSigningSecret();
      const { webhook_secrets: [current] = [] } = await read(tenant);
      const retired = current === undefined ? [] : [{ secret: current, until_ms: clock() + RETIREMENT_MS }];
      const unchanged =
        current === undefined
          ? { ConditionExpression: 'attribute_not_exists(webhook_secrets)' }
          : {
              ConditionExpression: 'webhook_secrets[0] = :current',
              ExpressionAttributeValues: { ':current': current },
            };
      const account = setAttributes(tenant, { webhook_secrets: [secret], retired_secrets: retired }, unchanged);
      const entry = audit({
        action: 'rotate-signing-secret',
        target_id: tenant,
        changed: ['webhook_signing_secrets'],
      });
      if ((await transact(client, { account, entry })).length === 0) return secret;
      const { webhook_secrets: [newest] = [] } = canJoin ? await read(tenant) : {};
      if (newest === undefined) throw new ConcurrentRotationError();
      return newest;
    },
  };
};

/** Reads and writes accounts. */
export type AccountRepository = ReturnType<typeof createAccountRepository>;
