import { randomBytes } from 'node:crypto';
import { type DynamoDBDocumentClient, GetCommand, UpdateCommand } from '@aws-sdk/lib-dynamodb';
import { lru } from 'tiny-lru';
import * as z from 'zod/mini';
import type { AccountChanges } from '../../contracts/account.ts';
import { changedAttributes } from '../../domain/changed-attributes.ts';
import type { Clock } from '../../domain/clock.ts';
import type { Audit } from '../audits/audit-log.ts';
import { FailedConditionsError, retryConflicts, type TransactItem, transact } from '../dynamodb/transactions.ts';

/**
 * The token and signing secrets (`whsec_…`) of a tenant's webhooks. After a rotation, `secrets` also contains the
 * replaced secret until it stops signing.
 */
export type WebhookCredentials = { token: string; secrets: string[] };

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
});

const accountKey = (tenant: string) => ({ pk: `account#${tenant}` });

/** How long credentials are cached: a change takes effect within this time. */
const CREDENTIALS_CACHE_MS = 60_000;

/** How long a replaced secret keeps signing, so that receivers can switch to the new one. */
const RETIREMENT_MS = 86_400_000;

const newSecret = (): string => `whsec_${randomBytes(32).toString('base64')}`;

/**
 * Account details for operators and admins. `retired` is the replaced secret, which also signs until `untilMs`, ms
 * since the epoch.
 */
