import { type DynamoDBDocumentClient, UpdateCommand } from '@aws-sdk/lib-dynamodb';
import { DAY_SECONDS, utcDay } from '../../domain/day.ts';
import { unlessConditionFailed } from '../dynamodb/errors.ts';

/** A daily counter of escalations. */
export type EscalationCounter = 'escalations' | 'ok_escalations';

/** The item of a counter, tenant and UTC day has the set `keys` of the escalations so far, and `ttl`. */
const itemKey = (counter: EscalationCounter, tenant: string, timeMs: number) => ({
  pk: `${counter}#${utcDay(timeMs)}#${tenant}`,
});

/**
 * Creates the daily limit of escalations per counter, tenant and UTC day (table Accounts). It stores the keys of the
 * escalations rather than their number, so that repeating a request or an escalation changes nothing.
 *
 * @returns a function that adds an escalation, and returns false if the tenant has reached the limit without it
 */
export const createEscalationLimit =
  (client: DynamoDBDocumentClient, table: string, limit: number) =>
  async (counter: EscalationCounter, tenant: string, key: string, timeMs: number): Promise<boolean> => {
    const request = client.send(
      new UpdateCommand({
        TableName: table,
        Key: itemKey(counter, tenant, timeMs),
        UpdateExpression: 'SET #ttl = :ttl ADD #keys :keys',
        ConditionExpression: 'attribute_not_exists(#keys) OR size(#keys) < :limit OR contains(#keys, :key)',
        ExpressionAttributeNames: { '#ttl': 'ttl', '#keys': 'keys' },
        ExpressionAttributeValues: {
          ':ttl': Math.floor(timeMs / 1000) + 2 * DAY_SECONDS,
          ':keys': new Set([key]),
          ':key': key,
          ':limit': limit,
        },
      }),
    );
    return (await unlessConditionFailed(request)) !== undefined;
  };
