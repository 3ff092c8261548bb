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
import { alarmStates } from '../../contracts/alarm-event.ts';
import { failureCauses, failureReasons } from '../../contracts/outcomes.ts';
import { type DeliveryKey, deliveryPartition } from '../../domain/delivery-key.ts';
import {
  type Claim,
  type DeliveryRecord,
  deliveryStatuses,
  evaluateClaim,
  shortenedId,
} from '../../domain/delivery-record.ts';
import type { IncidentLock } from '../../domain/incident.ts';
import { isDependencyFailure } from '../aws-client.ts';
import { batchWrite } from '../dynamodb/batches.ts';
import { UnprocessedItemsError } from '../dynamodb/errors.ts';

const attempt = z.object({
  timestamp_ms: z.number(),
  result: z.enum(['delivered', 'throttled', 'transient', 'permanent']),
  status: z.optional(z.number()),
  reason: z.optional(z.enum(failureReasons)),
  duration_ms: z.number(),
});

const storedRecord = z.object({
  pk: z.string(),
  sk: z.string(),
  status: z.enum(deliveryStatuses),
  event_id: z.string(),
  entity_id: z.string(),
  alarm_id: z.string(),
  state: z.enum(alarmStates),
  content_hash: z.string(),
  round: z.number(),
  attempt_count: z.number(),
  round_started_at_ms: z.number(),
  first_attempt_at_ms: z.number(),
  next_attempt_at_ms: z.number(),
  last_cause: z.optional(z.enum(failureCauses)),
  lease_until_ms: z.number(),
  claim_id: z.string(),
  attempts: z.array(attempt),
  reached_recipient_hashes: z.array(z.string()),
  ttl: z.number(),
});

const storedLock = z.object({
  pk: z.string(),
  sk: z.string(),
  newest_event_at_ms: z._default(z.number(), 0),
  lease_until_ms: z.number(),
  claim_id: z.string(),
  ttl: z.number(),
});

const storedConflict = z.object({ sk: z.string(), conflict_at_ms: z.number() });

/** What the sort keys of conflicts begin with; a record's begins with digits, a lock's with `incident#`. */
const CONFLICT = 'conflict#';

/** Final statuses that come within this time share one BatchWriteItem, in ms: it costs a ninth of single writes (CPU). */
const GATHER = 3;

/** Writes of one BatchWriteItem (AWS limit). */
const WRITE_BATCH = 25;

/** Records that one page looks at where most of them are of other alarms. */
const SEARCH_PAGE = 1_000;

type Conditional = Pick<
  PutCommandInput,
  'ConditionExpression' | 'ExpressionAttributeNames' | 'ExpressionAttributeValues'
>;
type ConditionalUpdate = Conditional & Pick<UpdateCommandInput, 'UpdateExpression'>;

/** Undefined where the condition of a write failed. */
const unlessConditionFailed = async <Output>(write: Promise<Output>): Promise<Output | undefined> => {
  try {
    return await write;
  } catch (error) {
    if (error instanceof ConditionalCheckFailedException) return undefined;
    throw error;
  }
};

/** The item must still be held by this claim: each claim has an owner of its own, and whatever ends it sets the lease to 0. */
const heldBy = ({ claim_id, lease_until_ms }: { claim_id: string; lease_until_ms: number }) => ({
  ConditionExpression: 'claim_id = :claim_id AND lease_until_ms = :lease_until_ms',
  ExpressionAttributeValues: { ':claim_id': claim_id, ':lease_until_ms': lease_until_ms },
});

/**
 * The deliveries and where they stand (table Deliveries).
 *
 * The SDK repeats a request whose response is late, so every write may be applied twice, seconds apart. Whatever lets another
 * worker claim an item is therefore written on condition that the claim still holds; only a final status, which no later write
 * changes, goes without one.
 */
