import { type DynamoDBDocumentClient, GetCommand } from '@aws-sdk/lib-dynamodb';
import * as z from 'zod/mini';
import { unavailable } from '../../domain/errors.ts';
import { type TransactItem, transact } from '../dynamodb/transactions.ts';
import { withRetries } from '../waiting.ts';

/** How often a change is tried while other requests change the list, and the maximum delay before the next attempt. */
type Persistence = { attempts: number; maxDelayMs: number };

/** Whoever issues tokens waits for the write of another request. */
export const ISSUES: Persistence = { attempts: 20, maxDelayMs: 50 };

/** Revocations try sooner and longer, so that they succeed while others issue tokens in a loop. */
export const REVOCATIONS: Persistence = { attempts: 300, maxDelayMs: 10 };

const entrySchema = z.object({
  /** The SHA-256 of the token in hex, which is the key of its item. */
  hash: z.string(),
  /** The ID in the API: `tk` and a ULID, so IDs sort by creation. */
  id: z.string(),
  role: z.string(),
  label: z.string(),
  /** The ID of the token that issued it, or `OPERATOR`. */
  issuer: z.string(),
  created_at_ms: z.number(),
  expires_at_ms: z.number(),
  /** When it was revoked, ms since the epoch. Absent unless more tokens were revoked than a transaction deletes. */
  revoked_at_ms: z.optional(z.number()),
});

export type TokenEntry = z.infer<typeof entrySchema>;

const storedList = z.object({
  /** Increases with every change, so that a change based on an older list fails its condition. */
  version: z._default(z.number(), 0),
  tokens: z._default(z.array(entrySchema), []),
  /** When a token was last revoked, ms since the epoch. */
  last_revoked_at_ms: z._default(z.number(), 0),
});

export type TokenList = z.infer<typeof storedList>;

/** Changed attributes of a list, and the other items of the transaction: tokens and audit entries. */
export type TokenChange = { list: Partial<Omit<TokenList, 'version'>>; others: readonly TransactItem[] };

/** The keys of tokens are hexadecimal hashes, so they never collide. */
const listKey = (tenant: string) => ({ pk: `tenant#${tenant}` });

/** One item per tenant (table Tokens): neither listing nor revoking scans (docs/decisions/storage.md#token-list). */
export const createTokenLists = (client: DynamoDBDocumentClient, table: string) => {
  const read = async (tenant: string): Promise<TokenList> => {
    const { Item = {} } = await client.send(
      new GetCommand({ TableName: table, Key: listKey(tenant), ConsistentRead: true }),
    );
    return storedList.parse(Item);
  };

  const put = (tenant: string, { version, ...list }: TokenList): TransactItem => ({
    Put: {
      TableName: table,
      Item: { ...listKey(tenant), ...list, version: version + 1 },
      ConditionExpression: version === 0 ? 'attribute_not_exists(pk)' : 'version = :read',
      ...(version > 0 && { ExpressionAttributeValues: { ':read': version } }),
    },
  });

  return {
    /** With the entries of tokens that expired recently. */
    read,

    /**
     * Changes a list and items of its tokens in one transaction. `decide` returns the result and the change, if any. It
     * is called again if another request changes the list first.
     *
     * @throws ServiceError serviceUnavailable if every attempt conflicts; UnconfirmedChangeError
     */
    async change<Result>(
      tenant: string,
      { attempts, maxDelayMs }: Persistence,
      decide: (list: TokenList) => { result: Result; change?: TokenChange },
    ): Promise<Result> {
      const tryOnce = async (): Promise<{ result: Result } | undefined> => {
        const list = await read(tenant);
        const { result, change } = decide(list);
        if (!change) return { result };
        const items = { others: change.others, list: put(tenant, { ...list, ...change.list }) };
        return (await transact(client, items)).length === 0 ? { result } : undefined;
      };
      const changed = await withRetries(tryOnce, (tried, count) => {
        const hasConflict = tried.status === 'fulfilled' && !tried.value;
        return hasConflict && count < attempts ? Math.random() * maxDelayMs : undefined;
      });
      if (!changed) throw unavailable();
      return changed.result;
    },
  };
};
