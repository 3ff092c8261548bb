import { CreateTableCommand, DynamoDBClient, type DynamoDBClientConfig } from '@aws-sdk/client-dynamodb';
import { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import { systemClock } from 'local-aws/clock.ts';
import { limitDynamoDb } from 'local-aws/dynamodb/limited-dynamodb.ts';
import { memoryTables } from 'local-aws/dynamodb.ts';
import { createEndpoint } from 'local-aws/endpoint.ts';
import { close, listen, origin } from 'local-aws/http.ts';
import { afterAll, beforeAll } from 'vitest';
import { documentOptions } from '../../shared/adapters/dynamodb/items.ts';
import { tableSchemas } from '../../shared/contracts/table-schemas.ts';
import { useStarted } from './use-started.ts';

const tableNames = Object.keys(tableSchemas).filter((name): name is keyof typeof tableSchemas => name in tableSchemas);

const createTable = (name: keyof typeof tableSchemas): CreateTableCommand => {
  const { partitionKey, sortKey } = tableSchemas[name];
  const keys = sortKey === undefined ? [partitionKey] : [partitionKey, sortKey];
  return new CreateTableCommand({
    TableName: name,
    BillingMode: 'PAY_PER_REQUEST',
    AttributeDefinitions: keys.map((AttributeName) => ({ AttributeName, AttributeType: 'S' })),
    KeySchema: keys.map((AttributeName, index) => ({ AttributeName, KeyType: index === 0 ? 'HASH' : 'RANGE' })),
  });
};

/** Uses DynamoDB Local at the address in `DYNAMODB_ENDPOINT`, or else starts the DynamoDB of the local stack. */
const startDatabase = async () => {
  if (process.env.DYNAMODB_ENDPOINT) return { url: new URL(process.env.DYNAMODB_ENDPOINT), stop: async () => {} };
  const { server, services } = createEndpoint();
  const dynamodb = limitDynamoDb({ store: memoryTables(), clock: systemClock, partitionLimits: false });
  services.set('dynamodb', dynamodb.service);
  return { url: new URL(origin(await listen(server))), stop: () => close(server) };
};

/** Runs DynamoDB with the empty tables of `tableSchemas` for the tests of a file or describe. */
export const useDatabase = () => {
  const database = useStarted(startDatabase, ({ stop }) => stop());
  // DynamoDB Local has separate tables for each access key.
  const accessKeyId = `local${crypto.randomUUID().replaceAll('-', '')}`;
  const clients: DynamoDBClient[] = [];

  /** Creates a client that omits undefined attributes, as the service does. Only hooks and tests can send requests. */
  const connect = (
    options: Pick<DynamoDBClientConfig, 'maxAttempts' | 'retryStrategy'> = {},
  ): DynamoDBDocumentClient => {
    const client = new DynamoDBClient({
      region: 'local-1',
      endpoint: async () => ({ url: database.url }),
      credentials: { accessKeyId, secretAccessKey: 'local' },
      ...options,
    });
    clients.push(client);
    return DynamoDBDocumentClient.from(client, documentOptions);
  };

  const client = connect();
  beforeAll(async () => {
    await Promise.all(tableNames.map((name) => client.send(createTable(name))));
  });
  afterAll(() => {
    for (const open of clients) open.destroy();
  });
  return { client, connect };
};
