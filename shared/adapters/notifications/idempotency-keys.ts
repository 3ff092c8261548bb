import { createHash } from 'node:crypto';
import { type DynamoDBDocumentClient, GetCommand } from '@aws-sdk/lib-dynamodb';
import * as z from 'zod/mini';
import { DAY_SECONDS } from '../../domain/day.ts';
import { idempotencyKeyReused } from '../../domain/errors.ts';
import type { NotificationKey } from '../../domain/notification.ts';
import type { TransactItem } from '../dynamodb/transactions.ts';

/*
 * The first response of each `Idempotency-Key` (table Notifications, docs/decisions/storage.md#idempotency-keys):
 *
 *   pk `idempotency#<tenant>`  sk <hash of the key>
 *
 * The hash of the body includes the key, which nothing stores, so that no body can be guessed from it.
 */

export type IdempotentRequest = { key: string; body: string };

const stored = z.object({ notification_id: z.string(), request_hash: z.string(), ttl: z.number() });

const sha256 = (...values: string[]): string => createHash('sha256').update(JSON.stringify(values)).digest('base64url');

const itemKey = (tenant: string, { key }: IdempotentRequest) => ({ pk: `idempotency#${tenant}`, sk: sha256(key) });

const requestHash = ({ key, body }: IdempotentRequest): string => sha256(key, body);

/** Stores the key for 24 hours unless it is stored. TTL deletes items late, so an expired one is replaced. */
export const idempotencyItem = (
  table: string,
  { tenant, id }: NotificationKey,
  request: IdempotentRequest,
  nowMs: number,
): TransactItem => {
  const nowSeconds = Math.floor(nowMs / 1000);
  return {
    Put: {
      TableName: table,
      Item: {
        ...itemKey(tenant, request),
        notification_id: id,
        request_hash: requestHash(request),
        ttl: nowSeconds + DAY_SECONDS,
      },
      ConditionExpression: 'attribute_not_exists(pk) OR #ttl <= :now',
      ExpressionAttributeNames: { '#ttl': 'ttl' },
      ExpressionAttributeValues: { ':now': nowSeconds },
    },
  };
};

/** Returns the ID that the first request with this key created. @throws ServiceError idempotencyKeyReused */
export const findCreated = async (
  client: DynamoDBDocumentClient,
  table: string,
  tenant: string,
  request: IdempotentRequest,
  nowMs: number,
): Promise<string | undefined> => {
  const { Item } = await client.send(
    new GetCommand({ TableName: table, Key: itemKey(tenant, request), ConsistentRead: true }),
  );
  if (!Item) return undefined;
  const { notification_id: id, request_hash, ttl } = stored.parse(Item);
  if (ttl <= Math.floor(nowMs / 1000)) return undefined;
  if (request_hash !== requestHash(request)) throw idempotencyKeyReused();
  return id;
};
