import type { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import * as z from 'zod/mini';
import { type EventTime, isOlder } from '../../domain/event-time.ts';
import {
  type IncidentClaim,
  type IncidentLock,
  isAwaited,
  isOlderThan,
  isSameEvent,
  type LockingEvent,
  newestEventTime,
} from '../../domain/incident.ts';
import { attributesUpdate, createConditionalUpdate } from '../dynamodb/conditional-writes.ts';
import type { Item } from '../dynamodb/items.ts';
import { heldBy } from './stored-record.ts';

const storedNewest = z.object({
  newest_event_at_ms: z.optional(z.number()),
  newest_accepted_at_ms: z.optional(z.number()),
  advance_count: z._default(z.number(), 0),
});

const storedLock = z.object({
  ...storedNewest.shape,
  pk: z.string(),
  sk: z.string(),
  lease_until_ms: z.number(),
  claim_id: z.string(),
  locking_event: z.optional(
    z.object({ event_at_ms: z.optional(z.number()), accepted_at_ms: z.number(), since_ms: z.number() }),
  ),
  ttl: z.number(),
});

export type ClaimedLock = IncidentClaim & {
  /** The event of a worker that crashed, which it may have delivered. Its release keeps it unless it is its own. */
  interrupted?: LockingEvent | undefined;
};

const newestOf = (item: Item | undefined) => {
  const { newest_event_at_ms, newest_accepted_at_ms, advance_count } = storedNewest.parse(item ?? {});
  return { newest_event_at_ms, newest_accepted_at_ms, advance_count };
};

const CLAIM =
  'SET claim_id = :claim_id, lease_until_ms = :lease_until_ms, locking_event = :event, #ttl = :ttl, advance_count = if_not_exists(advance_count, :count)';

const advanced = ({ advance_count }: IncidentLock, { producedAtMs, acceptedAtMs }: EventTime) => ({
  advance_count: advance_count + 1,
  newest_event_at_ms: producedAtMs,
  newest_accepted_at_ms: acceptedAtMs,
});

/** Each advance is conditional on the number of advances before it, so that no copy of it applies again. */
const unadvanced = ({ advance_count }: IncidentLock) => ({
  ConditionExpression: '(attribute_not_exists(advance_count) OR advance_count = :count)',
  ExpressionAttributeValues: { ':count': advance_count },
});

const isNewer = (time: EventTime, lock: IncidentLock): boolean => {
  const newest = newestEventTime(lock);
  return newest === undefined || isOlder(newest, time);
};

/**
 * Incident locks (table Deliveries). A release is conditional on the claim, an advance on the number of advances before
 * it, since the SDK repeats late requests (docs/decisions/deliveries.md#conditional-writes).
 */
export const createIncidentLocks = (client: DynamoDBDocumentClient, table: string) => {
  const update = createConditionalUpdate(client, table);

  /** Stores a delivered event even if another worker holds the lock: no older event may follow. */
  const advance = async (lock: IncidentLock, time: EventTime): Promise<void> => {
    let current = lock;
    while (isNewer(time, current)) {
      const attributes = { ...advanced(current, time), ttl: lock.ttl };
      const { isWritten, existing } = await update(current, attributesUpdate(attributes, unadvanced(current)));
      if (isWritten) return;
      // Another worker stored an event, or this is a copy of an applied write.
      current = { ...current, ...newestOf(existing) };
    }
  };

  const writeClaim = (first: IncidentClaim, condition: string, values: Readonly<Record<string, unknown>>) =>
    update(first, {
      UpdateExpression: CLAIM,
      // The last clause accepts an SDK retry whose first response was lost, since `claim_id` is unique. It rejects a
      // copy that arrives after the release, since the release changed `lease_until_ms`.
      ConditionExpression: `${condition} OR (claim_id = :claim_id AND lease_until_ms = :lease_until_ms)`,
      ExpressionAttributeNames: { '#ttl': 'ttl' },
      ExpressionAttributeValues: {
        ':claim_id': first.claim_id,
        ':lease_until_ms': first.lease_until_ms,
        ':event': first.locking_event,
        ':ttl': first.ttl,
        ':count': first.advance_count,
        ...values,
      },
    });

  const release = async (lock: ClaimedLock, nowMs: number, isDecided = true): Promise<void> => {
    const { interrupted, locking_event: own } = lock;
    const isKept = interrupted && !(isDecided && isSameEvent(interrupted, own));
    const released = { lease_until_ms: nowMs, locking_event: isKept ? interrupted : undefined };
    await update(lock, attributesUpdate(released, heldBy(lock)));
  };

  return {
    /** With a second write if the worker that held it did not release it. @returns undefined if the event must wait */
    async claim(first: IncidentClaim, nowMs: number): Promise<ClaimedLock | undefined> {
      const isFree =
        'attribute_not_exists(lease_until_ms) OR (lease_until_ms <= :now AND attribute_not_exists(locking_event))';
      const { locking_event: own } = first;
      const free = await writeClaim(first, isFree, { ':now': nowMs });
      if (free.item) return { ...storedLock.parse(free.item), locking_event: own };
      if (!free.existing) return undefined;
      const held = storedLock.parse(free.existing);
      const { locking_event: found } = held;
      const interrupted = found && isAwaited(found, nowMs) ? found : undefined;
      if (held.lease_until_ms > nowMs || (interrupted && isOlderThan(own, interrupted))) return undefined;
      const locking_event = found && isSameEvent(own, found) ? found : own;
      const { item } = await writeClaim({ ...first, locking_event }, 'claim_id = :other AND lease_until_ms = :ended', {
        ':other': held.claim_id,
        ':ended': held.lease_until_ms,
      });
      return item && { ...storedLock.parse(item), locking_event, interrupted };
    },

    /** Stores the times of a delivered event unless a newer one is stored, and releases the lock, usually in one write. */
    async advanceAndRelease(lock: ClaimedLock, time: EventTime, nowMs: number): Promise<void> {
      if (!isNewer(time, lock)) return release(lock, nowMs);
      const attributes = { ...advanced(lock, time), lease_until_ms: nowMs, locking_event: undefined };
      const [held, first] = [heldBy(lock), unadvanced(lock)];
      const condition = {
        ConditionExpression: `${held.ConditionExpression} AND ${first.ConditionExpression}`,
        ExpressionAttributeValues: { ...held.ExpressionAttributeValues, ...first.ExpressionAttributeValues },
      };
      if ((await update(lock, attributesUpdate(attributes, condition))).isWritten) return;
      await advance(lock, time);
      await release(lock, nowMs);
    },

    /** Keeps the event of a worker that crashed, unless this is it and its delivery is decided. */
    release,
  };
};

export type IncidentLocks = ReturnType<typeof createIncidentLocks>;
