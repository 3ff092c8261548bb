import { randomUUID } from 'node:crypto';
import type { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import * as z from 'zod/mini';
import type { Clock } from '../../domain/time.ts';
import { FUNCTION_TIMEOUT_MS } from '../../domain/timeouts.ts';
import { createConditionalUpdate } from '../dynamodb/conditional-writes.ts';
import { dailyCounter } from '../dynamodb/counters.ts';

export const MAX_CONCURRENT_TESTS = 20;

/** A running test: it counts until it has ended, or its function, which may crash, has timed out. */
export type TestLease = { tenant: string; startedAtMs: number; id: string };

export type StartedTest =
  | { kind: 'started'; lease: TestLease }
  | { kind: 'daily_limit' }
  | { kind: 'too_many_at_once' };

/** The counter of a tenant and UTC day, and the IDs of its leases, which start with the time of expiry in ms. */
const storedTests = z.object({ used: z._default(z.number(), 0), leases: z._default(z.set(z.string()), new Set()) });

const expiresAtMs = (id: string): number => Number.parseInt(id, 10);

/** Counts the tests of a tenant per UTC day, and those that run (table Accounts), in one item and one write. */
export const createTestCounter = (client: DynamoDBDocumentClient, table: string, clock: Clock = Date.now) => {
  const update = createConditionalUpdate(client, table);

  return {
    async start(tenant: string, limit: number): Promise<StartedTest> {
      if (limit < 1) return { kind: 'daily_limit' };
      const startedAtMs = clock();
      const { key, ttl } = dailyCounter('tests', tenant, startedAtMs);
      const id = `${startedAtMs + FUNCTION_TIMEOUT_MS}#${randomUUID()}`;
      const started = { kind: 'started', lease: { tenant, startedAtMs, id } } as const;
      const names = { '#ttl': 'ttl' };
      const values = { ':ttl': ttl, ':one': 1, ':limit': limit };
      const isBelowLimit = '(attribute_not_exists(used) OR used < :limit)';
      const first = await update(key, {
        UpdateExpression: 'SET #ttl = :ttl ADD used :one, leases :lease',
        // The SDK repeats a request whose response was lost.
        ConditionExpression: `${isBelowLimit} AND (attribute_not_exists(leases) OR size(leases) < :max OR contains(leases, :id))`,
        ExpressionAttributeNames: names,
        ExpressionAttributeValues: { ...values, ':lease': new Set([id]), ':id': id, ':max': MAX_CONCURRENT_TESTS },
      });
      if (first.isWritten) return started;
      const { used, leases } = storedTests.parse(first.existing);
      if (used >= limit) return { kind: 'daily_limit' };
      const held = [...leases].filter((lease) => expiresAtMs(lease) > startedAtMs);
      if (held.length >= MAX_CONCURRENT_TESTS) return { kind: 'too_many_at_once' };
      // Functions that crashed left the others.
      const second = await update(key, {
        UpdateExpression: 'SET #ttl = :ttl, leases = :held ADD used :one',
        ConditionExpression: `${isBelowLimit} AND leases = :found`,
        ExpressionAttributeNames: names,
        ExpressionAttributeValues: { ...values, ':held': new Set([...held, id]), ':found': leases },
      });
      return second.isWritten ? started : { kind: 'too_many_at_once' };
    },

    /** Gives back the lease of a test. Repeating it has no effect. */
    async end({ tenant, startedAtMs, id }: TestLease): Promise<void> {
      await update(dailyCounter('tests', tenant, startedAtMs).key, {
        UpdateExpression: 'DELETE leases :leases',
        ConditionExpression: 'attribute_exists(leases)',
        ExpressionAttributeValues: { ':leases': new Set([id]) },
      });
    },
  };
};
