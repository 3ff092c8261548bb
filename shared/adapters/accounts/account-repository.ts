import { randomBytes, randomUUID } from 'node:crypto';
import { ConditionalCheckFailedException } from '@aws-sdk/client-dynamodb';
import { type DynamoDBDocumentClient, GetCommand, UpdateCommand } from '@aws-sdk/lib-dynamodb';
import { lru } from 'tiny-lru';
import * as z from 'zod/mini';
import type { Clock } from '../../domain/clock.ts';

/** What a webhook call is signed with. `secrets` are `whsec_…`, two of them while one is replaced. */
export type WebhookCredentials = { token: string; secrets: string[] };

const storedAccount = z.object({
  /** Increases with every change, so that a write which is applied once more, late, has no effect. */
  version: z.optional(z.number()),
  /** Names the last change that an operator made. */
  write_id: z.optional(z.string()),
  webhook_token: z.optional(z.string()),
  webhook_secrets: z.optional(z.array(z.string())),
  /** The secret that was replaced last, and until when (ms) it signs beside the new one. */
  retired_secrets: z.optional(z.array(z.object({ secret: z.string(), until_ms: z.number() }))),
  technical_contacts: z.optional(z.array(z.string())),
});

const accountKey = (tenant: string) => ({ pk: `account#${tenant}` });

/** What is counted by tenant and UTC day. */
export type DailyCounter = 'tests' | 'sms' | 'email' | 'managed';

const counterKey = (counter: DailyCounter, tenant: string, day: string) => ({ pk: `${counter}#${day}#${tenant}` });

/** How long a sender uses credentials it has read: a change counts within this time. */
const CREDENTIALS_CACHE_MS = 60_000;

/** How long a replaced secret continues to sign, in ms: receivers have that long to switch to the new one. */
const RETIREMENT_MS = 86_400_000;

/**
 * Places in which a counter remembers its last writes, each at random in one: a write that is applied once more finds itself
 * there, unless one of the few that came between took its place. All of them stay within one write unit (1 KB).
 */
const REMEMBERED_WRITES = 32;

/** An account that somebody else changed between our read and our write, or before our write was repeated. */
export class ConcurrentChangeError extends Error {
  override name = 'ConcurrentChangeError';

  constructor() {
    super('Somebody else changed the account at the same time: look at it before you try again.');
  }
}

/** A change whose response was lost, after which the account could not be read. */
export class UnconfirmedChangeError extends Error {
  override name = 'UnconfirmedChangeError';

  constructor(cause: unknown) {
    super('It is unknown whether the account was changed.', { cause });
  }
}

/** True where the SDK repeated a request, the first of which may have been applied although its response was lost. */
const wasRepeated = ({ $metadata }: ConditionalCheckFailedException): boolean => ($metadata.attempts ?? 1) > 1;

const newSecret = (): string => `whsec_${randomBytes(32).toString('base64')}`;

/** An account as operators see it. `untilMs` is when a replaced secret stops signing. */
export type AccountDescription = {
  contacts: string[];
  token: string | undefined;
  secrets: string[];
  retired: { secret: string; untilMs: number }[];
};

