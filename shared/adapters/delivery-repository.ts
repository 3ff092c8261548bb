import { setTimeout as pause } from 'node:timers/promises';
import { ConditionalCheckFailedException } from '@aws-sdk/client-dynamodb';
import {
  type DynamoDBDocumentClient,
  GetCommand,
  PutCommand,
  type PutCommandInput,
  paginateQuery,
  paginateScan,
  UpdateCommand,
  type UpdateCommandInput,
} from '@aws-sdk/lib-dynamodb';
import * as z from 'zod/mini';
import { alarmStates } from '../contracts/alarm-event.ts';
import { type DeliveryKey, deliveryPartition } from '../domain/delivery-key.ts';
import { type Claim, claimOn, type DeliveryRecord, deliveryStatuses, shortenedId } from '../domain/delivery-record.ts';
import type { IncidentTurn } from '../domain/incident.ts';
import { batchWrite } from './dynamodb-batches.ts';

const attempt = z.object({
  at: z.number(),
  result: z.enum(['delivered', 'throttled', 'transient', 'permanent']),
  status: z.optional(z.number()),
  took: z.number(),
});

const storedRecord = z.object({
  pk: z.string(),
  sk: z.string(),
  status: z.enum(deliveryStatuses),
  event_id: z.string(),
  entity_id: z.string(),
  alarm_id: z.string(),
  state: z.enum(alarmStates),
  content: z.string(),
  attempts: z.number(),
  opened: z.number(),
  due: z.number(),
  lease: z.number(),
  owner: z.string(),
  history: z.array(attempt),
  parts: z.array(z.string()),
  expires: z.number(),
});

const storedTurn = z.object({
  pk: z.string(),
  sk: z.string(),
  newest: z.number(),
  lease: z.number(),
  owner: z.string(),
  expires: z.number(),
});

type Item = DeliveryRecord | IncidentTurn;

/** Completions that come within this time share one BatchWriteItem, in ms: it costs a ninth of single writes (CPU). */
const GATHER = 3;

/** Records that one page looks at where most of them are of other alarms. */
const SEARCH_PAGE = 1_000;

