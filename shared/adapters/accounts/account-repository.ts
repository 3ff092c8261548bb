import { randomBytes } from 'node:crypto';
import type { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import { lru } from 'tiny-lru';
import * as z from 'zod/mini';
import type { SummarySettings } from '../../contracts/account.ts';
import {
  effectiveLimits,
  isLimitName,
  type LimitName,
  limitNames,
  type TenantLimits,
} from '../../contracts/tenant-limits.ts';
import { DEFAULT_TIME_ZONE } from '../../contracts/time-zone.ts';
import { newSigningSecret } from '../../domain/signing-secrets.ts';
import type { Clock } from '../../domain/time.ts';
import { covers, isOver, type WithheldPeriod } from '../../domain/withheld.ts';
import { createConditionalUpdate } from '../dynamodb/conditional-writes.ts';
import { getItem, type Item, storedPeriod } from '../dynamodb/items.ts';

/** The token and signing secrets (`whsec_…`) of webhooks, with a replaced one until it stops signing. */
export type WebhookCredentials = { token: string; secrets: string[] };

export const accountKey = (tenant: string) => ({ pk: `account#${tenant}` });

const storedSummaries = z.object({ email_after: z.number(), sms_after: z.number(), window_minutes: z.number() });

const storedAccount = z.object({
  webhook_token: z.optional(z.string()),
  webhook_secrets: z.optional(z.array(z.string())),
  /** The replaced signing secret, if any. It also signs until `until_ms`, ms since the epoch. */
  retired_secrets: z.optional(z.array(z.object({ secret: z.string(), until_ms: z.number() }))),
  technical_contacts: z.optional(z.array(z.string())),
  /** IDs of notifications to which escalations also go. */
  escalation_notifications: z.optional(z.array(z.string())),
  summaries: z.optional(storedSummaries),
  /** The IANA time zone of emails, unless it is the default. */
  time_zone: z.optional(z.string()),
  shadow: z.optional(storedPeriod),
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

export type StoredAccount = ReturnType<typeof parseAccount>;

/** How long functions cache an account: a change of credentials or limits takes effect within this time. */
const CACHE_MS = 60_000;

export type LimitOf = (tenant: string) => Promise<number>;

type CachedAccount = {
  account: Promise<StoredAccount>;
  untilMs: number;
  isInShadowMode?: boolean;
};

export const readAccount = async (
  client: DynamoDBDocumentClient,
  table: string,
  tenant: string,
): Promise<StoredAccount> => parseAccount((await getItem(client, table, accountKey(tenant))) ?? {});

export const shadowOf = ({ shadow }: StoredAccount, nowMs: number): WithheldPeriod | undefined =>
  shadow && !isOver(shadow, nowMs) ? shadow : undefined;

export const stillSigning = ({ retired_secrets: retired = [] }: StoredAccount, nowMs: number) =>
  retired.filter(({ until_ms }) => until_ms > nowMs).slice(0, 1);

/** Returns an account with webhook credentials. Creates those that are missing: the first writer wins. */
export const withCredentials = async (
  client: DynamoDBDocumentClient,
  table: string,
  tenant: string,
  found: StoredAccount,
): Promise<StoredAccount> => {
  if (found.webhook_token && found.webhook_secrets) return found;
  const { item = {} } = await createConditionalUpdate(client, table)(accountKey(tenant), {
    UpdateExpression:
      'SET webhook_token = if_not_exists(webhook_token, :token), webhook_secrets = if_not_exists(webhook_secrets, :secrets)',
    ExpressionAttributeValues: { ':token': randomBytes(32).toString('base64url'), ':secrets': [newSigningSecret()] },
  });
  return parseAccount(item);
};

/** Creates what deliveries and notices read of the accounts of tenants (table Accounts), cached for a minute. */
export const createAccountRepository = (client: DynamoDBDocumentClient, table: string, clock: Clock = Date.now) => {
  const cache = lru<CachedAccount>(1_000);

  /** Returns the account, read at most a minute ago. Caching promises lets concurrent deliveries share one read. */
  const cached = (tenant: string): CachedAccount => {
    const found = cache.get(tenant);
    if (found && found.untilMs > clock()) return found;
    const readOnce = async (): Promise<StoredAccount> => {
      const account = await readAccount(client, table, tenant);
      entry.isInShadowMode = shadowOf(account, clock()) !== undefined;
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

  return {
    async webhookCredentials(tenant: string): Promise<WebhookCredentials> {
      const entry = cached(tenant);
      // The next caller finds the credentials that this one creates.
      entry.account = entry.account
        .then((found) => withCredentials(client, table, tenant, found))
        .catch(forget(tenant));
      const stored = await entry.account;
      const { webhook_token: token, webhook_secrets: secrets } = stored;
      if (!token || !secrets) throw new Error('The account has no webhook credentials after their creation.');
      return { token, secrets: [...secrets, ...stillSigning(stored, clock()).map(({ secret }) => secret)] };
    },

    /** A limit of a tenant: its override, or else that of the deployment. */
    limit:
      (name: LimitName, settings: TenantLimits): LimitOf =>
      async (tenant) =>
        effectiveLimits(settings, (await cached(tenant).account).limits)[name],

    /** Email addresses, read each time. */
    technicalContacts: async (tenant: string): Promise<string[]> =>
      (await readAccount(client, table, tenant)).technical_contacts ?? [],

    fallbackNotifications: async (tenant: string): Promise<string[]> =>
      (await cached(tenant).account).escalation_notifications ?? [],

    summaries: async (tenant: string): Promise<SummarySettings | undefined> => (await cached(tenant).account).summaries,

    timeZone: async (tenant: string): Promise<string> => (await cached(tenant).account).time_zone ?? DEFAULT_TIME_ZONE,

    isEmailOff: async (tenant: string): Promise<boolean> =>
      (await cached(tenant).account).email_off_since_ms !== undefined,

    /** In shadow mode, this reads the account: none is withheld after its end. */
    async isShadowed(tenant: string, acceptedAtMs: number): Promise<boolean> {
      if (cache.get(tenant)?.isInShadowMode) cache.delete(tenant);
      const { shadow, ended_shadows: ended = [] } = await cached(tenant).account;
      return [...ended, ...(shadow ? [shadow] : [])].some((period) => covers(period, acceptedAtMs));
    },
  };
};

export type AccountRepository = ReturnType<typeof createAccountRepository>;
