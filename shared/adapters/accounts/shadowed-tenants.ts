import { type DynamoDBDocumentClient, paginateScan } from '@aws-sdk/lib-dynamodb';
import * as z from 'zod/mini';
import { covers } from '../../domain/shadow.ts';
import { storedShadow, tenantOfAccount } from './account-repository.ts';

const shadowedAccount = z.object({ pk: z.string(), shadow: storedShadow });

/**
 * Creates the function that returns the tenants in shadow mode, by name. It scans table Accounts, eventually consistent,
 * which costs half.
 */
export const createShadowedTenants =
  (client: DynamoDBDocumentClient, table: string) =>
  async (nowMs: number): Promise<string[]> => {
    const filter = { FilterExpression: 'attribute_exists(shadow)', ProjectionExpression: 'pk, shadow' };
    const tenants: string[] = [];
    for await (const { Items = [] } of paginateScan({ client }, { TableName: table, ...filter })) {
      const accounts = Items.map((item) => shadowedAccount.parse(item));
      tenants.push(...accounts.filter(({ shadow }) => covers(shadow, nowMs)).map(({ pk }) => tenantOfAccount(pk)));
    }
    return tenants.sort();
  };
