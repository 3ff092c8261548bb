import {
  DeleteCommand,
  type DynamoDBDocumentClient,
  GetCommand,
  PutCommand,
  paginateScan,
} from '@aws-sdk/lib-dynamodb';
import * as z from 'zod/mini';
import type { Caller, Role } from '../../domain/authorization.ts';
import type { Clock } from '../../domain/clock.ts';
import { newToken, tokenHash } from '../../domain/token.ts';

const storedToken = z.object({ tenant: z.string(), role: z.string(), ttl: z.number() });
const describedToken = z.extend(storedToken, { pk: z.string(), label: z.string(), created_at_ms: z.number() });

/** A token as it may be shown: times in ms since the epoch, never the token itself. */
export type TokenDescription = { hash: string; role: string; label: string; createdAtMs: number; expiresAtMs: number };

/** Tokens by their SHA-256 (table Tokens). */
export const createTokenRepository = (client: DynamoDBDocumentClient, table: string, clock: Clock = Date.now) => ({
  /** Makes and stores a token. It is returned once and cannot be read again. */
  async issue(token: { tenant: string; role: Role; label: string; expiresInSeconds: number }): Promise<string> {
    const secret = newToken();
    const now = clock();
    const { tenant, role, label, expiresInSeconds } = token;
    await client.send(
      new PutCommand({
        TableName: table,
        Item: {
          pk: tokenHash(secret),
          tenant,
          role,
          label,
          created_at_ms: now,
          ttl: Math.floor(now / 1000) + expiresInSeconds,
        },
      }),
    );
    return secret;
  },

  /** Who holds this token: strongly consistent; undefined for an unknown or expired one. TTL deletes late, so expiry is checked here. */
  async find(token: string): Promise<(Caller & { ttl: number }) | undefined> {
    const { Item } = await client.send(
      new GetCommand({ TableName: table, Key: { pk: tokenHash(token) }, ConsistentRead: true }),
    );
    if (!Item) return undefined;
    const stored = storedToken.parse(Item);
    return stored.ttl * 1000 > clock() ? stored : undefined;
  },

  /** The tenant's tokens, oldest first. Reads the whole table, which only operators do. */
  async list(tenant: string): Promise<TokenDescription[]> {
    const tokens: TokenDescription[] = [];
    const pages = paginateScan(
      { client },
      {
        TableName: table,
        FilterExpression: 'tenant = :tenant',
        ExpressionAttributeValues: { ':tenant': tenant },
        ConsistentRead: true,
      },
    );
    for await (const { Items = [] } of pages) {
      for (const item of Items) {
        const { pk: hash, role, label, created_at_ms: createdAtMs, ttl } = describedToken.parse(item);
        tokens.push({ hash, role, label, createdAtMs, expiresAtMs: ttl * 1000 });
      }
    }
    return tokens.sort((one, other) => one.createdAtMs - other.createdAtMs);
  },

  /** Makes a token useless, at once for the database, and within the time that functions remember it for all. */
  async revoke(hash: string): Promise<void> {
    await client.send(new DeleteCommand({ TableName: table, Key: { pk: hash } }));
  },
});

/** Where tokens are kept. */
export type TokenRepository = ReturnType<typeof createTokenRepository>;
