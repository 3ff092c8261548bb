import { setTimeout as pause } from 'node:timers/promises';
import { ConditionalCheckFailedException } from '@aws-sdk/client-dynamodb';
import { type DynamoDBDocumentClient, GetCommand, UpdateCommand } from '@aws-sdk/lib-dynamodb';
import * as z from 'zod/mini';
import { alarmStates } from '../contracts/alarm-event.ts';
import type { DeliveryKey } from '../domain/delivery-key.ts';
import { type DeliveryRecord, deliveryStatuses } from '../domain/delivery-record.ts';
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

/** What a claim found: the delivery is ours, or why it is not. */
export type Claim =
  | { kind: 'claimed'; record: DeliveryRecord }
  | { kind: 'ended'; record: DeliveryRecord }
  /** Another worker has it until then, ms. */
  | { kind: 'busy'; until: number }
  /** Its next attempt is due then, ms. */
  | { kind: 'early'; due: number };

/** Completions that come within this time share one BatchWriteItem, in ms: it costs a ninth of single writes (CPU). */
const GATHER = 3;

/** The deliveries and where they stand (table Deliveries). */
export const createDeliveryRepository = (client: DynamoDBDocumentClient, table: string) => {
  let gathered: { items: (DeliveryRecord | IncidentTurn)[]; written: Promise<void> } | undefined;

  const read = async (key: DeliveryKey): Promise<DeliveryRecord | undefined> => {
    const { Item } = await client.send(
      new GetCommand({ TableName: table, Key: { pk: key.pk, sk: key.sk }, ConsistentRead: true }),
    );
    return Item && storedRecord.parse(Item);
  };

  /** @returns the record as it is now, or undefined where the condition failed */
  const update = async (
    record: DeliveryRecord,
    expression: string,
    condition: string,
    values: Record<string, unknown>,
  ) => {
    try {
      const { Attributes } = await client.send(
        new UpdateCommand({
          TableName: table,
          Key: { pk: record.pk, sk: record.sk },
          UpdateExpression: expression,
          ConditionExpression: condition,
          ExpressionAttributeNames: { '#status': 'status', '#owner': 'owner', '#state': 'state' },
          ExpressionAttributeValues: values,
          ReturnValues: 'ALL_NEW',
        }),
      );
      return storedRecord.parse(Attributes);
    } catch (error) {
      if (error instanceof ConditionalCheckFailedException) return undefined;
      throw error;
    }
  };

  const claimOpen = (first: DeliveryRecord, now: number) =>
    update(
      first,
      `SET #status = :status, #owner = :owner, lease = :lease,
           event_id = if_not_exists(event_id, :event), entity_id = if_not_exists(entity_id, :entity),
           alarm_id = if_not_exists(alarm_id, :alarm), #state = if_not_exists(#state, :state),
           attempts = if_not_exists(attempts, :zero), opened = if_not_exists(opened, :now),
           due = if_not_exists(due, :now), history = if_not_exists(history, :none),
           parts = if_not_exists(parts, :none), expires = :expires`,
      'attribute_not_exists(pk) OR (#status = :status AND lease <= :now AND due <= :now)',
      {
        ':status': first.status,
        ':owner': first.owner,
        ':lease': first.lease,
        ':event': first.event_id,
        ':entity': first.entity_id,
        ':alarm': first.alarm_id,
        ':state': first.state,
        ':zero': 0,
        ':now': now,
        ':none': [],
        ':expires': first.expires,
      },
    );

  /** A message for a dead delivery, one that ops redrove or a duplicate, opens a new round. */
  const claimDead = (first: DeliveryRecord, now: number) =>
    update(
      first,
      'SET #status = :pending, #owner = :owner, lease = :lease, #state = if_not_exists(#state, :state), attempts = :zero, opened = :now, due = :now, expires = :expires',
      '#status = :dead AND lease <= :now',
      {
        ':pending': 'pending',
        ':dead': 'dead',
        ':owner': first.owner,
        ':lease': first.lease,
        ':state': first.state,
        ':zero': 0,
        ':now': now,
        ':expires': first.expires,
      },
    );

  return {
    /**
     * Claims a delivery for one attempt by a conditional write: nobody else can until the lease ends. DynamoDB local has no
     * `ReturnValuesOnConditionCheckFailure`, so a claim that fails reads why.
     */
    async claim(first: DeliveryRecord, now: number): Promise<Claim> {
      const claimed = await claimOpen(first, now);
      if (claimed) return { kind: 'claimed', record: claimed };
      const found = await read(first);
      if (!found) return { kind: 'busy', until: now };
      // The SDK may have sent our claim twice and lost the first answer.
      if (found.owner === first.owner) return { kind: 'claimed', record: found };
      if (found.lease > now) return { kind: 'busy', until: found.lease };
      if (found.status === 'pending') return { kind: 'early', due: found.due };
      if (found.status !== 'dead') return { kind: 'ended', record: found };
      const reopened = await claimDead(first, now);
      return reopened ? { kind: 'claimed', record: reopened } : { kind: 'busy', until: now };
    },

    /** Claims the turn to send about an incident; undefined where it is another worker's. */
    async claimTurn(first: IncidentTurn, now: number): Promise<IncidentTurn | undefined> {
      try {
        const { Attributes } = await client.send(
          new UpdateCommand({
            TableName: table,
            Key: { pk: first.pk, sk: first.sk },
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
            ReturnValues: 'ALL_NEW',
          }),
        );
        return storedTurn.parse(Attributes);
      } catch (error) {
        if (error instanceof ConditionalCheckFailedException) return undefined;
        throw error;
      }
    },

    /** Writes an item back. Safe without a condition while its lease is held; several at once go out together. */
    save(item: DeliveryRecord | IncidentTurn): Promise<void> {
      if (!gathered) {
        const items: (DeliveryRecord | IncidentTurn)[] = [];
        const written = pause(GATHER).then(() => {
          gathered = undefined;
          return batchWrite(
            client,
            table,
            items.map((Item) => ({ PutRequest: { Item } })),
          );
        });
        gathered = { items, written };
      }
      gathered.items.push(item);
      return gathered.written;
    },

    /** A delivery's record, strongly consistent. */
    read,
  };
};

/** Where deliveries are kept. */
export type DeliveryRepository = ReturnType<typeof createDeliveryRepository>;