/** Accounts of tenants, and their daily counters (table Accounts). */
export const createAccountRepository = (
  client: DynamoDBDocumentClient,
  table: string,
  clock: Clock = Date.now,
  random: () => number = Math.random,
) => {
  const credentialsCache = lru<{ credentials: Promise<WebhookCredentials>; until: number }>(1_000);

  const read = async (tenant: string): Promise<z.infer<typeof storedAccount>> => {
    const { Item } = await client.send(
      new GetCommand({ TableName: table, Key: accountKey(tenant), ConsistentRead: true }),
    );
    return storedAccount.parse(Item ?? {});
  };

  /** The replaced secret that signs beside the current one, if any. */
  const stillSigning = ({ retired_secrets: retired = [] }: z.infer<typeof storedAccount>) =>
    retired.filter(({ until_ms }) => until_ms > clock()).slice(0, 1);

  /** Whether a write is the account's last change. @throws UnconfirmedChangeError where the account cannot be read */
  const isLastWrite = async (tenant: string, writeId: string): Promise<boolean> => {
    const { write_id: last } = await read(tenant).catch((error: unknown) => {
      throw new UnconfirmedChangeError(error);
    });
    return last === writeId;
  };

  /**
   * Changes attributes of an account as it was read. A write may have been applied whatever error it ended with, since its
   * response may be lost: only the account tells.
   *
   * @throws ConcurrentChangeError where it is another one by now; UnconfirmedChangeError where it is unknown whether it was
   * changed; the SDK's error where it was not
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
      const isRefused = error instanceof ConditionalCheckFailedException;
      const isOurs = !(isRefused && !wasRepeated(error)) && (await isLastWrite(tenant, writeId));
      if (!isOurs) throw isRefused ? new ConcurrentChangeError() : error;
    }
  };

  /** One write that the first writer wins; everybody reads back what was decided. */
  const makeCredentials = async (tenant: string): Promise<z.infer<typeof storedAccount>> => {
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
    const stored = found.webhook_token && found.webhook_secrets ? found : await makeCredentials(tenant);
    const { webhook_token: token, webhook_secrets: secrets } = stored;
    if (!token || !secrets) throw new Error('The account has no webhook credentials after they were made.');
    return { token, secrets: [...secrets, ...stillSigning(stored).map(({ secret }) => secret)] };
  };

  return {
    /** The tenant's webhook token and signing secrets, made on first use; remembered for a minute. */
    webhookCredentials(tenant: string): Promise<WebhookCredentials> {
      const cached = credentialsCache.get(tenant);
      if (cached && cached.until > clock()) return cached.credentials;
      // The promise is remembered, so that a batch of one tenant reads once.
      const credentials = readCredentials(tenant).catch((error: unknown) => {
        credentialsCache.delete(tenant);
        throw error;
      });
      credentialsCache.set(tenant, { credentials, until: clock() + CREDENTIALS_CACHE_MS });
      return credentials;
    },

    /** The e-mail addresses of the account's technical contacts, each once. */
    async technicalContacts(tenant: string): Promise<string[]> {
      const { technical_contacts: contacts = [] } = await read(tenant);
      return [...new Set(contacts)];
    },

    /** Replaces the account's technical contacts. @throws ConcurrentChangeError, UnconfirmedChangeError */
    async setTechnicalContacts(tenant: string, contacts: string[]): Promise<void> {
      await change(tenant, await read(tenant), { technical_contacts: contacts });
    },

    /** What is stored of the account, without making anything that is not there. */
    async describe(tenant: string): Promise<AccountDescription> {
      const stored = await read(tenant);
      return {
        contacts: stored.technical_contacts ?? [],
        token: stored.webhook_token,
        secrets: stored.webhook_secrets ?? [],
        retired: stillSigning(stored).map(({ secret, until_ms: untilMs }) => ({ secret, untilMs })),
      };
    },

    /** Replaces the token that webhooks of the tenant carry. @throws ConcurrentChangeError, UnconfirmedChangeError */
    async setWebhookToken(tenant: string, token: string): Promise<void> {
      await change(tenant, await read(tenant), { webhook_token: token });
    },

    /**
     * Gives the account a new signing secret. The one that it replaces signs beside it for 24 hours; one that was replaced
     * before stops signing. Senders use the new one within a minute, when they read the account again.
     *
     * @throws ConcurrentChangeError where the secret may not be the current one; UnconfirmedChangeError where it is unknown
     * whether it is
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

    /**
     * Adds to a counter of the tenant's UTC day, once, however often the SDK repeats the request; false, and nothing is added,
     * where it would exceed `limit`.
     */
    async count(counter: DailyCounter, tenant: string, amount: number, limit: number): Promise<boolean> {
      if (amount > limit) return false;
      const now = clock();
      const day = new Date(now).toISOString().slice(0, 10);
      const place = `w${Math.floor(random() * REMEMBERED_WRITES)}`;
      const writeId = randomBytes(6).toString('base64url');
      const ttl = Math.floor(now / 1000) + 2 * 86_400;
      const update = (expression: string, condition: string, values: Record<string, number>) =>
        client.send(
          new UpdateCommand({
            TableName: table,
            Key: counterKey(counter, tenant, day),
            UpdateExpression: expression,
            ConditionExpression: condition,
            ExpressionAttributeNames: { '#place': place, '#ttl': 'ttl' },
            ExpressionAttributeValues: { ':ttl': ttl, ':write': writeId, ...values },
          }),
        );
      try {
        await update(
          'SET #ttl = :ttl, #place = :write ADD used :amount',
          '(attribute_not_exists(used) OR used <= :room) AND (attribute_not_exists(#place) OR #place <> :write)',
          { ':amount': amount, ':room': limit - amount },
        );
        return true;
      } catch (error) {
        if (!(error instanceof ConditionalCheckFailedException)) throw error;
        return wasRepeated(error) && (await wasApplied());
      }

      /** Whether our write is there, found by one that changes nothing: a sender may not read what it counts. */
      async function wasApplied(): Promise<boolean> {
        try {
          await update('SET #ttl = :ttl', '#place = :write', {});
          return true;
        } catch (error) {
          if (error instanceof ConditionalCheckFailedException) return false;
          throw error;
        }
      }
    },
  };
};

/** Where accounts are kept. */
export type AccountRepository = ReturnType<typeof createAccountRepository>;
