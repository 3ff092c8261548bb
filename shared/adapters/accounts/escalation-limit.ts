import type { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import { DAY_SECONDS, utcDay } from '../../domain/day.ts';
import { createLimitedSet } from '../dynamodb/conditional-writes.ts';

/** A daily counter of escalations, or of stops of mailboxes. */
export type EscalationCounter = 'escalations' | 'ok_escalations' | 'stops';

/**
 * Creates the daily limit of notices per counter, tenant and UTC day (table Accounts). The item of a counter has the
 * set `keys` of the notices so far, so that repeating one changes nothing, and `ttl`.
 *
 * @returns a function that adds a notice, and returns false if the tenant has reached the limit without it
 */
export const createEscalationLimit = (client: DynamoDBDocumentClient, table: string, limit: number) => {
  const add = createLimitedSet(client, table, 'keys');
  return (counter: EscalationCounter, tenant: string, key: string, timeMs: number): Promise<boolean> =>
    add({ pk: `${counter}#${utcDay(timeMs)}#${tenant}` }, key, limit, Math.floor(timeMs / 1000) + 2 * DAY_SECONDS);
};
