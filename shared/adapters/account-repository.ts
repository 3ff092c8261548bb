import { randomBytes } from 'node:crypto';
import { ConditionalCheckFailedException } from '@aws-sdk/client-dynamodb';
import { type DynamoDBDocumentClient, GetCommand, UpdateCommand } from '@aws-sdk/lib-dynamodb';
import { lru } from 'tiny-lru';
import * as z from 'zod/mini';
import type { Clock } from './token-repository.ts';

/** What a webhook call is signed with. `secrets` are `whsec_…`, two of them while one is replaced. */
export type WebhookCredentials = { token: string; secrets: string[] };

const storedAccount = z.object({
  webhook_token: z.optional(z.string()),
  webhook_secrets: z.optional(z.array(z.string())),
  /** Secrets that were replaced, and until when (ms) they sign beside the new one. */
  retired_secrets: z.optional(z.array(z.object({ secret: z.string(), until: z.number() }))),
  technical_contacts: z.optional(z.array(z.string())),
});

const accountKey = (tenant: string) => ({ pk: `account#${tenant}` });

/** What is counted by tenant and UTC day. */
export type DailyCounter = 'tests' | 'sms' | 'email' | 'managed';

const counterKey = (counter: DailyCounter, tenant: string, day: string) => ({ pk: `${counter}#${day}#${tenant}` });

/** How long a sender uses credentials it has read: a change counts within this time. */
const CREDENTIALS_CACHE_MS = 60_000;

/** How long a replaced secret goes on signing, in ms: receivers have that long to take up the new one. */
const RETIREMENT = 86_400_000;

const newSecret = (): string => `whsec_${randomBytes(32).toString('base64')}`;

/** An account as operators see it. `until` (ms) is when a replaced secret stops signing. */
export type AccountDescription = {
  contacts: string[];
  token: string | undefined;
  secrets: string[];
  retired: { secret: string; until: number }[];
};

/** Accounts of tenants, and their daily counters (table Accounts). */
export const createAccountRepository = (client: DynamoDBDocumentClient, table: string, clock: Clock = Date.now) => {
  const credentialsCache = lru<{ credentials: Promise<WebhookCredentials>; until: number }>(1_000);

  const read = async (tenant: string): Promise<z.infer<typeof storedAccount>> => {
    const { Item } = await client.send(
      new GetCommand({ TableName: table, Key: accountKey(tenant), ConsistentRead: true }),
    );
    return storedAccount.parse(Item ?? {});
  };

  const stillSigning = ({ retired_secrets: retired = [] }: z.infer<typeof storedAccount>) =>
    retired.filter(({ until }) => until > clock());

  /** One conditional write: whoever comes first decides, and everybody reads back what was decided. */
  const makeCredentials = async (tenant: string): Promise<z.infer<typeof storedAccount>> => {
    const { Attributes } = await client.send(
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

    /** Replaces the account's technical contacts. */
    async setTechnicalContacts(tenant: string, contacts: string[]): Promise<void> {
      await client.send(
        new UpdateCommand({
          TableName: table,
          Key: accountKey(tenant),
          UpdateExpression: 'SET technical_contacts = :contacts',
          ExpressionAttributeValues: { ':contacts': contacts },
        }),
      );
    },

    /** What is stored of the account, without making anything that is not there. */
    async describe(tenant: string): Promise<AccountDescription> {
      const stored = await read(tenant);
      return {
        contacts: stored.technical_contacts ?? [],
        token: stored.webhook_token,
        secrets: stored.webhook_secrets ?? [],
        retired: stillSigning(stored),
      };
    },

    /** Replaces the token that webhooks of the tenant carry. */
    async setWebhookToken(tenant: string, token: string): Promise<void> {
      await client.send(
        new UpdateCommand({
          TableName: table,
          Key: accountKey(tenant),
          UpdateExpression: 'SET webhook_token = :token',
          ExpressionAttributeValues: { ':token': token },
        }),
      );
    },

    /**
     * Gives the account a new signing secret; those that it replaces sign beside it for a day. Senders hear of it within a
     * minute, when they read the account again.
     *
     * @throws ConditionalCheckFailedException where somebody else replaced the secret meanwhile
     */
    async rotateSecret(tenant: string): Promise<string> {
      const stored = await read(tenant);
      const { webhook_secrets: replaced = [] } = stored;
      const [current] = replaced;
      const secret = newSecret();
      const until = clock() + RETIREMENT;
      await client.send(
        new UpdateCommand({
          TableName: table,
          Key: accountKey(tenant),
          UpdateExpression: 'SET webhook_secrets = :secrets, retired_secrets = :retired',
          ConditionExpression:
            current === undefined ? 'attribute_not_exists(webhook_secrets)' : 'webhook_secrets[0] = :current',
          ExpressionAttributeValues: {
            ':secrets': [secret],
            ':retired': [...replaced.map((old) => ({ secret: old, until })), ...stillSigning(stored)],
            ...(current !== undefined && { ':current': current }),
          },
        }),
      );
      return secret;
    },

    /** Adds to a counter of the tenant's UTC day; false, and nothing is added, where it would pass `limit`. */
    async count(counter: DailyCounter, tenant: string, amount: number, limit: number): Promise<boolean> {
      if (amount > limit) return false;
      const now = clock();
      const day = new Date(now).toISOString().slice(0, 10);
      try {
        await client.send(
          new UpdateCommand({
            TableName: table,
            Key: counterKey(counter, tenant, day),
            UpdateExpression: 'SET expires = :expires ADD used :amount',
            ConditionExpression: 'attribute_not_exists(used) OR used <= :room',
            ExpressionAttributeValues: {
              ':amount': amount,
              ':room': limit - amount,
              ':expires': Math.floor(now / 1000) + 2 * 86_400,
            },
          }),
        );
        return true;
      } catch (error) {
        if (error instanceof ConditionalCheckFailedException) return false;
        throw error;
      }
    },
  };
};

/** Where accounts are kept. */
export type AccountRepository = ReturnType<typeof createAccountRepository>;