/** The deliveries and where they stand (table Deliveries). */
export const createDeliveryRepository = (client: DynamoDBDocumentClient, table: string) => {
  let gathered: { items: Item[]; written: Promise<void> } | undefined;

  const writeAll = (items: readonly Item[]): Promise<void> =>
    batchWrite(
      client,
      table,
      items.map((Item) => ({ PutRequest: { Item } })),
    );

  const gather = () => {
    const items: Item[] = [];
    const written = pause(GATHER).then(() => {
      gathered = undefined;
      return writeAll(items);
    });
    return { items, written };
  };

  const read = async (key: DeliveryKey): Promise<DeliveryRecord | undefined> => {
    const { Item } = await client.send(
      new GetCommand({ TableName: table, Key: { pk: key.pk, sk: key.sk }, ConsistentRead: true }),
    );
    return Item && storedRecord.parse(Item);
  };

  /** @returns the record as it is now, or undefined where the condition failed */
  const update = async (
    { pk, sk }: DeliveryKey,
    write: Pick<
      UpdateCommandInput,
      'UpdateExpression' | 'ConditionExpression' | 'ExpressionAttributeNames' | 'ExpressionAttributeValues'
    >,
  ) => {
    try {
      const input = { TableName: table, Key: { pk, sk }, ReturnValues: 'ALL_NEW', ...write } as const;
      return (await client.send(new UpdateCommand(input))).Attributes;
    } catch (error) {
      if (error instanceof ConditionalCheckFailedException) return undefined;
      throw error;
    }
  };

  /** Writes a record on a condition. @returns false where the condition failed */
  const put = async (
    record: DeliveryRecord,
    condition: Pick<PutCommandInput, 'ConditionExpression' | 'ExpressionAttributeNames' | 'ExpressionAttributeValues'>,
  ): Promise<boolean> => {
    try {
      await client.send(new PutCommand({ TableName: table, Item: record, ...condition }));
      return true;
    } catch (error) {
      if (error instanceof ConditionalCheckFailedException) return false;
      throw error;
    }
  };

  /** The record must still be as it was read: each claim has an owner of its own, and each save ends the lease. */
  const unchanged = ({ owner, lease, status }: DeliveryRecord) => ({
    ConditionExpression: '#owner = :owner AND lease = :lease AND #status = :status',
    ExpressionAttributeNames: { '#owner': 'owner', '#status': 'status' },
    ExpressionAttributeValues: { ':owner': owner, ':lease': lease, ':status': status },
  });

  return {
    /**
     * Claims a delivery for one attempt by a conditional write: nobody else can until the lease ends. Nearly all are new, and
     * cost this one write; only what has a record already is read, judged, and taken over if it has not changed meanwhile.
     */
    async claim(first: DeliveryRecord, now: number): Promise<Claim> {
      if (await put(first, { ConditionExpression: 'attribute_not_exists(pk)' }))
        return { kind: 'claimed', record: first };
      const found = await read(first);
      if (!found) return { kind: 'busy', until: now };
      const claim = claimOn(found, first, now);
      if (claim.kind !== 'claimed' || found.owner === first.owner) return claim;
      if (await put(claim.record, unchanged(found))) return claim;
      // Another worker came first, or the SDK has sent ours twice and lost the first answer.
      const winner = await read(first);
      return winner?.owner === first.owner ? claim : { kind: 'busy', until: winner?.lease ?? now };
    },

    /** Claims the turn to send about an incident; undefined where it is another worker's. */
    async claimTurn(first: IncidentTurn, now: number): Promise<IncidentTurn | undefined> {
      const claimed = await update(first, {
        UpdateExpression:
          'SET #owner = :owner, lease = :lease, expires = :expires, newest = if_not_exists(newest, :newest)',
        // The owner is new with each claim: it fits where the SDK has sent ours twice and lost the first answer.
        ConditionExpression: 'attribute_not_exists(lease) OR lease <= :now OR #owner = :owner',
        ExpressionAttributeNames: { '#owner': 'owner' },
        ExpressionAttributeValues: {
          ':owner': first.owner,
          ':lease': first.lease,
          ':expires': first.expires,
          ':newest': first.newest,
          ':now': now,
        },
      });
      return claimed && storedTurn.parse(claimed);
    },

    /** Writes an item back. Safe without a condition while its lease is held; several at once go out together. */
    async save(item: Item): Promise<void> {
      gathered ??= gather();
      const { items, written } = gathered;
      items.push(item);
      await written.catch((error: unknown) => {
        // One item that cannot be written must not keep the others from it.
        if (items.length === 1) throw error;
        return writeAll([item]);
      });
    },

    /** A delivery's record, strongly consistent. */
    read,

    /** A notification's newest deliveries, by the time of their events; of one alarm only, where it is given. */
    async newest(
      place: { tenant: string; notificationId: string },
      limit: number,
      alarmId?: string,
    ): Promise<DeliveryRecord[]> {
      const found: DeliveryRecord[] = [];
      const pages = paginateQuery(
        { client, pageSize: alarmId === undefined ? limit : SEARCH_PAGE },
        {
          TableName: table,
          // Turns of incidents lie behind the records in the same partition.
          KeyConditionExpression: 'pk = :pk AND sk < :turns',
          ExpressionAttributeValues: {
            ':pk': deliveryPartition(place),
            ':turns': 'incident#',
            ...(alarmId !== undefined && { ':alarm': shortenedId(alarmId) }),
          },
          ...(alarmId !== undefined && { FilterExpression: 'alarm_id = :alarm' }),
          ScanIndexForward: false,
        },
      );
      for await (const { Items = [] } of pages) {
        found.push(...Items.map((item) => storedRecord.parse(item)));
        if (found.length >= limit) break;
      }
      return found.slice(0, limit);
    },

    /** Deliveries whose round began at or after `since` (ms). Reads the whole table, but stops after `limit` of its items. */
    async openedSince(since: number, limit: number): Promise<{ records: DeliveryRecord[]; isComplete: boolean }> {
      const records: DeliveryRecord[] = [];
      let looked = 0;
      const pages = paginateScan(
        { client },
        { TableName: table, FilterExpression: 'opened >= :since', ExpressionAttributeValues: { ':since': since } },
      );
      for await (const { Items = [], ScannedCount = 0, LastEvaluatedKey } of pages) {
        records.push(...Items.map((item) => storedRecord.parse(item)));
        looked += ScannedCount;
        if (looked >= limit) return { records, isComplete: LastEvaluatedKey === undefined };
      }
      return { records, isComplete: true };
    },
  };
};

/** Where deliveries are kept. */
export type DeliveryRepository = ReturnType<typeof createDeliveryRepository>;