export const createDeliveryRepository = (client: DynamoDBDocumentClient, table: string) => {
  let gathered: { items: DeliveryRecord[]; written: Promise<ReadonlySet<string>> } | undefined;

  const keyOf = ({ pk, sk }: DeliveryKey): string => `${pk} ${sk}`;

  /** Writes one item. @returns false where the condition failed */
  const put = async (record: DeliveryRecord, condition: Conditional = {}): Promise<boolean> =>
    (await unlessConditionFailed(client.send(new PutCommand({ TableName: table, Item: record, ...condition })))) !==
    undefined;

  /** @returns the item as it is now, or undefined where the condition failed */
  const update = async ({ pk, sk }: DeliveryKey, write: ConditionalUpdate) => {
    const input = { TableName: table, Key: { pk, sk }, ReturnValues: 'ALL_NEW', ...write } as const;
    return (await unlessConditionFailed(client.send(new UpdateCommand(input))))?.Attributes;
  };

  /** Writes records together. @returns the keys of those that were not written */
  const writeTogether = async (items: readonly DeliveryRecord[]): Promise<ReadonlySet<string>> => {
    try {
      await batchWrite(
        client,
        table,
        items.map((Item) => ({ PutRequest: { Item } })),
      );
      return new Set();
    } catch (error) {
      if (error instanceof UnprocessedItemsError) {
        return new Set(error.requests.map(({ PutRequest }) => `${PutRequest?.Item?.pk} ${PutRequest?.Item?.sk}`));
      }
      if (items.length === 1 || isDependencyFailure(error)) throw error;
      // DynamoDB refuses the whole request for one item that it cannot store.
      return new Set(items.map(keyOf));
    }
  };

  const gather = () => {
    const items: DeliveryRecord[] = [];
    const batch = {
      items,
      written: pause(GATHER).then(() => {
        if (gathered === batch) gathered = undefined;
        return writeTogether(items);
      }),
    };
    return batch;
  };

  const read = async (key: DeliveryKey): Promise<DeliveryRecord | undefined> => {
    const { Item } = await client.send(
      new GetCommand({ TableName: table, Key: { pk: key.pk, sk: key.sk }, ConsistentRead: true }),
    );
    return Item && storedRecord.parse(Item);
  };

  /** The record must still be as it was read. */
  const unchanged = (record: DeliveryRecord): Conditional => {
    const { ConditionExpression, ExpressionAttributeValues } = heldBy(record);
    return {
      ConditionExpression: `${ConditionExpression} AND #status = :status`,
      ExpressionAttributeNames: { '#status': 'status' },
      ExpressionAttributeValues: { ...ExpressionAttributeValues, ':status': record.status },
    };
  };

  /** The newest event time of an incident only increases, whoever writes it. */
  const raiseNewest = (lock: IncidentLock, time: number) =>
    update(lock, {
      UpdateExpression: 'SET newest_event_at_ms = :time, #ttl = :ttl',
      ConditionExpression: 'attribute_not_exists(newest_event_at_ms) OR newest_event_at_ms < :time',
      ExpressionAttributeNames: { '#ttl': 'ttl' },
      ExpressionAttributeValues: { ':time': time, ':ttl': lock.ttl },
    });

  const release = async (lock: IncidentLock, now: number): Promise<void> => {
    const held = heldBy(lock);
    await update(lock, {
      ...held,
      UpdateExpression: 'SET lease_until_ms = :now',
      ExpressionAttributeValues: { ...held.ExpressionAttributeValues, ':now': now },
    });
  };

  return {
    /**
     * Claims a delivery for one attempt by a conditional write: nobody else can until the lease ends. Nearly all are new, and
     * cost this one write; only what has a record already is read, judged, and taken over if it has not changed meanwhile.
     *
     * @param sentAt when the message was sent, ms; just now unless it says otherwise
     */
    async claim(first: DeliveryRecord, now: number, sentAt: number = now): Promise<Claim> {
      if (await put(first, { ConditionExpression: 'attribute_not_exists(pk)' }))
        return { kind: 'claimed', record: first };
      const found = await read(first);
      if (!found) return { kind: 'busy', leaseUntilMs: now };
      const claim = evaluateClaim(found, first, sentAt, now);
      if (claim.kind !== 'claimed' || found.claim_id === first.claim_id) return claim;
      if (await put(claim.record, unchanged(found))) return claim;
      // Another worker came first, or the SDK has sent ours twice and lost the first answer.
      const winner = await read(first);
      return winner?.claim_id === first.claim_id
        ? claim
        : { kind: 'busy', leaseUntilMs: winner?.lease_until_ms ?? now };
    },

    /**
     * Writes a claimed record while the claim holds. @returns false where it does not: another worker has claimed the delivery
     * since, or this is the SDK's second copy of a write that was applied
     */
    update: (held: DeliveryRecord, next: DeliveryRecord): Promise<boolean> => put(next, heldBy(held)),

    /** Writes a record that no later write changes; several at once go out together. Safe to be applied twice. */
    async complete(record: DeliveryRecord): Promise<void> {
      if (!gathered || gathered.items.length === WRITE_BATCH) gathered = gather();
      const { items, written } = gathered;
      items.push(record);
      if ((await written).has(keyOf(record))) await put(record);
    },

    /**
     * Notes beside a delivery's record that another event with the same id came: an item of its own, since whoever holds the
     * claim writes the whole record.
     */
    async noteConflict({ pk, sk, ttl }: DeliveryRecord, now: number): Promise<void> {
      const Item = { pk, sk: `${CONFLICT}${sk}`, conflict_at_ms: now, ttl };
      await client.send(new PutCommand({ TableName: table, Item }));
    },

    /** When other events came with the ids of a notification's events, ms, by the sort keys of their records. */
    async conflicts(place: { tenant: string; notificationId: string }): Promise<ReadonlyMap<string, number>> {
      const found = new Map<string, number>();
      const pages = paginateQuery(
        { client },
        {
          TableName: table,
          KeyConditionExpression: 'pk = :pk AND begins_with(sk, :conflict)',
          ExpressionAttributeValues: { ':pk': deliveryPartition(place), ':conflict': CONFLICT },
        },
      );
      for await (const { Items = [] } of pages) {
        for (const item of Items) {
          const { sk, conflict_at_ms } = storedConflict.parse(item);
          found.set(sk.slice(CONFLICT.length), conflict_at_ms);
        }
      }
      return found;
    },

    /** Claims the lock of an incident; undefined where another worker holds it. */
    async claimLock(first: IncidentLock, now: number): Promise<IncidentLock | undefined> {
      const claimed = await update(first, {
        UpdateExpression:
          'SET claim_id = :claim_id, lease_until_ms = :lease_until_ms, #ttl = :ttl, newest_event_at_ms = if_not_exists(newest_event_at_ms, :newest)',
        // The owner is new with each claim: it fits where the SDK has sent ours twice and lost the first answer. A copy that
        // arrives after the release does not fit: the lease ended later than it was asked for.
        ConditionExpression:
          'attribute_not_exists(lease_until_ms) OR lease_until_ms <= :now OR (claim_id = :claim_id AND lease_until_ms = :lease_until_ms)',
        ExpressionAttributeNames: { '#ttl': 'ttl' },
        ExpressionAttributeValues: {
          ':claim_id': first.claim_id,
          ':lease_until_ms': first.lease_until_ms,
          ':ttl': first.ttl,
          ':newest': first.newest_event_at_ms,
          ':now': now,
        },
      });
      return claimed && storedLock.parse(claimed);
    },

    /**
     * Records that an event of this time was delivered. Whoever holds the lock by now: no older event may follow.
     *
     * @returns the lock as it is then
     */
    async advanceLock(lock: IncidentLock, time: number): Promise<IncidentLock> {
      if (time > lock.newest_event_at_ms) await raiseNewest(lock, time);
      return { ...lock, newest_event_at_ms: Math.max(lock.newest_event_at_ms, time) };
    },

    /** The same, and releases the lock: one write instead of two. */
    async advanceAndReleaseLock(lock: IncidentLock, time: number, now: number): Promise<void> {
      if (time <= lock.newest_event_at_ms) return release(lock, now);
      const held = heldBy(lock);
      const isDone = await update(lock, {
        UpdateExpression: 'SET lease_until_ms = :now, newest_event_at_ms = :time',
        ConditionExpression: `${held.ConditionExpression} AND newest_event_at_ms < :time`,
        ExpressionAttributeValues: { ...held.ExpressionAttributeValues, ':now': now, ':time': time },
      });
      if (isDone) return;
      await raiseNewest(lock, time);
      await release(lock, now);
    },

    /** Releases a lock, unless another worker has claimed it since. */
    releaseLock: release,

    /** Notes that an event of this time waits for the lock. @returns true where no newer one waits */
    async noteWaiting(lock: IncidentLock, time: number): Promise<boolean> {
      const noted = await update(lock, {
        UpdateExpression: 'SET newest_waiting_at_ms = :time, #ttl = :ttl',
        ConditionExpression: 'attribute_not_exists(newest_waiting_at_ms) OR newest_waiting_at_ms <= :time',
        ExpressionAttributeNames: { '#ttl': 'ttl' },
        ExpressionAttributeValues: { ':time': time, ':ttl': lock.ttl },
      });
      return noted !== undefined;
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
          // Conflicts, and locks of incidents, lie behind the records in the same partition.
          KeyConditionExpression: 'pk = :pk AND sk < :others',
          ExpressionAttributeValues: {
            ':pk': deliveryPartition(place),
            ':others': CONFLICT,
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
        {
          TableName: table,
          FilterExpression: 'round_started_at_ms >= :since',
          ExpressionAttributeValues: { ':since': since },
        },
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
