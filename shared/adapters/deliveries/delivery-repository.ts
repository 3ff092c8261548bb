import { type DynamoDBDocumentClient, PutCommand } from '@aws-sdk/lib-dynamodb';
import type { EmailReport } from '../../contracts/delivery-record.ts';
import type { DeliveryKey } from '../../domain/delivery-key.ts';
import {
  type Claim,
  type DeliveryRecord,
  evaluateClaim,
  mustBecomeBounced,
  withBounce,
} from '../../domain/delivery-record.ts';
import { RETRY_REQUEST_INTERVAL_MS } from '../../domain/delivery-status.ts';
import {
  attributesUpdate,
  type Condition,
  createConditionalUpdate,
  orExisting,
  RETURN_EXISTING,
} from '../dynamodb/conditional-writes.ts';
import { readEach } from '../dynamodb/read-each.ts';
import {
  CONFLICT_PREFIX,
  heldBy,
  parseEmailReports,
  parseRecord,
  unchanged,
  withoutEmailReports,
} from './stored-record.ts';

/** What a change of a record stored, or the record whose condition failed; none if it was deleted. */
type Change = { stored?: DeliveryRecord; existing?: DeliveryRecord | undefined };

/**
 * What senders do with delivery records (table Deliveries). The SDK repeats a request whose response is late, so each
 * write is conditional on the claim (docs/decisions/deliveries.md#conditional-writes). Existing records change by
 * UpdateItem, so that none erases what SES reported (docs/decisions/formats.md#email-events).
 */
export const createDeliveryRepository = (client: DynamoDBDocumentClient, table: string) => {
  const update = createConditionalUpdate(client, table);

  /** Sets attributes and removes those that are undefined, except what SES reported. */
  const change = async (record: DeliveryRecord, condition: Condition): Promise<Change> => {
    const { pk, sk, ...attributes } = record;
    const written = await update({ pk, sk }, attributesUpdate(withoutEmailReports(attributes), condition));
    if (written.isWritten) return { stored: { ...record, ...(written.item && parseEmailReports(written.item)) } };
    return { existing: written.existing && parseRecord(written.existing) };
  };

  return {
    /** Claims a delivery for one attempt. A new one costs one write, which returns the record if it fails. */
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

    /** Writes a record if the claim still holds. @returns it as stored, or undefined if another worker has the claim */
    async update(held: DeliveryRecord, next: DeliveryRecord): Promise<DeliveryRecord | undefined> {
      const { stored, existing } = await change(next, heldBy(held));
      // The SDK repeats a write whose first response was lost.
      return stored ?? (existing?.claim_id === held.claim_id ? existing : undefined);
    },

    /** Starts to read which deliveries wait, unclaimed, for an attempt that is due, independently of each other. */
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
     * Whoever wrote that a delivery has ended, or that a recipient bounced, calls this with the record as stored:
     * writes of an item have an order, so one of them finds all facts.
     */
    async markBounced(stored: DeliveryRecord, nowMs: number): Promise<DeliveryRecord> {
      let current = stored;
      while (mustBecomeBounced(current)) {
        const { status, last_reason, updated_at_ms } = withBounce(current, nowMs);
        const bounced = attributesUpdate({ status, last_reason, updated_at_ms }, unchanged(current));
        const { item, existing } = await update(current, bounced);
        if (item) return parseRecord(item);
        // Another worker set the status or started a new round, or the SDK repeated this write.
        if (!existing) return current;
        current = parseRecord(existing);
      }
      return current;
    },

    /** In an item of its own, since the worker that holds the claim overwrites the record. */
    async recordConflict({ pk, sk, ttl }: DeliveryRecord, nowMs: number): Promise<void> {
      const Item = { pk, sk: `${CONFLICT_PREFIX}${sk}`, conflict_at_ms: nowMs, ttl };
      await client.send(new PutCommand({ TableName: table, Item }));
    },
  };
};

export type DeliveryRepository = ReturnType<typeof createDeliveryRepository>;

/** Creates the changes of delivery records that need no claim (table Deliveries): by tenants, and by SES. */
export const createDeliveryChanges = (client: DynamoDBDocumentClient, table: string) => {
  const update = createConditionalUpdate(client, table);
  return {
    /** Makes the next attempt due now, unless the delivery has changed or that was requested within the last hour. */
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
     * Safe to apply twice. `bounced`: the hash of the address that the email did not reach. @returns the stored record
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

    /** Unless a later time is recorded: events of SES come in any order. @returns false if nothing was changed */
    async recordEmailTime(
      key: DeliveryKey,
      name: 'confirmed_at_ms' | 'delayed_at_ms',
      timeMs: number,
    ): Promise<boolean> {
      const isLater = `(attribute_not_exists(${name}) OR ${name} < :new_${name})`;
      const condition = { ConditionExpression: `attribute_exists(pk) AND ${isLater}` };
      return (await update(key, attributesUpdate({ [name]: timeMs }, condition))).isWritten;
    },
  };
};

export type DeliveryChanges = ReturnType<typeof createDeliveryChanges>;
