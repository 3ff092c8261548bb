import type { AccountAdministration, AccountDescription } from '../adapters/accounts/account-administration.ts';
import type { EmailStops } from '../adapters/accounts/email-stops.ts';
import { type Counters, dailyCounter } from '../adapters/dynamodb/counters.ts';
import { errorTrace, logger } from '../adapters/logger.ts';
import type { NotificationRepository } from '../adapters/notifications/notification-repository.ts';
import { omitUnreadable } from '../adapters/notifications/notification-targets.ts';
import type { TokenEntry, TokenRepository } from '../adapters/tokens/token-repository.ts';
import type { Page, Slice } from '../contracts/collection.ts';
import type { AccountRecord } from '../contracts/responses/account.ts';
import type { TokenRecord } from '../contracts/responses/tokens-and-audits.ts';
import { effectiveLimits, type TenantLimits } from '../contracts/tenant-limits.ts';
import { MAX_TOKENS } from '../contracts/token.ts';
import { unknownFallbacks } from '../domain/errors.ts';
import { type Clock, dayEndMs } from '../domain/time.ts';
import { type Caller, isPermitted } from '../domain/token.ts';
import { mutedUntil } from '../domain/withheld.ts';
import { takePage } from './request.ts';

type Dependencies = {
  accounts: Pick<AccountAdministration, 'describe' | 'describeWithCredentials'>;
  counters: Pick<Counters, 'read'>;
  tokens: Pick<TokenRepository, 'list'>;
  stops: Pick<EmailStops, 'findAll'>;
  notifications: Pick<NotificationRepository, 'targets'>;
  countNotifications: (tenant: string) => Promise<number>;
};

const dailyCounters = ['tests', 'redeliveries', 'email', 'sms', 'managed', 'email_summaries', 'sms_summaries'] as const;

type StoppedContact = NonNullable<AccountRecord['stopped_contacts']>[number];
type UnusableEscalation = NonNullable<AccountRecord['unusable_escalations']>[number];

/** `address` if it is of type `email`. */
type Fallback = { id: string; problem: 'deleted' | 'muted' | undefined; address: string | undefined };

const limitsOf = (limits: TenantLimits): AccountRecord['limits'] => ({
  notifications: limits.notificationsPerTenant,
  tests_per_day: limits.testsPerTenantPerDay,
  redeliveries_per_day: limits.redeliveriesPerTenantPerDay,
  emails_per_day: limits.emailsPerTenantPerDay,
  sms_per_day: limits.smsPerTenantPerDay,
  managed_per_day: limits.managedPerTenantPerDay,
  email_summaries_per_day: limits.emailsPerTenantPerDay,
  sms_summaries_per_day: limits.smsPerTenantPerDay,
  tokens: MAX_TOKENS,
});

