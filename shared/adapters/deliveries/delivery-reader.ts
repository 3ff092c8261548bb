import { type DynamoDBDocumentClient, QueryCommand } from '@aws-sdk/lib-dynamodb';
import * as z from 'zod/mini';
import type { DeliveryStatus } from '../../contracts/outcomes.ts';
import { type DeliveryKey, deliveryPartition, parseDeliveryPartition, shortenedId } from '../../domain/delivery-key.ts';
import type { DeliveryRecord } from '../../domain/delivery-record.ts';
import type { NotificationKey } from '../../domain/notification.ts';
import { batchGet } from '../dynamodb/batches.ts';
import { getItem, type Item, queryItems } from '../dynamodb/items.ts';
import { errorTrace, logger } from '../logger.ts';
import { count } from '../metrics.ts';
import { CONFLICT_PREFIX, parseRecord } from './stored-record.ts';

const storedConflict = z.object({ sk: z.string(), conflict_at_ms: z.number() });

export type DeliveryFilter = {
  statuses?: readonly DeliveryStatus[] | undefined;
  alarmId?: string | undefined;
  entityId?: string | undefined;
  /** When SQS accepted the event, both included. */
  fromMs?: number | undefined;
  toMs?: number | undefined;
  /** When the current round started, or later. */
  sinceMs?: number | undefined;
  producerMessageId?: string | undefined;
};

/** A page of records, and the sort key that the next page must be below; undefined after the last page. */
export type DeliveryPage = {
  records: DeliveryRecord[];
  before: string | undefined;
  /** The read units that it cost, each 4 KB of records, with those that the filter excludes. */
  readUnits: number;
};

