import { type DynamoDBDocumentClient, GetCommand, PutCommand, QueryCommand } from '@aws-sdk/lib-dynamodb';
import * as z from 'zod/mini';
import type { EmailReport } from '../../contracts/delivery-record.ts';
import type { DeliveryStatus } from '../../contracts/outcomes.ts';
import {
  type DeliveryKey,
  deliveryPartition,
  type NotificationOfTenant,
  parseDeliveryPartition,
  shortenedId,
} from '../../domain/delivery-key.ts';
import {
  type Claim,
  type DeliveryRecord,
  evaluateClaim,
  mustBecomeBounced,
  RETRY_REQUEST_INTERVAL_MS,
  withBounce,
} from '../../domain/delivery-record.ts';
import { batchGet, readEach } from '../dynamodb/batches.ts';
import {
  attributesUpdate,
  type ConditionalUpdate,
  createConditionalUpdate,
  orExisting,
  RETURN_EXISTING,
} from '../dynamodb/conditional-writes.ts';
import { queryItems } from '../dynamodb/items.ts';
import { errorTrace, logger } from '../logger.ts';
import { CONFLICT_PREFIX, heldBy, parseEmailReports, parseRecord } from './stored-record.ts';

const storedConflict = z.object({ sk: z.string(), conflict_at_ms: z.number() });

