import { randomUUID } from 'node:crypto';
import { ConditionalCheckFailedException } from '@aws-sdk/client-dynamodb';
import { type DynamoDBDocumentClient, GetCommand, UpdateCommand } from '@aws-sdk/lib-dynamodb';
import * as z from 'zod/mini';
import { UnconfirmedChangeError, wasRepeated } from './errors.ts';

/** The attributes that every versioned item has. */
export const versionAttributes = {
  /** Increases with every change, so that a late duplicate of a write fails its condition. */
  version: z.optional(z.number()),
  /** Identifies the last change. */
  write_id: z.optional(z.string()),
};

type Versioned = { version?: number | undefined; write_id?: string | undefined };

/** The item was changed between the read and the write, or before the SDK repeated the write. */
export class ConcurrentChangeError extends Error {
  override name = 'ConcurrentChangeError';

  constructor(what: string) {
    super(`The ${what} was changed at the same time. Check it before you try again.`);
  }
}

/**
 * Reads and changes items that have a version. A change is applied at most once, even if the SDK repeats the request
 * (docs/decisions/storage.md#versioned-items).
 *
 * @param options.keyOf returns the primary key of an owner's item
 * @param options.what the name of the item in error messages
 */
export const createVersionedItem = <Stored extends Versioned>(
  client: DynamoDBDocumentClient,
  table: string,
  { schema, keyOf, what }: { schema: z.ZodMiniType<Stored>; keyOf: (owner: string) => { pk: string }; what: string },
) => {
  /** Returns the item, strongly consistent. A missing item has no attributes. */
  const read = async (owner: string): Promise<Stored> => {
    const { Item } = await client.send(new GetCommand({ TableName: table, Key: keyOf(owner), ConsistentRead: true }));
    return schema.parse(Item ?? {});
  };

  /**
   * Returns whether a write is the item's last change.
   *
   * @throws UnconfirmedChangeError if the item cannot be read
   */
  const isLastWrite = async (owner: string, writeId: string): Promise<boolean> => {
    const { write_id: last } = await read(owner).catch((error: unknown) => {
      throw new UnconfirmedChangeError(error);
    });
    return last === writeId;
  };

  /**
   * Changes attributes of an item if it still has the version that was read. A failed write may have been applied,
   * since only its response may be lost, so the item is read again to check.
   *
   * @throws ConcurrentChangeError if the item has changed since it was read
   * @throws UnconfirmedChangeError if it is unknown whether the change was applied
   * @throws the SDK's error if the change was not applied
   */
  const change = async (
    owner: string,
    { version }: Versioned,
    attributes: Readonly<Record<string, unknown>>,
  ): Promise<void> => {
    const writeId = randomUUID();
    const changes = Object.entries({ ...attributes, version: (version ?? 0) + 1, write_id: writeId });
    try {
      await client.send(
        new UpdateCommand({
          TableName: table,
          Key: keyOf(owner),
          UpdateExpression: `SET ${changes.map(([name]) => `#${name} = :${name}`).join(', ')}`,
          ConditionExpression: version === undefined ? 'attribute_not_exists(#version)' : '#version = :read',
          ExpressionAttributeNames: Object.fromEntries(changes.map(([name]) => [`#${name}`, name])),
          ExpressionAttributeValues: {
            ...Object.fromEntries(changes.map(([name, value]) => [`:${name}`, value])),
            ...(version !== undefined && { ':read': version }),
          },
        }),
      );
    } catch (error) {
      const isConditionFailed = error instanceof ConditionalCheckFailedException;
      const isApplied = !(isConditionFailed && !wasRepeated(error)) && (await isLastWrite(owner, writeId));
      if (!isApplied) throw isConditionFailed ? new ConcurrentChangeError(what) : error;
    }
  };

  return { read, change };
};
