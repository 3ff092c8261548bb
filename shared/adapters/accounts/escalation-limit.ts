import type { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import { DAY_SECONDS, utcDay } from '../../domain/day.ts';
import { createLimitedSet } from '../dynamodb/conditional-writes.ts';

/** A daily counter of escalations. */
export type EscalationCounter = 'escalations' | 'ok_escalations';

/**
 * Creates the daily limit of escalations per counter, tenant and UTC day (table Accounts). The item of a counter has the
 * set `keys` of the escalations so far, so that repeating an escalation changes nothing, and `ttl`.
 *
 * @returns a function that adds an escalation, and returns false if the tenant has reached the limit without it
 */
export const createEscalationLimit = (client: DynamoDBDocumentClient, table: string, limit: number) => {
  const add = createLimitedSet(client, table, 'keys');
  return (counter: EscalationCounter, tenant: string, key: string, timeMs: number): Promise<boolean> =>
    add({ pk: `${counter}#${utcDay(timeMs)}#${tenant}` }, key, limit, Math.floor(timeMs / 1000) + 2 * DAY_SECONDS);
};