/** Conditions on the records of a page. Times are ms since the epoch. */
export type DeliveryFilter = {
  statuses?: readonly DeliveryStatus[] | undefined;
  alarmId?: string | undefined;
  entityId?: string | undefined;
  /** Only records whose event SQS accepted at this time or later. */
  fromMs?: number | undefined;
  /** Only records whose event SQS accepted at this time or earlier. */
  toMs?: number | undefined;
  /** Only records whose current round started at this time or later. */
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

/** Returns the filter of a query or a scan, or undefined without a condition. */
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

type Conditional = Omit<ConditionalUpdate, 'UpdateExpression'>;

/** What a change of a record stored, or the record whose condition failed; none if it was deleted. */
type Change = { stored?: DeliveryRecord; existing?: DeliveryRecord | undefined };

/**
 * Creates the reads and writes of delivery records and conflicts (table Deliveries).
 *
 * The SDK repeats a request whose response is late, so any write may be applied twice, seconds apart. Each is therefore
 * conditional on the claim (docs/decisions/deliveries.md#conditional-writes). Existing records change by UpdateItem, so
 * that no write erases what SES reported (docs/decisions/formats.md#email-events).
 */
export const createDeliveryRepository = (client: DynamoDBDocumentClient, table: string) => {
  const update = createConditionalUpdate(client, table);

  const read = async (key: DeliveryKey): Promise<DeliveryRecord | undefined> => {
    const { Item } = await client.send(
      new GetCommand({ TableName: table, Key: { pk: key.pk, sk: key.sk }, ConsistentRead: true }),
    );
    return Item && parseRecord(Item);
  };

  /**
   * Returns one page of a notification's deliveries by event time, newest first, with one strongly consistent query.
   * Without a filter, it evaluates `limit` records; with one, up to 1 MB of them (AWS limit), so a page can have more
   * records than `limit`, or none although there are more pages (docs/decisions/api.md#delivery-history).
   *
   * @param before a sort key that the records must be below
   * @param maxRead evaluates at most this number of records
   */
  const listPage = async (
    notification: NotificationOfTenant,
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
      records: Items.map(parseRecord),
      before: LastEvaluatedKey && String(LastEvaluatedKey.sk),
      readUnits: ConsumedCapacity?.CapacityUnits ?? 0,
    };
  };

  /**
   * Sets the attributes of an existing record and removes those that are undefined, except what SES reported, which only
   * the recorder of email events writes.
   */
  const change = async (record: DeliveryRecord, condition: Conditional): Promise<Change> => {
    const {
      pk,
      sk,
      bounced_recipient_hashes: _hashes,
      bounce_reason: _reason,
      email_report: _report,
      email_reported_at_ms: _reported,
      confirmed_at_ms: _confirmed,
      delayed_at_ms: _delayed,
      ...attributes
    } = record;
    const { UpdateExpression, ExpressionAttributeNames, ExpressionAttributeValues } = attributesUpdate(attributes);
    const written = await update(
      { pk, sk },
      {
        UpdateExpression,
        ConditionExpression: condition.ConditionExpression,
        ExpressionAttributeNames: { ...condition.ExpressionAttributeNames, ...ExpressionAttributeNames },
        ExpressionAttributeValues: { ...condition.ExpressionAttributeValues, ...ExpressionAttributeValues },
      },
    );
    if (written.isWritten) return { stored: { ...record, ...(written.item && parseEmailReports(written.item)) } };
    return { existing: written.existing && parseRecord(written.existing) };
  };

  const getAll = (keys: readonly DeliveryKey[]) =>
    batchGet(
      client,
      table,
      keys.map(({ pk, sk }) => ({ pk, sk })),
    );

  /** Returns the condition that the record has not changed since it was read. */
  const unchanged = (record: DeliveryRecord): Conditional => {
    const { ConditionExpression, ExpressionAttributeValues } = heldBy(record);
    return {
      ConditionExpression: `${ConditionExpression} AND #status = :status`,
      ExpressionAttributeNames: { '#status': 'status' },
      ExpressionAttributeValues: { ...ExpressionAttributeValues, ':status': record.status },
    };
  };

  return {
    /**
     * Claims a delivery for one attempt: no other worker can claim it until the lease ends. A new delivery costs one
     * conditional write. If there is a record, the failed condition returns it; a claimable one is changed on condition
     * that it has not changed.
     *
     * @param nowMs ms since the epoch
     */
    async claim(first: DeliveryRecord, nowMs: number): Promise<Claim> {
      const created = await orExisting(() =>
        client.send(
          new PutCommand({
            TableName: table,
            Item: first,
            ConditionExpression: 'attribute_not_exists(pk)',
            ...RETURN_EXISTING,
          }),
        ),
      );
      if (created.isWritten) return { kind: 'claimed', record: first };
      if (!created.existing) return { kind: 'busy', leaseUntilMs: nowMs };
      const found = parseRecord(created.existing);
      const claim = evaluateClaim(found, first, nowMs);
      if (claim.kind !== 'claimed' || found.claim_id === first.claim_id) return claim;
      const { stored, existing } = await change(claim.record, unchanged(found));
      // The SDK repeats a write whose first response was lost. Otherwise, another worker claimed the delivery.
      if (stored || existing?.claim_id === first.claim_id) return claim;
      return { kind: 'busy', leaseUntilMs: existing?.lease_until_ms ?? nowMs };
    },

    /**
     * Writes a claimed record if the claim still holds.
     *
     * @returns the record as stored, with its bounces, or undefined if another worker has claimed the delivery
     */
    async update(held: DeliveryRecord, next: DeliveryRecord): Promise<DeliveryRecord | undefined> {
      const { stored, existing } = await change(next, heldBy(held));
      // The SDK repeats a write whose first response was lost.
      return stored ?? (existing?.claim_id === held.claim_id ? existing : undefined);
    },

    /**
     * Makes the next attempt of a waiting delivery due now, unless the delivery has changed since it was read, or that
     * was requested within the last hour.
     *
     * @returns whether this request, or a concurrent one, did so
     */
    async requestRetry(record: DeliveryRecord, nowMs: number): Promise<boolean> {
      const found = unchanged(record);
      const { isWritten, existing } = await update(record, {
        ...found,
        UpdateExpression:
          'SET scheduled_attempt_at_ms = next_attempt_at_ms, next_attempt_at_ms = :now, retry_requested_at_ms = :now',
        ConditionExpression: `${found.ConditionExpression} AND next_attempt_at_ms > :now AND (attribute_not_exists(retry_requested_at_ms) OR retry_requested_at_ms <= :before)`,
        ExpressionAttributeValues: {
          ...found.ExpressionAttributeValues,
          ':now': nowMs,
          ':before': nowMs - RETRY_REQUEST_INTERVAL_MS,
        },
      });
      // The SDK repeats a write whose first response was lost.
      return isWritten || existing?.retry_requested_at_ms === nowMs;
    },

    /**
     * Starts to read which deliveries wait, unclaimed, for an attempt that is due. Each key resolves independently.
     *
     * @returns a function that resolves for one of the keys; it rejects like `readEach`
     */
    readDue(keys: readonly DeliveryKey[], nowMs: number): (key: DeliveryKey) => Promise<boolean> {
      const find = readEach(client, table, keys, {
        ProjectionExpression: 'pk, sk, #status, next_attempt_at_ms, lease_until_ms',
        ExpressionAttributeNames: { '#status': 'status' },
      });
      return async (key) => {
        const item = await find(key);
        const isPending = item?.status === 'pending' && Number(item.lease_until_ms) <= nowMs;
        return isPending && Number(item.next_attempt_at_ms) <= nowMs;
      };
    },

    /**
     * Records what SES reported about an email of the delivery, and if it did not arrive, that it bounced, whatever the
     * status of the delivery. Safe to apply twice.
     *
     * @param atMs when SES reported it, ms since the epoch
     * @param bounced the salted hash of the recipient's address (`recipientHash`), undefined for a complaint
     * @returns the record as stored, or undefined if it does not exist
     */
    async recordEmailReport(
      key: DeliveryKey,
      report: EmailReport,
      atMs: number,
      bounced: string | undefined,
    ): Promise<DeliveryRecord | undefined> {
      const bounce = bounced !== undefined && {
        ':reason': report === 'reject' ? 'rejected' : 'bounced',
        ':recipients': new Set([bounced]),
      };
      const reported = 'SET email_report = :report, email_reported_at_ms = :at';
      const { item } = await update(key, {
        UpdateExpression: bounce
          ? `${reported}, bounce_reason = :reason ADD bounced_recipient_hashes :recipients`
          : reported,
        ConditionExpression: 'attribute_exists(pk)',
        ExpressionAttributeValues: { ':report': report, ':at': atMs, ...bounce },
      });
      return item && parseRecord(item);
    },

    /**
     * Records when the server of a recipient accepted an email of the delivery, or SES reported a delay, whatever the
     * status, unless a later time is recorded. So events may be repeated, and come in any order.
     *
     * @returns false if nothing was changed
     */
    async recordEmailTime(
      key: DeliveryKey,
      name: 'confirmed_at_ms' | 'delayed_at_ms',
      timeMs: number,
    ): Promise<boolean> {
      const { isWritten } = await update(key, {
        UpdateExpression: 'SET #time = :time',
        ConditionExpression: 'attribute_exists(pk) AND (attribute_not_exists(#time) OR #time < :time)',
        ExpressionAttributeNames: { '#time': name },
        ExpressionAttributeValues: { ':time': timeMs },
      });
      return isWritten;
    },

    /**
     * Sets the status to `bounced` if the delivery has ended and every recipient that accepted has bounced. Whoever
     * wrote the last of these facts, the sender or the recorder of bounces, must call this with the record as stored:
     * writes of an item have an order, so one of them finds all facts.
     *
     * @returns the record as stored
     */
    async markBounced(stored: DeliveryRecord, nowMs: number): Promise<DeliveryRecord> {
      let current = stored;
      while (mustBecomeBounced(current)) {
        const bounced = withBounce(current, nowMs);
        const condition = unchanged(current);
        const { item, existing } = await update(current, {
          ...condition,
          UpdateExpression: 'SET #status = :bounced, last_reason = :reason, updated_at_ms = :now',
          ExpressionAttributeValues: {
            ...condition.ExpressionAttributeValues,
            ':bounced': bounced.status,
            ':reason': bounced.last_reason,
            ':now': bounced.updated_at_ms,
          },
        });
        if (item) return parseRecord(item);
        // Another worker set the status or started a new round, or the SDK repeated this write.
        if (!existing) return current;
        current = parseRecord(existing);
      }
      return current;
    },

    /**
     * Records that a different event with the same ID was received. It is a separate item, since the worker that holds
     * the claim overwrites the whole record.
     */
    async recordConflict({ pk, sk, ttl }: DeliveryRecord, nowMs: number): Promise<void> {
      const Item = { pk, sk: `${CONFLICT_PREFIX}${sk}`, conflict_at_ms: nowMs, ttl };
      await client.send(new PutCommand({ TableName: table, Item }));
    },

    /**
     * Returns when a different event with the same ID was last received, in ms since the epoch, by sort key of the
     * record.
     */
    async listConflicts(notification: NotificationOfTenant): Promise<ReadonlyMap<string, number>> {
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

    /** Returns a delivery record, strongly consistent, or undefined if it does not exist. */
    read,

    listPage,

    /** Returns a notification's deliveries by event time, newest first. */
    async listNewest(
      notification: NotificationOfTenant,
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

    /**
     * Returns the records of distinct keys, as far as they exist, strongly consistent, in any order.
     *
     * @throws ServiceError serviceUnavailable if DynamoDB leaves keys unprocessed
     */
    async readAll(keys: readonly DeliveryKey[]): Promise<DeliveryRecord[]> {
      return (await getAll(keys)).map(parseRecord);
    },

    /**
     * Reads like `readAll`, and logs the records that cannot be parsed: one must not prevent the reports of the others.
     *
     * @returns the records, and the keys of those that cannot be parsed
     */
    async readReadable(
      keys: readonly DeliveryKey[],
    ): Promise<{ records: DeliveryRecord[]; unreadable: DeliveryKey[] }> {
      const records: DeliveryRecord[] = [];
      const unreadable: DeliveryKey[] = [];
      for (const item of await getAll(keys)) {
        try {
          records.push(parseRecord(item));
        } catch (error) {
          const key = keys.find(({ pk, sk }) => item.pk === pk && item.sk === sk);
          if (!key) throw error;
          const { tenant: tenant_id, notificationId: notification_id } = parseDeliveryPartition(key.pk);
          logger.error('unreadable delivery', { tenant_id, notification_id, sk: key.sk, ...errorTrace(error) });
          unreadable.push(key);
        }
      }
      return { records, unreadable };
    },
  };
};

/** Reads and writes the table Deliveries. */
export type DeliveryRepository = ReturnType<typeof createDeliveryRepository>;
