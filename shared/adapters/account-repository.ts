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
  technical_contacts: z.optional(z.array(z.string())),
});

const accountKey = (tenant: string) => ({ pk: `account#${tenant}` });

/** What is counted by tenant and UTC day. */
export type DailyCounter = 'tests' | 'sms' | 'email' | 'managed';

const counterKey = (counter: DailyCounter, tenant: string, day: string) => ({ pk: `${counter}#${day}#${tenant}` });

/** How long a sender uses credentials it has read: a change counts within this time. */
const CREDENTIALS_CACHE_MS = 60_000;

/** Accounts of tenants, and their daily counters (table Accounts). */
export const createAccountRepository = (client: DynamoDBDocumentClient, table: string, clock: Clock = Date.now) => {
  const credentialsCache = lru<{ credentials: Promise<WebhookCredentials>; until: number }>(1_000);

  const read = async (tenant: string): Promise<z.infer<typeof storedAccount>> => {
    const { Item } = await client.send(
      new GetCommand({ TableName: table, Key: accountKey(tenant), ConsistentRead: true }),
    );
    return storedAccount.parse(Item ?? {});
  };

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
          ':secrets': [`whsec_${randomBytes(32).toString('base64')}`],
        },
        ReturnValues: 'ALL_NEW',
      }),
    );
    return storedAccount.parse(Attributes);
  };

  const readCredentials = async (tenant: string): Promise<WebhookCredentials> => {
    const stored = await read(tenant);
    const { webhook_token: token, webhook_secrets: secrets } =
      stored.webhook_token && stored.webhook_secrets ? stored : await makeCredentials(tenant);
    if (!token || !secrets) throw new Error('The account has no webhook credentials after they were made.');
    return { token, secrets };
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
