import type { AccountRepository } from '../adapters/accounts/account-repository.ts';
import type { DailyCounters } from '../adapters/accounts/daily-counter.ts';
import type { TokenRepository } from '../adapters/tokens/token-repository.ts';
import type { AccountRecord } from '../contracts/responses/account.ts';
import { effectiveLimits, type TenantLimits } from '../contracts/tenant-limits.ts';
import { MAX_TOKENS } from '../contracts/token.ts';
import { type Caller, isPermitted } from '../domain/authorization.ts';
import type { Clock } from '../domain/clock.ts';
import { unexpiredTokens } from './token-records.ts';

type Dependencies = {
  accounts: Pick<AccountRepository, 'describe' | 'describeWithCredentials'>;
  counters: Pick<DailyCounters, 'used'>;
  tokens: Pick<TokenRepository, 'list'>;
  /** Returns the number of stored notifications of a tenant. */
  countNotifications: (tenant: string) => Promise<number>;
};

const dailyCounters = ['tests', 'redeliveries', 'email', 'sms', 'managed', 'email_summaries', 'sms_summaries'] as const;

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

/**
 * Creates a function that reads the caller's account with its limits and their usage. Only for admins, the account
 * contains the webhook credentials, which are created if they are missing (docs/decisions/storage.md#account-endpoint).
 */
export const createAccountReader = (
  { accounts, counters, tokens, countNotifications }: Dependencies,
  settings: TenantLimits,
  clock: Clock = Date.now,
) => {
  const readUsage = async (tenant: string): Promise<AccountRecord['usage']> => {
    const [notifications, { used, dayEndsAtMs }, listedTokens] = await Promise.all([
      countNotifications(tenant),
      counters.used(dailyCounters, tenant),
      tokens.list(tenant),
    ]);
    return {
      notifications,
      tests_per_day: used('tests'),
      redeliveries_per_day: used('redeliveries'),
      emails_per_day: used('email'),
      sms_per_day: used('sms'),
      managed_per_day: used('managed'),
      email_summaries_per_day: used('email_summaries'),
      sms_summaries_per_day: used('sms_summaries'),
      tokens: unexpiredTokens(listedTokens, clock()).length,
      day_ends_at: dayEndsAtMs,
    };
  };

  return async ({ tenant, role }: Pick<Caller, 'tenant' | 'role'>): Promise<AccountRecord> => {
    const isAdmin = isPermitted(role, 'administer');
    const [account, usage] = await Promise.all([
      isAdmin ? accounts.describeWithCredentials(tenant) : accounts.describe(tenant),
      readUsage(tenant),
    ]);
    const { token, secrets, retired, fallbackNotifications, shadow } = account;
    return {
      id: tenant,
      technical_contacts: account.contacts,
      escalation_notifications: fallbackNotifications.length > 0 ? fallbackNotifications : undefined,
      summaries: account.summaries,
      time_zone: account.timeZone,
      webhook_token: isAdmin ? token : undefined,
      webhook_signing_secrets: isAdmin ? [...secrets, ...retired.map(({ secret }) => secret)] : undefined,
      shadow: shadow && { from: shadow.from_ms, until: shadow.until_ms },
      limits: limitsOf(effectiveLimits(settings, account.limits)),
      usage,
    };
  };
};
