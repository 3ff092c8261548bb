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

/** A token's metadata, without the token itself. Times are in ms since the epoch. */
export type TokenDescription = { hash: string; role: string; label: string; createdAtMs: number; expiresAtMs: number };

/** Reads and writes tokens, stored by their SHA-256 hash (table Tokens). */
export const createTokenRepository = (client: DynamoDBDocumentClient, table: string, clock: Clock = Date.now) => ({
  /** Creates and stores a token. @returns the token, which cannot be read again */
  async issue(grant: { tenant: string; role: Role; label: string; expiresInSeconds: number }): Promise<string> {
    const token = newToken();
    const nowMs = clock();
    const { tenant, role, label, expiresInSeconds } = grant;
    await client.send(
      new PutCommand({
        TableName: table,
        Item: {
          pk: tokenHash(token),
          tenant,
          role,
          label,
          created_at_ms: nowMs,
          ttl: Math.floor(nowMs / 1000) + expiresInSeconds,
        },
      }),
    );
    return token;
  },

  /**
   * Returns the caller of a token, strongly consistent, or undefined if the token is unknown or expired. TTL deletes
   * items late.
   */
  async find(token: string): Promise<(Caller & { ttl: number }) | undefined> {
    const { Item } = await client.send(
      new GetCommand({ TableName: table, Key: { pk: tokenHash(token) }, ConsistentRead: true }),
    );
    if (!Item) return undefined;
    const stored = storedToken.parse(Item);
    return stored.ttl * 1000 > clock() ? stored : undefined;
  },

  /** Returns the tenant's tokens, oldest first. Scans the whole table: for operators only. */
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
    return tokens.sort((a, b) => a.createdAtMs - b.createdAtMs);
  },

  /** Revokes a token. Functions may accept it until their cache expires (DECISIONS.md#tokens-and-roles). */
  async revoke(hash: string): Promise<void> {
    await client.send(new DeleteCommand({ TableName: table, Key: { pk: hash } }));
  },
});

/** Reads and writes the table Tokens. */
export type TokenRepository = ReturnType<typeof createTokenRepository>;
