import {
  type DynamoDBDocumentClient,
  GetCommand,
  PutCommand,
  QueryCommand,
  type QueryCommandInput,
  UpdateCommand,
} from '@aws-sdk/lib-dynamodb';
import pLimit from 'p-limit';
import * as z from 'zod/mini';
import { alarmStates } from '../../contracts/alarm-event.ts';
import { eventHash, summaryPartition } from '../../domain/delivery-key.ts';
import { RETENTION_SECONDS } from '../../domain/delivery-record.ts';
import { type SummarizedAlert, type Summary, summaryOf } from '../../domain/summary.ts';
import { unlessConditionFailed } from '../dynamodb/errors.ts';
import type { Item } from '../dynamodb/items.ts';

/*
 * The alerts of a summary, and the first ones of its window, which were sent at once (table Deliveries,
 * docs/decisions/deliveries.md#summaries):
 *
 *   pk `summary#<hash of the summary's ID>-<shard>#<tenant>`  sk <time of the event>-<when SQS accepted it>#<hash of its ID>
 *   pk `summary#<hash of the summary's ID>#<tenant>`          sk `first`
 */

/** The alerts of an alarm are in one partition, those of a summary in several: one accepts 1,000 writes a second. */
const SHARDS = 8;

/** The maximum number of alerts that are evaluated in a partition: 20,000 in total take seconds and 10 MB. */
const MAX_EVALUATED = 2_500;

/** Older alerts are only counted, up to this number of pages of 1 MB in a partition: about 150,000 alerts. */
const MAX_COUNTED_PAGES = 40;

/**
 * Base64 characters of a delivery ID that distinguish the first alerts of a window, so that their item has at most 5 KB.
 * After a thousand first alerts, one of a million others counts as one of them, and is sent at once.
 */
const FIRST_ID_LENGTH = 5;

/** The ID of a summary and its tenant. */
type SummaryKey = { tenant_id: string; event_id: string };

const storedAlert = z.object({
  sk: z.string(),
  incident: z.string(),
  name: z.string(),
  state: z.enum(alarmStates),
  at_ms: z.number(),
});

const parseAlert = (item: Item): SummarizedAlert => {
  const { sk, at_ms, ...alert } = storedAlert.parse(item);
  return { ...alert, atMs: at_ms, sortKey: sk };
};

const partitionOf = (summary: SummaryKey, shard?: number): string =>
  summaryPartition(summary.tenant_id, shard === undefined ? eventHash(summary) : `${eventHash(summary)}-${shard}`);

const ttlOf = (nowMs: number): number => Math.floor(nowMs / 1000) + RETENTION_SECONDS;

/** Creates the reads and writes of summarized alerts. */
export const createSummarizedAlerts = (client: DynamoDBDocumentClient, table: string) => {
  const query = (pk: string, input: Partial<QueryCommandInput>) =>
    client.send(
      new QueryCommand({
        TableName: table,
        KeyConditionExpression: 'pk = :pk',
        ExpressionAttributeValues: { ':pk': pk },
        ConsistentRead: true,
        ScanIndexForward: false,
        ...input,
      }),
    );

  /**
   * One summary at a time: ten of 20,000 alerts each need more memory than a sender has, and a batch may have a hundred.
   */
  const limitReads = pLimit(1);

  /** Returns the newest alerts of a partition, and the number of the others. */
  const readShard = async (pk: string): Promise<{ alerts: SummarizedAlert[]; others: number }> => {
    const alerts: SummarizedAlert[] = [];
    let next: Item | undefined;
    do {
      const Limit = MAX_EVALUATED - alerts.length;
      const page = await query(pk, {
        Limit,
        ExclusiveStartKey: next,
        ProjectionExpression: 'sk, incident, #name, #state, at_ms',
        ExpressionAttributeNames: { '#name': 'name', '#state': 'state' },
      });
      alerts.push(...(page.Items ?? []).map(parseAlert));
      next = page.LastEvaluatedKey;
    } while (next && alerts.length < MAX_EVALUATED);
    let others = 0;
    for (let page = 0; next && page < MAX_COUNTED_PAGES; page++) {
      const counted = await query(pk, { Select: 'COUNT', ExclusiveStartKey: next });
      others += counted.Count ?? 0;
      next = counted.LastEvaluatedKey;
    }
    return { alerts, others };
  };

  const readSummary = async (summary: SummaryKey): Promise<Summary> => {
    const shards = await Promise.all(
      Array.from({ length: SHARDS }, (_, shard) => readShard(partitionOf(summary, shard))),
    );
    const others = shards.reduce((sum, shard) => sum + shard.others, 0);
    return summaryOf(
      shards.flatMap(({ alerts }) => alerts),
      others,
    );
  };

  return {
    /**
     * Adds an alert to the first ones of a window, which are sent at once. Repeating it changes nothing.
     *
     * @param summary the summary of the window
     * @param deliveryId in hex digits
     * @returns false if the window has `limit` of them without this one
     */
    async addFirst(summary: SummaryKey, deliveryId: string, limit: number, nowMs: number): Promise<boolean> {
      const id = Buffer.from(deliveryId, 'hex').toString('base64url').slice(0, FIRST_ID_LENGTH);
      const request = client.send(
        new UpdateCommand({
          TableName: table,
          Key: { pk: partitionOf(summary), sk: 'first' },
          UpdateExpression: 'SET #ttl = :ttl ADD first_ids :ids',
          ConditionExpression:
            'attribute_not_exists(first_ids) OR size(first_ids) < :limit OR contains(first_ids, :id)',
          ExpressionAttributeNames: { '#ttl': 'ttl' },
          ExpressionAttributeValues: {
            ':ttl': ttlOf(nowMs),
            ':ids': new Set([id]),
            ':id': id,
            ':limit': limit,
          },
        }),
      );
      return (await unlessConditionFailed(request)) !== undefined;
    },

    /** Returns whether a window has had a first alert, strongly consistent. */
    async hasFirst(summary: SummaryKey): Promise<boolean> {
      const Key = { pk: partitionOf(summary), sk: 'first' };
      const { Item } = await client.send(new GetCommand({ TableName: table, Key, ConsistentRead: true }));
      return Item !== undefined;
    },

    /** Stores an alert for a summary. Repeating it changes nothing. */
    async put(summary: SummaryKey, alert: SummarizedAlert, nowMs: number): Promise<void> {
      const { incident, name, state, atMs, sortKey } = alert;
      const shard = Number.parseInt(incident.slice(0, 2), 16) % SHARDS;
      const pk = partitionOf(summary, shard);
      const Item = { pk, sk: sortKey, incident, name, state, at_ms: atMs, ttl: ttlOf(nowMs) };
      await client.send(new PutCommand({ TableName: table, Item }));
    },

    /**
     * Returns the summary of its stored alerts, strongly consistent.
     *
     * @param hasTime returns whether there is time to read it, after others
     * @returns undefined without time
     */
    read: (summary: SummaryKey, hasTime: () => boolean = () => true): Promise<Summary | undefined> =>
      limitReads(() => (hasTime() ? readSummary(summary) : undefined)),
  };
};

/** Reads and writes summarized alerts. */
export type SummarizedAlerts = ReturnType<typeof createSummarizedAlerts>;
