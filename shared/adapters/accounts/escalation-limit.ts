import { type DynamoDBDocumentClient, GetCommand } from '@aws-sdk/lib-dynamodb';
import * as z from 'zod/mini';
import { DAY_SECONDS, utcDay } from '../../domain/day.ts';
import { createLimitedSet } from '../dynamodb/conditional-writes.ts';

/** A daily counter of escalations, or of stops of mailboxes. */
export type EscalationCounter = 'escalations' | 'ok_escalations' | 'stops';

/** The maximum number of notices in `sent`: more than a day can have. */
const MAX_SENT = 1_000;

const storedCounter = z.object({
  keys: z._default(z.set(z.string()), new Set()),
  sent: z._default(z.set(z.string()), new Set()),
});

/** The escalations of a UTC day so far, and the notices of them that are queued for all of their recipients. */
export type Escalations = z.infer<typeof storedCounter>;

/**
 * Creates the daily limit of notices per counter, tenant and UTC day (table Accounts). The item of a counter has the sets
 * `keys` of the notices so far, and `sent` of the escalations that were queued, so that repeating one changes nothing, and
 * `ttl`.
 */
export const createEscalationLimit = (client: DynamoDBDocumentClient, table: string, limit: number) => {
  const addKey = createLimitedSet(client, table, 'keys');
  const addSent = createLimitedSet(client, table, 'sent');
  const keyOf = (counter: EscalationCounter, tenant: string, timeMs: number) => ({
    pk: `${counter}#${utcDay(timeMs)}#${tenant}`,
  });
  const ttlOf = (timeMs: number): number => Math.floor(timeMs / 1000) + 2 * DAY_SECONDS;
  return {
    /** Adds a notice. @returns false if the tenant has reached the limit without it */
    add: (counter: EscalationCounter, tenant: string, key: string, timeMs: number): Promise<boolean> =>
      addKey(keyOf(counter, tenant, timeMs), key, limit, ttlOf(timeMs)),

    /** Records that a notice was queued for all of its recipients. */
    markSent: (counter: EscalationCounter, tenant: string, key: string, timeMs: number): Promise<boolean> =>
      addSent(keyOf(counter, tenant, timeMs), key, MAX_SENT, ttlOf(timeMs)),

    /** Returns the escalations of the day so far, strongly consistent. */
    async read(counter: EscalationCounter, tenant: string, timeMs: number): Promise<Escalations> {
      const Key = keyOf(counter, tenant, timeMs);
      const { Item = {} } = await client.send(new GetCommand({ TableName: table, Key, ConsistentRead: true }));
      return storedCounter.parse(Item);
    },
  };
};
