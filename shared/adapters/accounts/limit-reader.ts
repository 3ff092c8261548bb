import { type DynamoDBDocumentClient, GetCommand } from '@aws-sdk/lib-dynamodb';
import * as z from 'zod/mini';
import type { LimitName, TenantLimits } from '../../contracts/tenant-limits.ts';
import { accountKey } from './account-key.ts';
import type { LimitOf } from './account-repository.ts';

const storedLimit = z.optional(z.number());

/**
 * Creates the function that reads a limit of a tenant: its override, or else that of the deployment. It reads only this
 * attribute and caches nothing: the functions of the API need nothing else of the account, whose schemas would slow down
 * their cold starts.
 */
export const createLimitReader =
  (client: DynamoDBDocumentClient, table: string, name: LimitName, settings: TenantLimits): LimitOf =>
  async (tenant) => {
    const { Item = {} } = await client.send(
      new GetCommand({ TableName: table, Key: accountKey(tenant), ProjectionExpression: name }),
    );
    return storedLimit.parse(Item[name]) ?? settings[name];
  };
