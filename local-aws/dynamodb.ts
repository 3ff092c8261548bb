import { dirname } from 'node:path';
import {
  type AttributeDefinition,
  CreateTableCommand,
  DescribeTableCommand,
  type DynamoDBClient,
  type KeySchemaElement,
  ResourceNotFoundException,
  waitUntilTableExists,
} from '@aws-sdk/client-dynamodb';
import { ClassicLevel } from 'classic-level';
import type { Store } from 'dynalite/db/index.js';
import { openStore } from './dynamodb/dynalite.ts';
import { StartError } from './start-error.ts';

/** A table to create; the types are those of `CreateTable`. */
export type TableSettings = {
  name: string;
  keys: KeySchemaElement[];
  attributes: AttributeDefinition[];
};

/** Creates tables in memory. */
export const memoryTables = (): Store => openStore();

/**
 * Opens the tables in a directory, whose writes survive the end of the process, also a killed one.
 *
 * @param isNew whether to create them if there are none
 * @throws StartError if another process uses them, or their files are damaged
 */
export const openTables = async (directory: string, isNew: boolean): Promise<Store> => {
  await verify(directory, isNew);
  const store = openStore(directory);
  await store.db.open();
  return store;
};

/** Reads everything, because dynalite deletes what it cannot read. */
const verify = async (path: string, createIfMissing: boolean): Promise<void> => {
  const level = new ClassicLevel<string, unknown>(path, { valueEncoding: 'json', createIfMissing });
  try {
    await level.open();
    for await (const _ of level.iterator());
  } catch (error) {
    throw storageError(path, error);
  } finally {
    await level.close();
  }
};

const storageError = (path: string, error: unknown): Error => {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  if (!(cause instanceof Error)) return new StartError(`${path} cannot be opened: ${cause}.`);
  if ('code' in cause && cause.code === 'LEVEL_LOCKED') {
    return new StartError(`${dirname(path)} is in use by another local stack: stop it, or use another directory.`);
  }
  return new StartError(`${path} is damaged: delete ${dirname(path)} to start with empty tables (${cause.message}).`);
};

/** Creates a table; resolves when it is active. */
export const createTable = async (client: DynamoDBClient, table: TableSettings): Promise<void> => {
  await client.send(
    new CreateTableCommand({
      TableName: table.name,
      BillingMode: 'PAY_PER_REQUEST',
      KeySchema: table.keys,
      AttributeDefinitions: table.attributes,
    }),
  );
  await waitUntilTableExists({ client, ...ACTIVATION_SECONDS }, { TableName: table.name });
};

/** dynalite activates a table at once, but asynchronously. */
const ACTIVATION_SECONDS = { minDelay: 0.01, maxDelay: 0.1, maxWaitTime: 30 };

/**
 * Creates a table unless it exists.
 *
 * @throws StartError if it exists with other keys
 */
export const ensureTable = async (client: DynamoDBClient, table: TableSettings): Promise<void> => {
  const existing = await client.send(new DescribeTableCommand({ TableName: table.name })).catch((error: unknown) => {
    if (error instanceof ResourceNotFoundException) return undefined;
    throw error;
  });
  if (!existing?.Table) return createTable(client, table);
  if (existing.Table.TableStatus !== 'ACTIVE') {
    throw new StartError(`The table ${table.name} is incomplete: delete the data directory, or pass another one.`);
  }
  const { KeySchema = [], AttributeDefinitions = [] } = existing.Table;
  if (keysText(KeySchema, AttributeDefinitions) === keysText(table.keys, table.attributes)) return;
  throw new StartError(
    `The table ${table.name} in the data directory has other keys than the template: use another directory.`,
  );
};

/** Returns the keys of a table with their types, for comparison. */
const keysText = (keys: readonly KeySchemaElement[], attributes: readonly AttributeDefinition[]): string => {
  const typeOf = (name?: string) => attributes.find(({ AttributeName }) => AttributeName === name)?.AttributeType;
  return keys.map(({ AttributeName, KeyType }) => `${KeyType} ${AttributeName} ${typeOf(AttributeName)}`).join();
};
