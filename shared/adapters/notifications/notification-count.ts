import { type DynamoDBDocumentClient, paginateQuery } from '@aws-sdk/lib-dynamodb';
import { targetPartition } from './notification-items.ts';

/**
 * Counts the stored notifications of a tenant, so without the default notification. The cost grows with the number of
 * notifications.
 *
 * @param options.isConsistent whether the reads are strongly consistent
 * @param options.upTo stops when at least this many are counted; default: counts all
 */
export const countNotifications = async (
  client: DynamoDBDocumentClient,
  table: string,
  tenant: string,
  { isConsistent, upTo = Number.POSITIVE_INFINITY }: { isConsistent: boolean; upTo?: number },
): Promise<number> => {
  let counted = 0;
  const pages = paginateQuery(
    { client },
    {
      TableName: table,
      Select: 'COUNT',
      KeyConditionExpression: 'pk = :pk',
      // Excludes tombstones.
      FilterExpression: 'attribute_exists(version)',
      ExpressionAttributeValues: { ':pk': targetPartition(tenant) },
      ConsistentRead: isConsistent,
    },
  );
  for await (const { Count = 0 } of pages) {
    counted += Count;
    if (counted >= upTo) break;
  }
  return counted;
};
