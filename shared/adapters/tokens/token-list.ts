import { setTimeout as sleep } from 'node:timers/promises';
import type { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import * as z from 'zod/mini';
import { unavailable } from '../../domain/errors.ts';
import { ConcurrentChangeError, createVersionedItem, versionAttributes } from '../dynamodb/versioned-item.ts';

/** The maximum number of attempts to change a list that other requests change concurrently. */
const MAX_ATTEMPTS = 10;

/** The maximum delay before another attempt: long enough for the write of another request. */
const MAX_DELAY_MS = 50;

const entrySchema = z.object({
  /** The SHA-256 of the token in hex, which is the key of its item. */
  hash: z.string(),
  /** The ID in the API: `tk` and a ULID, so IDs sort by creation. */
  id: z.string(),
  role: z.string(),
  label: z.string(),
  created_at_ms: z.number(),
  expires_at_ms: z.number(),
  /** True from the decision to revoke the token until its entry is removed. */
  revoking: z.optional(z.boolean()),
});

/** The entry of a token in the list of its tenant. */
export type TokenEntry = z.infer<typeof entrySchema>;

const storedList = z.object({ ...versionAttributes, tokens: z.optional(z.array(entrySchema)) });

/** Returns the primary key of a tenant's list. The keys of tokens are hexadecimal hashes, so they never collide. */
const listKey = (tenant: string) => ({ pk: `tenant#${tenant}` });

/**
 * Reads and changes the list of each tenant's tokens: one versioned item per tenant (table Tokens), so that neither
 * listing nor revoking scans the table (docs/decisions/storage.md#token-list).
 */
export const createTokenList = (client: DynamoDBDocumentClient, table: string) => {
  const item = createVersionedItem(client, table, { schema: storedList, keyOf: listKey, what: 'list of tokens' });

  const read = async (tenant: string): Promise<TokenEntry[]> => (await item.read(tenant)).tokens ?? [];

  return {
    /** Returns the entries of a tenant, strongly consistent, including those of tokens that have expired. */
    read,

    /**
     * Replaces the entries of a tenant. If another request changes them at the same time, reads them again and calls
     * `entriesAfter` again.
     *
     * @param entriesAfter returns the new entries, or undefined to change nothing
     * @throws ServiceError serviceUnavailable if every attempt conflicts with another change
     * @throws UnconfirmedChangeError if it is unknown whether the change was applied
     */
    async update(
      tenant: string,
      entriesAfter: (
        entries: TokenEntry[],
        attempt: number,
      ) => Promise<TokenEntry[] | undefined> | TokenEntry[] | undefined,
    ): Promise<void> {
      for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt++) {
        if (attempt > 1) await sleep(Math.random() * MAX_DELAY_MS);
        const stored = await item.read(tenant);
        const tokens = await entriesAfter(stored.tokens ?? [], attempt);
        if (tokens === undefined) return;
        try {
          return await item.change(tenant, stored, { tokens });
        } catch (error) {
          if (!(error instanceof ConcurrentChangeError)) throw error;
        }
      }
      throw unavailable();
    },
  };
};
