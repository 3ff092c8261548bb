import { CreateTableCommand, type DynamoDBClient, waitUntilTableExists } from '@aws-sdk/client-dynamodb';
import type { TableSettings } from '../../dynamodb/table-operations.ts';

/** Creates a table; resolves when it is active, which takes seconds in AWS. */
export const createTable = async (client: DynamoDBClient, table: TableSettings): Promise<void> => {
  const keys = { KeySchema: table.keys, AttributeDefinitions: table.attributes };
  await client.send(new CreateTableCommand({ TableName: table.name, BillingMode: 'PAY_PER_REQUEST', ...keys }));
  await waitUntilTableExists({ client, minDelay: 1, maxWaitTime: 60 }, { TableName: table.name });
};
