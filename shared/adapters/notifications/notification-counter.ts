import { type DynamoDBDocumentClient, paginateQuery } from '@aws-sdk/lib-dynamodb';
import * as z from 'zod/mini';
import { unavailable } from '../../domain/errors.ts';
import type { Audit } from '../audits/audit-log.ts';
import { getItem } from '../dynamodb/items.ts';
import { type TransactItem, transact } from '../dynamodb/transactions.ts';
import { targetPartition } from './notification-targets.ts';

const MAX_ATTEMPTS = 10;

const counterKey = (tenant: string) => ({ pk: `quota#${tenant}`, sk: 'notifications' });

const storedCounter = z.object({
  used: z.number(),
  /** Increases with every change, so that a recount knows whether it overlaps one. */
  changes: z.number(),
});

/** Counts a created or deleted notification, on the condition that a tenant has fewer than `limit`. */
export const counterItem = (table: string, tenant: string, change: 1 | -1, limit?: number): TransactItem => ({
  Update: {
    TableName: table,
    Key: counterKey(tenant),
    UpdateExpression: 'ADD used :change, changes :one',
    ExpressionAttributeValues: { ':change': change, ':one': 1, ':limit': limit },
    ConditionExpression: limit === undefined ? undefined : 'attribute_not_exists(used) OR used < :limit',
  },
});

const readCounter = async (client: DynamoDBDocumentClient, table: string, tenant: string) =>
  storedCounter.parse((await getItem(client, table, counterKey(tenant))) ?? { used: 0, changes: 0 });

/** The number of stored notifications. It is never below 0, as the counter of a restored table may be. */
export const readNotificationCount = async (
  client: DynamoDBDocumentClient,
  table: string,
  tenant: string,
): Promise<number> => Math.max(0, (await readCounter(client, table, tenant)).used);

const countTargets = async (client: DynamoDBDocumentClient, table: string, tenant: string): Promise<number> => {
  const pages = paginateQuery(
    { client },
    {
      TableName: table,
      Select: 'COUNT',
      KeyConditionExpression: 'pk = :pk',
      ExpressionAttributeValues: { ':pk': targetPartition(tenant) },
      ConsistentRead: true,
    },
  );
  let counted = 0;
  for await (const { Count = 0 } of pages) counted += Count;
  return counted;
};

/** Corrects the counter, which differs only if the table was restored or edited. @throws UnconfirmedChangeError */
export const recountNotifications = async (
  client: DynamoDBDocumentClient,
  table: string,
  tenant: string,
  audit: Audit,
): Promise<{ before: number; after: number }> => {
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
    const { used, changes } = await readCounter(client, table, tenant);
    const counted = await countTargets(client, table, tenant);
    const Update = {
      TableName: table,
      Key: counterKey(tenant),
      UpdateExpression: 'SET used = :counted ADD changes :one',
      ConditionExpression: changes === 0 ? 'attribute_not_exists(changes)' : 'changes = :changes',
      ExpressionAttributeValues: {
        ':counted': counted,
        ':one': 1,
        ':changes': changes === 0 ? undefined : changes,
      },
    };
    const entry = audit({ action: 'recount-notifications', target_id: tenant });
    const failed = await transact(client, { counter: { Update }, entry });
    if (failed.length === 0) return { before: used, after: counted };
  }
  throw unavailable();
};
