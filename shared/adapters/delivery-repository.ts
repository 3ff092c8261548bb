import { setTimeout as pause } from 'node:timers/promises';
import { ConditionalCheckFailedException } from '@aws-sdk/client-dynamodb';
import {
  type DynamoDBDocumentClient,
  GetCommand,
  paginateQuery,
  paginateScan,
  UpdateCommand,
  type UpdateCommandInput,
} from '@aws-sdk/lib-dynamodb';
import * as z from 'zod/mini';
import { alarmStates } from '../contracts/alarm-event.ts';
import { type DeliveryKey, deliveryPartition } from '../domain/delivery-key.ts';
import { type DeliveryRecord, deliveryStatuses, shortenedId } from '../domain/delivery-record.ts';
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

/** What a claim found: the delivery is ours, or why it is not. */
export type Claim =
  | { kind: 'claimed'; record: DeliveryRecord }
  /** It is done, for whatever reason. */
  | { kind: 'ended' }
  /** The record is of another event with the same id: the first wins. */
  | { kind: 'conflict' }
  /** Another worker has it until then, ms. */
  | { kind: 'busy'; until: number }
  /** Its next attempt is due then, ms. */
  | { kind: 'early'; due: number };

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

  const claimOpen = (first: DeliveryRecord, now: number) =>
    update(first, {
      UpdateExpression: `SET #status = :status, #owner = :owner, lease = :lease,
           event_id = if_not_exists(event_id, :event), entity_id = if_not_exists(entity_id, :entity),
           alarm_id = if_not_exists(alarm_id, :alarm), #state = if_not_exists(#state, :state),
           content = if_not_exists(content, :content),
           attempts = if_not_exists(attempts, :zero), opened = if_not_exists(opened, :now),
           due = if_not_exists(due, :now), history = if_not_exists(history, :none),
           parts = if_not_exists(parts, :none), expires = :expires`,
      ConditionExpression:
        'attribute_not_exists(pk) OR (#status = :status AND lease <= :now AND due <= :now AND content = :content)',
      ExpressionAttributeNames: { '#status': 'status', '#owner': 'owner', '#state': 'state' },
      ExpressionAttributeValues: {
        ':status': first.status,
        ':owner': first.owner,
        ':lease': first.lease,
        ':event': first.event_id,
        ':entity': first.entity_id,
        ':alarm': first.alarm_id,
        ':state': first.state,
        ':content': first.content,
        ':zero': 0,
        ':now': now,
        ':none': [],
        ':expires': first.expires,
      },
    });

  /** A message for a dead delivery, one that ops redrove or a duplicate, opens a new round. */
  const claimDead = (first: DeliveryRecord, now: number) =>
    update(first, {
      UpdateExpression:
        'SET #status = :pending, #owner = :owner, lease = :lease, attempts = :zero, opened = :now, due = :now, expires = :expires',
      ConditionExpression: '#status = :dead AND lease <= :now AND content = :content',
      ExpressionAttributeNames: { '#status': 'status', '#owner': 'owner' },
      ExpressionAttributeValues: {
        ':pending': 'pending',
        ':dead': 'dead',
        ':owner': first.owner,
        ':lease': first.lease,
        ':content': first.content,
        ':zero': 0,
        ':now': now,
        ':expires': first.expires,
      },
    });

  /** Reads why a claim failed. DynamoDB local cannot tell it with the failure (`ReturnValuesOnConditionCheckFailure`). */
  const reasonOf = async (first: DeliveryRecord, now: number): Promise<Claim | { kind: 'dead' }> => {
    const found = await read(first);
    if (!found) return { kind: 'busy', until: now };
    // The SDK may have sent our claim twice and lost the first answer.
    if (found.owner === first.owner) return { kind: 'claimed', record: found };
    if (found.content !== first.content) return { kind: 'conflict' };
    if (found.lease > now) return { kind: 'busy', until: found.lease };
    if (found.status === 'dead') return { kind: 'dead' };
    return found.status === 'pending' ? { kind: 'early', due: found.due } : { kind: 'ended' };
  };

  return {
    /** Claims a delivery for one attempt by a conditional write: nobody else can until the lease ends. */
    async claim(first: DeliveryRecord, now: number): Promise<Claim> {
      const claimed = await claimOpen(first, now);
      if (claimed) return { kind: 'claimed', record: storedRecord.parse(claimed) };
      const reason = await reasonOf(first, now);
      if (reason.kind !== 'dead') return reason;
      const reopened = await claimDead(first, now);
      if (reopened) return { kind: 'claimed', record: storedRecord.parse(reopened) };
      const again = await reasonOf(first, now);
      return again.kind === 'dead' ? { kind: 'busy', until: now } : again;
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
