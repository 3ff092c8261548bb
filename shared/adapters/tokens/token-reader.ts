import type { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import * as z from 'zod/mini';
import type { Clock } from '../../domain/time.ts';
import { type Caller, tokenHash } from '../../domain/token.ts';
import { getItem } from '../dynamodb/items.ts';

const storedToken = z.object({
  id: z.string(),
  label: z.string(),
  tenant: z.string(),
  role: z.string(),
  ttl: z.number(),
});

/** Every API function authenticates with it, so it is separate from the writes of `token-repository.ts`. */
export const createTokenReader = (client: DynamoDBDocumentClient, table: string, clock: Clock = Date.now) => {
  /** TTL deletes items late. */
  const callerOf = (item: Record<string, unknown>): (Caller & { ttl: number }) | undefined => {
    const { id, label, tenant, role, ttl } = storedToken.parse(item);
    return ttl * 1000 > clock() ? { tenant, role, token: { id, label }, ttl } : undefined;
  };

  return {
    async find(token: string): Promise<(Caller & { ttl: number }) | undefined> {
      const item = await getItem(client, table, { pk: tokenHash(token) });
      return item && callerOf(item);
    },
  };
};

export type TokenReader = ReturnType<typeof createTokenReader>;
