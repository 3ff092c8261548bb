import { type DynamoDBDocumentClient, PutCommand, QueryCommand, type QueryCommandInput } from '@aws-sdk/lib-dynamodb';
import pLimit from 'p-limit';
import * as z from 'zod/mini';
import { alarmStates } from '../../contracts/alarm-event.ts';
import { eventHash, summaryPartition } from '../../domain/delivery-key.ts';
import { RETENTION_SECONDS } from '../../domain/delivery-record.ts';
import { type SummarizedAlarm, type Summary, summaryOf } from '../../domain/summary.ts';
import { orExisting } from '../dynamodb/conditional-writes.ts';
import { createCounters } from '../dynamodb/counters.ts';
import type { Item } from '../dynamodb/items.ts';

/*
 * The alarms of a summary, each with its newest alert, and the first alerts of its window, which were sent at once
 * (table Deliveries, docs/decisions/deliveries.md#summaries): pk `summary#<hash of the summary's ID>#<tenant>`, sk
 * `alarm#<incident>` or `first`.
 */

const ALARM_PREFIX = 'alarm#';

/** The maximum number of alarms of a summary that are read, which takes seconds and 10 MB. */
const MAX_READ = 20_000;

/** Further alarms are only counted, up to this number of pages of 1 MB: about 150,000 alarms. */
const MAX_COUNTED_PAGES = 40;

/** Base64 characters of a delivery ID. After a thousand alerts, one of a million others counts as one of them. */
const FIRST_ID_LENGTH = 5;

type SummaryKey = { tenant_id: string; event_id: string };

const storedAlarm = z.object({
  sk: z.string(),
  name: z.string(),
  state: z.enum(alarmStates),
  status: z.string(),
  at_ms: z.number(),
  newest: z.string(),
});

const parseAlarm = (item: Item): SummarizedAlarm => {
  const { sk, at_ms: atMs, newest: sortKey, ...alarm } = storedAlarm.parse(item);
  return { ...alarm, incident: sk.slice(ALARM_PREFIX.length), atMs, sortKey };
};

const partitionOf = (summary: SummaryKey): string => summaryPartition(summary.tenant_id, eventHash(summary));

const ttlOf = (nowMs: number): number => Math.floor(nowMs / 1000) + RETENTION_SECONDS;

export const createSummarizedAlerts = (client: DynamoDBDocumentClient, table: string) => {
  const counters = createCounters(client, table);

  const query = (summary: SummaryKey, input: Partial<QueryCommandInput>) =>
    client.send(
      new QueryCommand({
        TableName: table,
        KeyConditionExpression: 'pk = :pk AND begins_with(sk, :prefix)',
        ExpressionAttributeValues: { ':pk': partitionOf(summary), ':prefix': ALARM_PREFIX },
        ConsistentRead: true,
        ...input,
      }),
    );

  /** One at a time: ten of 20,000 alarms each need more memory than a sender has. */
  const limitReads = pLimit(1);

  const readSummary = async (summary: SummaryKey): Promise<Summary> => {
    const alarms: SummarizedAlarm[] = [];
    let next: Item | undefined;
    do {
      const page = await query(summary, { Limit: MAX_READ - alarms.length, ExclusiveStartKey: next });
      alarms.push(...(page.Items ?? []).map(parseAlarm));
      next = page.LastEvaluatedKey;
    } while (next && alarms.length < MAX_READ);
    let unread = 0;
    for (let page = 0; next && page < MAX_COUNTED_PAGES; page++) {
      const counted = await query(summary, { Select: 'COUNT', ExclusiveStartKey: next });
      unread += counted.Count ?? 0;
      next = counted.LastEvaluatedKey;
    }
    return summaryOf(alarms, unread);
  };

  return {
    /** Adds an alert, by its delivery ID in hex digits. @returns false if the window has `limit` others. Repeatable */
    addFirst(
      summary: SummaryKey,
      { deliveryId, limit }: { deliveryId: string; limit: number },
      nowMs: number,
    ): Promise<boolean> {
      const id = Buffer.from(deliveryId, 'hex').toString('base64url').slice(0, FIRST_ID_LENGTH);
      return counters.takeOnce({ key: { pk: partitionOf(summary), sk: 'first' }, ttl: ttlOf(nowMs) }, id, limit);
    },

    /** Stores an alarm unless a newer alert of it is stored: the order does not matter, repeating changes nothing. */
    async put(summary: SummaryKey, alarm: SummarizedAlarm, nowMs: number): Promise<void> {
      const { incident, name, state, status, atMs, sortKey } = alarm;
      const key = { pk: partitionOf(summary), sk: ALARM_PREFIX + incident };
      const request = new PutCommand({
        TableName: table,
        Item: { ...key, name, state, status, at_ms: atMs, newest: sortKey, ttl: ttlOf(nowMs) },
        ConditionExpression: 'attribute_not_exists(newest) OR newest < :newest',
        ExpressionAttributeValues: { ':newest': sortKey },
      });
      await orExisting(() => client.send(request));
    },

    /** Strongly consistent. @returns undefined if `hasTime`, called after other reads, returns false */
    read: (summary: SummaryKey, hasTime: () => boolean = () => true): Promise<Summary | undefined> =>
      limitReads(() => (hasTime() ? readSummary(summary) : undefined)),
  };
};

export type SummarizedAlerts = ReturnType<typeof createSummarizedAlerts>;
