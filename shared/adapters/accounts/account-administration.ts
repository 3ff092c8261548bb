import type { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import type { AccountChanges } from '../../contracts/account.ts';
import { effectiveLimits, type LimitName, type TenantLimits } from '../../contracts/tenant-limits.ts';
import { DEFAULT_TIME_ZONE } from '../../contracts/time-zone.ts';
import { changedAttributes } from '../../domain/audit.ts';
import { newSigningSecret, RETIREMENT_MS } from '../../domain/signing-secrets.ts';
import type { Clock } from '../../domain/time.ts';
import { isOver, type WithheldPeriod } from '../../domain/withheld.ts';
import type { Audit } from '../audits/audit-log.ts';
import { attributesUpdate, type Condition } from '../dynamodb/conditional-writes.ts';
import type { Item } from '../dynamodb/items.ts';
import { transact } from '../dynamodb/transactions.ts';
import {
  accountKey,
  type LimitOf,
  readAccount,
  type StoredAccount,
  shadowOf,
  stillSigning,
  withCredentials,
} from './account-repository.ts';

/** How long an ended period of shadow mode is kept: longer than a message on a queue (4 days) and a dead letter (14). */
const ENDED_SHADOW_MS = 30 * 86_400_000;

/** Account details for operators and admins. `retired` also signs until `untilMs`. */
const describe = (stored: StoredAccount, nowMs: number) => ({
  contacts: stored.technical_contacts ?? [],
  fallbackNotifications: stored.escalation_notifications ?? [],
  summaries: stored.summaries,
  timeZone: stored.time_zone ?? DEFAULT_TIME_ZONE,
  token: stored.webhook_token,
  secrets: stored.webhook_secrets ?? [],
  retired: stillSigning(stored, nowMs).map(({ secret, until_ms: untilMs }) => ({ secret, untilMs })),
  limits: stored.limits,
  shadow: shadowOf(stored, nowMs),
  emailOffSinceMs: stored.email_off_since_ms,
});

export type AccountDescription = ReturnType<typeof describe>;

export class ConcurrentRotationError extends Error {
  override name = 'ConcurrentRotationError';

  constructor() {
    super('The signing secret was replaced at the same time. Check it before you try again.');
  }
}

/** Creates what tenants and operators read and change of accounts (table Accounts), uncached and strongly consistent. */
export const createAccountAdministration = (client: DynamoDBDocumentClient, table: string, clock: Clock = Date.now) => {
  const read = (tenant: string) => readAccount(client, table, tenant);

  const setAttributes = (tenant: string, attributes: Item, condition?: Condition) => ({
    Update: { TableName: table, Key: accountKey(tenant), ...attributesUpdate(attributes, condition) },
  });

  return {
    describe: async (tenant: string): Promise<AccountDescription> => describe(await read(tenant), clock()),

    describeWithCredentials: async (tenant: string): Promise<AccountDescription> =>
      describe(await withCredentials(client, table, tenant, await read(tenant)), clock()),

    currentLimit:
      (name: LimitName, settings: TenantLimits): LimitOf =>
      async (tenant) =>
        effectiveLimits(settings, (await read(tenant)).limits)[name],

    /** Changes what differs, so that a late copy of the request changes nothing. @throws UnconfirmedChangeError */
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

    /** Undefined restores the setting of the deployment. @throws UnconfirmedChangeError */
    async changeLimits(
      tenant: string,
      changes: Partial<Record<LimitName, number | undefined>>,
      audit: Audit,
    ): Promise<void> {
      const entry = audit({ action: 'update-account', target_id: tenant, changed: Object.keys(changes) });
      await transact(client, { account: setAttributes(tenant, changes), entry });
    },

    /** Undefined ends it: a period that is over still covers its queued events. @throws UnconfirmedChangeError */
    async setShadow(tenant: string, shadow: WithheldPeriod | undefined, audit: Audit): Promise<void> {
      const { shadow: stored, ended_shadows: earlier = [] } = await read(tenant);
      const isNeeded = (period: WithheldPeriod): boolean => !isOver(period, clock() - ENDED_SHADOW_MS);
      const replaced = stored && isOver(stored, clock()) ? [stored] : [];
      const ended = [...earlier, ...replaced].filter(isNeeded);
      const entry = audit({ action: 'update-account', target_id: tenant, changed: ['shadow'] });
      const changes = { shadow, ended_shadows: ended.length > 0 ? ended : undefined };
      await transact(client, { account: setAttributes(tenant, changes), entry });
    },

    /** Turns emails off or on. @returns whether that changed something @throws UnconfirmedChangeError */
    async setEmailOff(tenant: string, isOff: boolean, audit: Audit): Promise<boolean> {
      const changes = { email_off_since_ms: isOff ? clock() : undefined };
      const condition = `${isOff ? 'attribute_not_exists' : 'attribute_exists'}(email_off_since_ms)`;
      const entry = audit({ action: 'update-account', target_id: tenant, changed: ['email_off'] });
      const account = setAttributes(tenant, changes, { ConditionExpression: condition });
      return (await transact(client, { account, entry })).length === 0;
    },

    /**
     * Returns the new secret. Of two concurrent requests one fails, or returns the other's. @throws
     * ConcurrentRotationError
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

export type AccountAdministration = ReturnType<typeof createAccountAdministration>;