export type AccountDescription = {
  contacts: string[];
  token: string | undefined;
  secrets: string[];
  retired: { secret: string; untilMs: number }[];
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
  const credentialsCache = lru<{ credentials: Promise<WebhookCredentials>; untilMs: number }>(1_000);

  /** Returns the account, strongly consistent. A missing item has no attributes. */
  const read = async (tenant: string): Promise<z.infer<typeof storedAccount>> => {
    const { Item = {} } = await client.send(
      new GetCommand({ TableName: table, Key: accountKey(tenant), ConsistentRead: true }),
    );
    return storedAccount.parse(Item);
  };

  /** Returns the transaction item that sets attributes of an account, on a condition on its signing secret. */
  const setAttributes = (
    tenant: string,
    attributes: Readonly<Record<string, unknown>>,
    condition: { ConditionExpression?: string; ExpressionAttributeValues?: Record<string, unknown> } = {},
  ): TransactItem => {
    const entries = Object.entries(attributes);
    return {
      Update: {
        TableName: table,
        Key: accountKey(tenant),
        UpdateExpression: `SET ${entries.map(([name]) => `${name} = :${name}`).join(', ')}`,
        ...condition,
        ExpressionAttributeValues: {
          ...condition.ExpressionAttributeValues,
          ...Object.fromEntries(entries.map(([name, value]) => [`:${name}`, value])),
        },
      },
    };
  };

  /** Returns the replaced secret if it still signs. */
  const stillSigning = ({ retired_secrets: retired = [] }: z.infer<typeof storedAccount>) =>
    retired.filter(({ until_ms }) => until_ms > clock()).slice(0, 1);

  /** Stores new credentials unless the account has some: the first writer wins. @returns the stored account */
  const createCredentials = async (tenant: string): Promise<z.infer<typeof storedAccount>> => {
    const { Attributes } = await retryConflicts(() =>
      client.send(
        new UpdateCommand({
          TableName: table,
          Key: accountKey(tenant),
          UpdateExpression:
            'SET webhook_token = if_not_exists(webhook_token, :token), webhook_secrets = if_not_exists(webhook_secrets, :secrets)',
          ExpressionAttributeValues: {
            ':token': randomBytes(32).toString('base64url'),
            ':secrets': [newSecret()],
          },
          ReturnValues: 'ALL_NEW',
        }),
      ),
    );
    return storedAccount.parse(Attributes);
  };

  /** Returns the account with webhook credentials, which are created if they are missing. */
  const readWithCredentials = async (tenant: string): Promise<z.infer<typeof storedAccount>> => {
    const found = await read(tenant);
    return found.webhook_token && found.webhook_secrets ? found : createCredentials(tenant);
  };

  const readCredentials = async (tenant: string): Promise<WebhookCredentials> => {
    const stored = await readWithCredentials(tenant);
    const { webhook_token: token, webhook_secrets: secrets } = stored;
    if (!token || !secrets) throw new Error('The account has no webhook credentials after their creation.');
    return { token, secrets: [...secrets, ...stillSigning(stored).map(({ secret }) => secret)] };
  };

  const describe = (stored: z.infer<typeof storedAccount>): AccountDescription => ({
    contacts: stored.technical_contacts ?? [],
    token: stored.webhook_token,
    secrets: stored.webhook_secrets ?? [],
    retired: stillSigning(stored).map(({ secret, until_ms: untilMs }) => ({ secret, untilMs })),
  });

  return {
    /** Returns the tenant's webhook token and signing secrets, created on first use and cached for a minute. */
    webhookCredentials(tenant: string): Promise<WebhookCredentials> {
      const cached = credentialsCache.get(tenant);
      if (cached && cached.untilMs > clock()) return cached.credentials;
      // Caching the promise lets concurrent deliveries of a tenant share one read.
      const credentials = readCredentials(tenant).catch((error: unknown) => {
        credentialsCache.delete(tenant);
        throw error;
      });
      credentialsCache.set(tenant, { credentials, untilMs: clock() + CREDENTIALS_CACHE_MS });
      return credentials;
    },

    /** Returns the email addresses of the account's technical contacts. */
    technicalContacts: async (tenant: string): Promise<string[]> => describe(await read(tenant)).contacts,

    /** Returns the stored account. Does not create missing credentials. */
    describe: async (tenant: string): Promise<AccountDescription> => describe(await read(tenant)),

    /** Returns the stored account. Creates missing credentials: the first writer wins. */
    describeWithCredentials: async (tenant: string): Promise<AccountDescription> =>
      describe(await readWithCredentials(tenant)),

    /**
     * Changes the given attributes that differ in one transaction with the audit entry, so that a late copy of the
     * request changes nothing. Writes nothing if none differs. Senders use a new token within a minute, when their cache
     * expires.
     *
     * @throws UnconfirmedChangeError
     */
    async update(tenant: string, changes: AccountChanges, audit: Audit): Promise<void> {
      const changed = changedAttributes(await read(tenant), changes);
      if (changed.length === 0) return;
      const attributes = Object.fromEntries(Object.entries(changes).filter(([name]) => changed.includes(name)));
      const entry = audit({ action: 'update-account', target_id: tenant, changed });
      await transact(client, [setAttributes(tenant, attributes), entry]);
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
      const secret = newSecret();
      const { webhook_secrets: [current] = [] } = await read(tenant);
      const retired = current === undefined ? [] : [{ secret: current, until_ms: clock() + RETIREMENT_MS }];
      const unchanged =
        current === undefined
          ? { ConditionExpression: 'attribute_not_exists(webhook_secrets)' }
          : {
              ConditionExpression: 'webhook_secrets[0] = :current',
              ExpressionAttributeValues: { ':current': current },
            };
      try {
        await transact(client, [
          setAttributes(tenant, { webhook_secrets: [secret], retired_secrets: retired }, unchanged),
          audit({ action: 'rotate-signing-secret', target_id: tenant, changed: ['webhook_signing_secrets'] }),
        ]);
        return secret;
      } catch (error) {
        if (!(error instanceof FailedConditionsError)) throw error;
        const { webhook_secrets: [newest] = [] } = canJoin ? await read(tenant) : {};
        if (newest === undefined) throw new ConcurrentRotationError();
        return newest;
      }
    },
  };
};

/** Reads and writes accounts. */
export type AccountRepository = ReturnType<typeof createAccountRepository>;
