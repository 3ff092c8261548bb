import { type DynamoDBDocumentClient, GetCommand, UpdateCommand } from '@aws-sdk/lib-dynamodb';
import { eventHash, summaryPartition } from '../../domain/delivery-key.ts';
import { RETENTION_SECONDS } from '../../domain/delivery-record.ts';

/*
 * The summaries that list an alert which has failed everywhere else (table Deliveries,
 * docs/decisions/deliveries.md#summaries):
 *
 *   pk `summary#<hash of the summary's ID>#<tenant>`  sk `awaited`
 */

/** The ID of a summary and its tenant. */
type SummaryKey = { tenant_id: string; event_id: string };

/** Creates the reads and writes of awaited summaries. */
export const createAwaitedSummaries = (client: DynamoDBDocumentClient, table: string) => {
  const keyOf = (summary: SummaryKey) => ({
    pk: summaryPartition(summary.tenant_id, eventHash(summary)),
    sk: 'awaited',
  });
  return {
    /** Stores that a summary is awaited. Repeating it changes nothing. */
    async add(summary: SummaryKey, nowMs: number): Promise<void> {
      const request = new UpdateCommand({
        TableName: table,
        Key: keyOf(summary),
        UpdateExpression: 'SET #ttl = :ttl',
        ExpressionAttributeNames: { '#ttl': 'ttl' },
        ExpressionAttributeValues: { ':ttl': Math.floor(nowMs / 1000) + RETENTION_SECONDS },
      });
      await client.send(request);
    },

    /** Returns whether a summary is awaited, strongly consistent. */
    async has(summary: SummaryKey): Promise<boolean> {
      const request = new GetCommand({ TableName: table, Key: keyOf(summary), ConsistentRead: true });
      return (await client.send(request)).Item !== undefined;
    },
  };
};

/** Reads and writes awaited summaries. */
export type AwaitedSummaries = ReturnType<typeof createAwaitedSummaries>;
