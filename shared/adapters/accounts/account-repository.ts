import { randomBytes, randomUUID } from 'node:crypto';
import { ConditionalCheckFailedException } from '@aws-sdk/client-dynamodb';
import { type DynamoDBDocumentClient, GetCommand, UpdateCommand } from '@aws-sdk/lib-dynamodb';
import { lru } from 'tiny-lru';
import * as z from 'zod/mini';
import type { Clock } from '../../domain/clock.ts';
import { wasRepeated } from '../dynamodb/errors.ts';

/**
 * The token and signing secrets (`whsec_…`) of a tenant's webhooks. After a rotation, `secrets` also contains the
 * replaced secret until it stops signing.
 */
export type WebhookCredentials = { token: string; secrets: string[] };

/** The item of an account. */
const storedAccount = z.object({
  /** Increases with every change, so that a late duplicate of a write fails its condition. */
  version: z.optional(z.number()),
  /** Identifies the last change by an operator. */
  write_id: z.optional(z.string()),
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

/** The account was changed between the read and the write, or before the SDK repeated the write. */
export class ConcurrentChangeError extends Error {
  override name = 'ConcurrentChangeError';

  constructor() {
    super('The account was changed at the same time. Check it before you try again.');
  }
}

/** The response to a change was lost, and the account could not be read to confirm it. */
export class UnconfirmedChangeError extends Error {
  override name = 'UnconfirmedChangeError';

  constructor(cause: unknown) {
    super('It is unknown whether the account was changed.', { cause });
  }
}

const newSecret = (): string => `whsec_${randomBytes(32).toString('base64')}`;

/**
 * Account details for operators. `retired` is the replaced secret, which also signs until `untilMs`, ms since the
 * epoch.
 */
export type AccountDescription = {
  contacts: string[];
  token: string | undefined;
  secrets: string[];
  retired: { secret: string; untilMs: number }[];
};

/** Reads and writes the accounts of tenants (table Accounts). */
export const createAccountRepository = (client: DynamoDBDocumentClient, table: string, clock: Clock = Date.now) => {
  const credentialsCache = lru<{ credentials: Promise<WebhookCredentials>; untilMs: number }>(1_000);

  const read = async (tenant: string): Promise<z.infer<typeof storedAccount>> => {
    const { Item } = await client.send(
      new GetCommand({ TableName: table, Key: accountKey(tenant), ConsistentRead: true }),
    );
    return storedAccount.parse(Item ?? {});
  };

  /** Returns the replaced secret if it still signs. */
  const stillSigning = ({ retired_secrets: retired = [] }: z.infer<typeof storedAccount>) =>
    retired.filter(({ until_ms }) => until_ms > clock()).slice(0, 1);

  /**
   * Returns whether a write is the account's last change.
   *
   * @throws UnconfirmedChangeError if the account cannot be read
   */
  const isLastWrite = async (tenant: string, writeId: string): Promise<boolean> => {
    const { write_id: last } = await read(tenant).catch((error: unknown) => {
      throw new UnconfirmedChangeError(error);
    });
    return last === writeId;
  };

  /**
   * Changes attributes of an account if it still has the version that was read. A failed write may have been applied,
   * since only its response may be lost, so the account is read again to check.
   *
   * @throws ConcurrentChangeError if the account has changed since it was read
   * @throws UnconfirmedChangeError if it is unknown whether the change was applied
   * @throws the SDK's error if the change was not applied
   */
  const change = async (
    tenant: string,
    { version }: z.infer<typeof storedAccount>,
    attributes: Record<string, unknown>,
  ): Promise<void> => {
    const writeId = randomUUID();
    const changes = Object.entries({ ...attributes, version: (version ?? 0) + 1, write_id: writeId });
    try {
      await client.send(
        new UpdateCommand({
          TableName: table,
          Key: accountKey(tenant),
          UpdateExpression: `SET ${changes.map(([name]) => `#${name} = :${name}`).join(', ')}`,
          ConditionExpression: version === undefined ? 'attribute_not_exists(#version)' : '#version = :read',
          ExpressionAttributeNames: Object.fromEntries(changes.map(([name]) => [`#${name}`, name])),
          ExpressionAttributeValues: {
            ...Object.fromEntries(changes.map(([name, value]) => [`:${name}`, value])),
            ...(version !== undefined && { ':read': version }),
          },
        }),
      );
    } catch (error) {
      const isConditionFailed = error instanceof ConditionalCheckFailedException;
      const isApplied = !(isConditionFailed && !wasRepeated(error)) && (await isLastWrite(tenant, writeId));
      if (!isApplied) throw isConditionFailed ? new ConcurrentChangeError() : error;
    }
  };

  /** Stores new credentials unless the account has some: the first writer wins. @returns the stored account */
  const createCredentials = async (tenant: string): Promise<z.infer<typeof storedAccount>> => {
    const { Attributes } = await client.send(
      new UpdateCommand({
        TableName: table,
        Key: accountKey(tenant),
        UpdateExpression:
          'SET webhook_token = if_not_exists(webhook_token, :token), webhook_secrets = if_not_exists(webhook_secrets, :secrets), version = if_not_exists(version, :none) + :one',
        ExpressionAttributeValues: {
          ':none': 0,
          ':one': 1,
          ':token': randomBytes(32).toString('base64url'),
          ':secrets': [newSecret()],
        },
        ReturnValues: 'ALL_NEW',
      }),
    );
    return storedAccount.parse(Attributes);
  };

  const readCredentials = async (tenant: string): Promise<WebhookCredentials> => {
    const found = await read(tenant);
    const stored = found.webhook_token && found.webhook_secrets ? found : await createCredentials(tenant);
    const { webhook_token: token, webhook_secrets: secrets } = stored;
    if (!token || !secrets) throw new Error('The account has no webhook credentials after their creation.');
    return { token, secrets: [...secrets, ...stillSigning(stored).map(({ secret }) => secret)] };
  };

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

    /** Returns the email addresses of the account's technical contacts, without duplicates. */
    async technicalContacts(tenant: string): Promise<string[]> {
      const { technical_contacts: contacts = [] } = await read(tenant);
      return [...new Set(contacts)];
    },

    /** Replaces the account's technical contacts. @throws ConcurrentChangeError, UnconfirmedChangeError */
    async setTechnicalContacts(tenant: string, contacts: string[]): Promise<void> {
      await change(tenant, await read(tenant), { technical_contacts: contacts });
    },

    /** Returns the stored account. Does not create missing credentials. */
    async describe(tenant: string): Promise<AccountDescription> {
      const stored = await read(tenant);
      return {
        contacts: stored.technical_contacts ?? [],
        token: stored.webhook_token,
        secrets: stored.webhook_secrets ?? [],
        retired: stillSigning(stored).map(({ secret, until_ms: untilMs }) => ({ secret, untilMs })),
      };
    },

    /** Replaces the tenant's webhook token. @throws ConcurrentChangeError, UnconfirmedChangeError */
    async setWebhookToken(tenant: string, token: string): Promise<void> {
      await change(tenant, await read(tenant), { webhook_token: token });
    },

    /**
     * Replaces the account's signing secret. The replaced secret also signs for 24 hours; an earlier one stops signing.
     * Senders use the new secret within a minute, when their cache expires.
     *
     * @returns the new secret
     * @throws ConcurrentChangeError, UnconfirmedChangeError
     */
    async rotateSecret(tenant: string): Promise<string> {
      const stored = await read(tenant);
      const [current] = stored.webhook_secrets ?? [];
      const secret = newSecret();
      await change(tenant, stored, {
        webhook_secrets: [secret],
        retired_secrets: current === undefined ? [] : [{ secret: current, until_ms: clock() + RETIREMENT_MS }],
      });
      return secret;
    },
  };
};

/** Reads and writes accounts. */
export type AccountRepository = ReturnType<typeof createAccountRepository>;
