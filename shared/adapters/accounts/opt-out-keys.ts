import { randomBytes } from 'node:crypto';
import { type DynamoDBDocumentClient, GetCommand, UpdateCommand } from '@aws-sdk/lib-dynamodb';
import * as z from 'zod/mini';
import type { Clock } from '../../domain/clock.ts';
import type { Audit } from '../audits/audit-log.ts';
import type { Item } from '../dynamodb/items.ts';
import { retryConflicts, transact } from '../dynamodb/transactions.ts';

/** The item of the stack with the keys of opt-out links (table Accounts). It belongs to no tenant. */
const KEY = { pk: 'opt_out_keys' };

/** Base64 of the current key, and of the one before a rotation. */
const storedKeys = z.object({ current: z.optional(z.string()), previous: z.optional(z.string()) });

/** How long senders cache the current key. */
const CACHE_MS = 60_000;

const newKey = (): string => randomBytes(32).toString('base64');

const keysOf = (item: Item | undefined): Buffer[] => {
  const { current, previous } = storedKeys.parse(item ?? {});
  return [current, previous].flatMap((key) => (key === undefined ? [] : [Buffer.from(key, 'base64')]));
};

/** Creates the access to the keys of opt-out links (docs/decisions/opt-out.md). */
export const createOptOutKeys = (client: DynamoDBDocumentClient, table: string, clock: Clock = Date.now) => {
  let cached: { key: Promise<Buffer>; untilMs: number } | undefined;

  /** Returns the current key and the previous one, strongly consistent; none if there is no link yet. */
  const all = async (): Promise<Buffer[]> =>
    keysOf((await client.send(new GetCommand({ TableName: table, Key: KEY, ConsistentRead: true }))).Item);

  const create = async (): Promise<Buffer[]> => {
    const { Attributes } = await retryConflicts(() =>
      client.send(
        new UpdateCommand({
          TableName: table,
          Key: KEY,
          UpdateExpression: 'SET #current = if_not_exists(#current, :key)',
          ExpressionAttributeNames: { '#current': 'current' },
          ExpressionAttributeValues: { ':key': newKey() },
          ReturnValues: 'ALL_NEW',
        }),
      ),
    );
    return keysOf(Attributes);
  };

  const readCurrent = async (): Promise<Buffer> => {
    const key = (await all())[0] ?? (await create())[0];
    if (!key) throw new Error('There is no key of opt-out links after its creation.');
    return key;
  };

  return {
    all,

    /**
     * Replaces the current key. Links of the replaced one are valid until the next rotation, and senders use the new one
     * within a minute.
     *
     * @throws UnconfirmedChangeError
     */
    async rotate(audit: Audit): Promise<void> {
      const [replaced] = (await all()).map((key) => key.toString('base64'));
      const Item = { ...KEY, current: newKey(), ...(replaced !== undefined && { previous: replaced }) };
      await transact(client, [{ Put: { TableName: table, Item } }, audit({ action: 'rotate-opt-out-key' })]);
    },

    /** Returns the key of new links, created on first use and cached for a minute. */
    current(): Promise<Buffer> {
      if (cached && cached.untilMs > clock()) return cached.key;
      const key = readCurrent();
      cached = { key, untilMs: clock() + CACHE_MS };
      key.catch(() => {
        cached = undefined;
      });
      return key;
    },
  };
};

/** The keys of opt-out links. */
export type OptOutKeys = ReturnType<typeof createOptOutKeys>;