/** Only for admins, the account contains the webhook credentials, which are created if they are missing. */
export const createAccountReader = (
  { accounts, counters, tokens, stops, notifications, countNotifications }: Dependencies,
  settings: TenantLimits,
  clock: Clock = Date.now,
) => {
  const readUsage = async (tenant: string): Promise<AccountRecord['usage']> => {
    const nowMs = clock();
    const counterOf = (name: (typeof dailyCounters)[number]) => dailyCounter(name, tenant, nowMs);
    const [notifications, taken, listedTokens] = await Promise.all([
      countNotifications(tenant),
      counters.read(dailyCounters.map(counterOf)),
      tokens.list(tenant),
    ]);
    const used = (name: (typeof dailyCounters)[number]): number => taken(counterOf(name)).used;
    return {
      notifications,
      tests_per_day: used('tests'),
      redeliveries_per_day: used('redeliveries'),
      emails_per_day: used('email'),
      sms_per_day: used('sms'),
      managed_per_day: used('managed'),
      email_summaries_per_day: used('email_summaries'),
      sms_summaries_per_day: used('sms_summaries'),
      tokens: unexpiredTokens(listedTokens, nowMs).length,
      day_ends_at: dayEndMs(nowMs),
    };
  };

  /** Reads the fallback notifications. One that this version of the service cannot read is not deleted. */
  const readFallbacks = (tenant: string, ids: readonly string[]): Promise<Fallback[]> => {
    const keys = ids.map((id) => ({ tenant, id }));
    const targets = notifications.targets(keys);
    return Promise.all(
      keys.map(async (key) => {
        try {
          const target = await targets.find(key);
          const address = target?.type === 'email' ? target.details.address : undefined;
          const isMuted = mutedUntil(target?.mutes, clock()) !== undefined;
          return { id: key.id, problem: target ? (isMuted ? 'muted' : undefined) : 'deleted', address };
        } catch (error) {
          omitUnreadable(error);
          return { id: key.id, problem: undefined, address: undefined };
        }
      }),
    );
  };

  /** Without stops if they cannot be read: the rest of the account is shown. */
  const readStops = (tenant: string, addresses: readonly string[]) =>
    stops.findAll(tenant, addresses).catch((error: unknown) => {
      logger.warn('stops of emails not read', errorTrace(error));
      return () => undefined;
    });

  const findUnreachable = async (
    tenant: string,
    { contacts, fallbackNotifications }: AccountDescription,
  ): Promise<{ stopped: StoppedContact[]; unusable: UnusableEscalation[] }> => {
    const fallbacks = await readFallbacks(tenant, fallbackNotifications);
    const addresses = [...contacts, ...fallbacks.flatMap(({ address }) => address ?? [])];
    const stopOf = await readStops(tenant, addresses);
    const reasonOf = ({ problem, address }: Fallback): UnusableEscalation['reason'] | undefined =>
      (address === undefined ? undefined : stopOf(address)?.reason) ?? problem;
    return {
      stopped: contacts.flatMap((address) => {
        const stop = stopOf(address);
        return stop ? [{ address, reason: stop.reason, since: stop.sinceMs }] : [];
      }),
      unusable: fallbacks.flatMap((fallback) => {
        const reason = reasonOf(fallback);
        return reason === undefined ? [] : [{ id: fallback.id, reason }];
      }),
    };
  };

  return async ({ tenant, role }: Pick<Caller, 'tenant' | 'role'>): Promise<AccountRecord> => {
    const isAdmin = isPermitted(role, 'administer');
    const [account, usage] = await Promise.all([
      isAdmin ? accounts.describeWithCredentials(tenant) : accounts.describe(tenant),
      readUsage(tenant),
    ]);
    const { token, secrets, retired, contacts, fallbackNotifications, shadow, emailOffSinceMs } = account;
    const { stopped, unusable } = await findUnreachable(tenant, account);
    return {
      id: tenant,
      technical_contacts: contacts,
      escalation_notifications: fallbackNotifications.length > 0 ? fallbackNotifications : undefined,
      summaries: account.summaries,
      time_zone: account.timeZone,
      webhook_token: isAdmin ? token : undefined,
      webhook_signing_secrets: isAdmin ? [...secrets, ...retired.map(({ secret }) => secret)] : undefined,
      email_off: emailOffSinceMs === undefined ? undefined : { since: emailOffSinceMs },
      stopped_contacts: stopped.length > 0 ? stopped : undefined,
      unusable_escalations: unusable.length > 0 ? unusable : undefined,
      shadow: shadow && { from: shadow.from_ms, until: shadow.until_ms },
      limits: limitsOf(effectiveLimits(settings, account.limits)),
      usage,
    };
  };
};

/**
 * Rejects new fallback notifications that the tenant does not have. A request may contain what it read: also the IDs of
 * deleted ones. @throws ServiceError 400
 */
export const assertExistingFallbacks = async (
  notifications: Pick<NotificationRepository, 'exists'>,
  accounts: Pick<AccountAdministration, 'describe'>,
  tenant: string,
  wanted: readonly string[] = [],
): Promise<void> => {
  if (wanted.length === 0) return;
  const { fallbackNotifications: present } = await accounts.describe(tenant);
  const ids = wanted.filter((id) => !present.includes(id));
  const isFound = await Promise.all(ids.map((id) => notifications.exists({ tenant, id })));
  const unknown = ids.filter((_, index) => !isFound[index]);
  if (unknown.length > 0) throw unknownFallbacks(unknown);
};

export const unexpiredTokens = (tokens: readonly TokenEntry[], nowMs: number): TokenEntry[] =>
  tokens.filter(({ expires_at_ms }) => expires_at_ms > nowMs);

/** As tenants see it (docs/api.md#tokens). */
export const tokenRecord = ({ id, label, role, issuer, created_at_ms, expires_at_ms }: TokenEntry): TokenRecord => ({
  id,
  label,
  role,
  issuer,
  created_at: created_at_ms,
  expires_at: expires_at_ms,
});

/**
 * Returns a page of the unexpired tokens, which are ordered by ID: by creation, so that a page starts at the right token
 * even if that of the marker was revoked (docs/decisions/storage.md#token-list).
 */
export const tokenPage = (
  tokens: readonly TokenEntry[],
  { marker, limit }: Page,
  nowMs: number,
): Promise<Slice<TokenRecord>> => {
  const records = unexpiredTokens(tokens, nowMs).map(tokenRecord);
  return takePage(marker === null ? records : records.filter(({ id }) => id >= marker), limit);
};