export const filterExpression = ({ statuses = [], alarmId, entityId, ...filter }: DeliveryFilter) => {
  const idOf = (id: string | undefined) => (id === undefined ? undefined : shortenedId(id));
  const conditions = [
    { text: 'alarm_id = :alarm', name: ':alarm', value: idOf(alarmId) },
    { text: 'entity_id = :entity', name: ':entity', value: idOf(entityId) },
    { text: 'accepted_at_ms >= :from', name: ':from', value: filter.fromMs },
    { text: 'accepted_at_ms <= :to', name: ':to', value: filter.toMs },
    { text: 'round_started_at_ms >= :since', name: ':since', value: filter.sinceMs },
    { text: 'producer_message_id = :message', name: ':message', value: filter.producerMessageId },
  ].filter(({ value }) => value !== undefined);
  const named = statuses.map((value, index) => ({ name: `:status${index}`, value }));
  const texts = conditions.map(({ text }) => text);
  if (named.length > 0) texts.push(`(${named.map(({ name }) => `#status = ${name}`).join(' OR ')})`);
  if (texts.length === 0) return undefined;
  return {
    expression: texts.join(' AND '),
    names: named.length > 0 ? { '#status': 'status' } : undefined,
    values: Object.fromEntries([...conditions, ...named].map(({ name, value }) => [name, value])),
  };
};

/** Parses a record, or logs and counts that it cannot be parsed: one must not prevent what is done with the others. */
const readableRecord = (item: Item): DeliveryRecord | undefined => {
  try {
    return parseRecord(item);
  } catch (error) {
    const { tenant: tenant_id, id: notification_id } = parseDeliveryPartition(String(item.pk));
    logger.error('unreadable delivery', { tenant_id, notification_id, sk: String(item.sk), ...errorTrace(error) });
    count({ internal_errors: 1 });
    return undefined;
  }
};

export const createDeliveryReader = (client: DynamoDBDocumentClient, table: string) => {
  /**
   * Returns a page of deliveries by event time, newest first, strongly consistent. With a filter, it evaluates 1 MB
   * (AWS limit) or `maxRead` records, and may have more than `limit` or none (docs/decisions/api.md#delivery-history).
   */
  const listPage = async (
    notification: NotificationKey,
    {
      limit,
      before = CONFLICT_PREFIX,
      filter = {},
      maxRead,
    }: { limit: number; before?: string | undefined; filter?: DeliveryFilter; maxRead?: number | undefined },
  ): Promise<DeliveryPage> => {
    const condition = filterExpression(filter);
    const {
      Items = [],
      LastEvaluatedKey,
      ConsumedCapacity,
    } = await client.send(
      new QueryCommand({
        TableName: table,
        // Conflicts and incident locks sort after the records of the partition.
        KeyConditionExpression: 'pk = :pk AND sk < :before',
        ExpressionAttributeValues: {
          ':pk': deliveryPartition(notification),
          ':before': before < CONFLICT_PREFIX ? before : CONFLICT_PREFIX,
          ...condition?.values,
        },
        Limit: condition ? maxRead : Math.min(limit, maxRead ?? limit),
        ...(condition && { FilterExpression: condition.expression, ExpressionAttributeNames: condition.names }),
        ReturnConsumedCapacity: 'TOTAL',
        ScanIndexForward: false,
        ConsistentRead: true,
      }),
    );
    return {
      records: Items.flatMap((item) => readableRecord(item) ?? []),
      before: LastEvaluatedKey && String(LastEvaluatedKey.sk),
      readUnits: ConsumedCapacity?.CapacityUnits ?? 0,
    };
  };

  const getAll = (keys: readonly DeliveryKey[]) =>
    batchGet(
      client,
      table,
      keys.map(({ pk, sk }) => ({ pk, sk })),
    );

  return {
    /** Returns a delivery record, strongly consistent, or undefined if it does not exist or cannot be parsed. */
    async read({ pk, sk }: DeliveryKey): Promise<DeliveryRecord | undefined> {
      const item = await getItem(client, table, { pk, sk });
      return item && readableRecord(item);
    },

    listPage,

    async listNewest(
      notification: NotificationKey,
      limit: number,
      filter: DeliveryFilter = {},
    ): Promise<DeliveryRecord[]> {
      const records: DeliveryRecord[] = [];
      let before: string | undefined;
      do {
        const page = await listPage(notification, { limit: limit - records.length, before, filter });
        records.push(...page.records);
        before = page.before;
      } while (before !== undefined && records.length < limit);
      return records.slice(0, limit);
    },

    /** Returns the records that exist, in any order. @throws ServiceError serviceUnavailable */
    async readAll(keys: readonly DeliveryKey[]): Promise<DeliveryRecord[]> {
      return (await getAll(keys)).map(parseRecord);
    },

    /** Reads like `readAll`, and returns the keys of records that cannot be parsed. */
    async readReadable(
      keys: readonly DeliveryKey[],
    ): Promise<{ records: DeliveryRecord[]; unreadable: DeliveryKey[] }> {
      const read = (await getAll(keys)).map((item) => ({ item, record: readableRecord(item) }));
      return {
        records: read.flatMap(({ record }) => record ?? []),
        unreadable: read.flatMap(({ item, record }) => (record ? [] : [{ pk: String(item.pk), sk: String(item.sk) }])),
      };
    },

    /** When a different event with the same ID was last received, in ms since the epoch, by sort key of the record. */
    async listConflicts(notification: NotificationKey): Promise<ReadonlyMap<string, number>> {
      const conflicts = new Map<string, number>();
      const items = queryItems(client, {
        TableName: table,
        KeyConditionExpression: 'pk = :pk AND begins_with(sk, :conflict)',
        ExpressionAttributeValues: { ':pk': deliveryPartition(notification), ':conflict': CONFLICT_PREFIX },
      });
      for await (const item of items) {
        const { sk, conflict_at_ms } = storedConflict.parse(item);
        conflicts.set(sk.slice(CONFLICT_PREFIX.length), conflict_at_ms);
      }
      return conflicts;
    },
  };
};

export type DeliveryReader = ReturnType<typeof createDeliveryReader>;
