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
import { createConditionalUpdate } from '../dynamodb/conditional-writes.ts';
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

/** A claimed lock. */
export type ClaimedLock = IncidentClaim & {
  /** The event of a worker that crashed, which it may have delivered. Its release keeps it unless it is its own. */
  interrupted?: LockingEvent | undefined;
};

const newestOf = (item: Item | undefined) => {
  const { newest_event_at_ms, newest_accepted_at_ms, advance_count } = storedNewest.parse(item ?? {});
  return { newest_event_at_ms, newest_accepted_at_ms, advance_count };
};

/** Returns the clauses of an update expression that store the times of an event as the newest. */
const timesUpdate = ({ producedAtMs, acceptedAtMs }: EventTime) => ({
  set: `newest_accepted_at_ms = :accepted${producedAtMs === undefined ? '' : ', newest_event_at_ms = :produced'}`,
  removed: producedAtMs === undefined ? ['newest_event_at_ms'] : [],
  values: { ':produced': producedAtMs, ':accepted': acceptedAtMs },
});

const CLAIM =
  'SET claim_id = :claim_id, lease_until_ms = :lease_until_ms, locking_event = :event, #ttl = :ttl, advance_count = if_not_exists(advance_count, :count)';

/** Each advance is conditional on the number of advances before it, so that no copy of it applies again. */
const ADVANCE = {
  set: 'advance_count = :next',
  condition: '(attribute_not_exists(advance_count) OR advance_count = :count)',
  values: ({ advance_count: count }: IncidentLock) => ({ ':count': count, ':next': count + 1 }),
};

const isNewer = (time: EventTime, lock: IncidentLock): boolean => {
  const newest = newestEventTime(lock);
  return newest === undefined || isOlder(newest, time);
};

/**
 * Incident locks (table Deliveries). The SDK repeats a request whose response is late: a release is conditional on the
 * claim, an advance on the number of advances before it (docs/decisions/deliveries.md#conditional-writes).
 */
export const createIncidentLocks = (client: DynamoDBDocumentClient, table: string) => {
  const update = createConditionalUpdate(client, table);

  /** Stores a delivered event even if another worker holds the lock: no older event may follow. */
  const advance = async (lock: IncidentLock, time: EventTime): Promise<void> => {
    let current = lock;
    while (isNewer(time, current)) {
      const { set, removed, values } = timesUpdate(time);
      const remove = removed.length > 0 ? ` REMOVE ${removed.join(', ')}` : '';
      const { isWritten, existing } = await update(current, {
        UpdateExpression: `SET ${ADVANCE.set}, ${set}, #ttl = :ttl${remove}`,
        ConditionExpression: ADVANCE.condition,
        ExpressionAttributeNames: { '#ttl': 'ttl' },
        ExpressionAttributeValues: { ...ADVANCE.values(current), ...values, ':ttl': lock.ttl },
      });
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
    const held = heldBy(lock);
    await update(lock, {
      ...held,
      UpdateExpression: `SET lease_until_ms = :now${isKept ? ', locking_event = :event' : ' REMOVE locking_event'}`,
      ExpressionAttributeValues: {
        ...held.ExpressionAttributeValues,
        ':now': nowMs,
        ...(isKept && { ':event': interrupted }),
      },
    });
  };

  return {
    /**
     * Claims the lock of an incident, with a second write if the worker that held it did not release it.
     *
     * @returns undefined if another worker holds it, or the event must wait for a newer one
     */
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
      const held = heldBy(lock);
      const { set, removed, values } = timesUpdate(time);
      const { isWritten } = await update(lock, {
        UpdateExpression: `SET lease_until_ms = :now, ${ADVANCE.set}, ${set} REMOVE ${['locking_event', ...removed].join(', ')}`,
        ConditionExpression: `${held.ConditionExpression} AND ${ADVANCE.condition}`,
        ExpressionAttributeValues: {
          ...held.ExpressionAttributeValues,
          ...ADVANCE.values(lock),
          ...values,
          ':now': nowMs,
        },
      });
      if (isWritten) return;
      await advance(lock, time);
      await release(lock, nowMs);
    },

    /** Keeps the event of a worker that crashed, unless this is it and its delivery is decided. */
    release,
  };
};

export type IncidentLocks = ReturnType<typeof createIncidentLocks>;
