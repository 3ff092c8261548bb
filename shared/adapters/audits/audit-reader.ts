import type { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import { parseStoredAudit, type StoredAudit } from '../../contracts/audit.ts';
import { auditPartition, firstAuditId } from '../../domain/audit.ts';
import type { Clock } from '../../domain/clock.ts';
import { queryItems, sortKeyOf } from '../dynamodb/queries.ts';

/** The times of the entries to read, in ms since the epoch, both included. */
export type AuditRange = { fromMs: number; toMs: number; isReverse: boolean };

/** Reads audit entries (table Audits), strongly consistent. */
export const createAuditReader = (client: DynamoDBDocumentClient, table: string, clock: Clock = Date.now) => ({
  /**
   * Yields the entries of a tenant that have not expired, oldest first unless `isReverse`. Reads lazily.
   *
   * @param tenant undefined: what concerns the whole stack
   * @param start the ID to start with, or null
   */
  async *list(
    tenant: string | undefined,
    { fromMs, toMs, isReverse }: AuditRange,
    start: string | null,
    pageSize: number,
  ): AsyncGenerator<StoredAudit> {
    const position = sortKeyOf(start);
    const [oldest, newest] = [firstAuditId(fromMs), firstAuditId(toMs + 1)];
    const lower = position !== undefined && !isReverse && position > oldest ? position : oldest;
    const upper = position !== undefined && isReverse && position < newest ? position : newest;
    // DynamoDB rejects an empty range.
    if (lower > upper) return;
    const items = queryItems(client, {
      TableName: table,
      KeyConditionExpression: 'pk = :pk AND sk BETWEEN :lower AND :upper',
      // TTL deletes items late.
      FilterExpression: '#ttl > :now',
      ExpressionAttributeNames: { '#ttl': 'ttl' },
      ExpressionAttributeValues: {
        ':pk': auditPartition(tenant),
        ':lower': lower,
        ':upper': upper,
        ':now': clock() / 1000,
      },
      ScanIndexForward: !isReverse,
      ConsistentRead: true,
      Limit: pageSize,
    });
    for await (const item of items) yield parseStoredAudit(item);
  },
});
