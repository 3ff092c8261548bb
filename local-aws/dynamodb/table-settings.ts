import {
  type AttributeDefinition,
  CreateTableCommand,
  DescribeTableCommand,
  type DynamoDBClient,
  type KeySchemaElement,
  ResourceNotFoundException,
  waitUntilTableExists,
} from '@aws-sdk/client-dynamodb';
import { StartError } from '../start-error.ts';

/** A table to create; the types are those of `CreateTable`. */
export type TableSettings = {
  name: string;
  keys: KeySchemaElement[];
  attributes: AttributeDefinition[];
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
  // A table of AWS becomes active later.
  await waitUntilTableExists({ client, maxWaitTime: 60 }, { TableName: table.name });
};

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
