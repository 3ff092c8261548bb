import { once } from 'node:events';
import { CreateTableCommand, DynamoDBClient, type DynamoDBClientConfig } from '@aws-sdk/client-dynamodb';
import { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import dynalite from 'dynalite';
import { tableSchemas } from '../../shared/contracts/table-schemas.ts';

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

/** Starts dynalite in this process with the empty tables of `tableSchemas`. */
export const startDatabase = async () => {
  const server = dynalite({ createTableMs: 0 });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  const clients: DynamoDBClient[] = [];

  /** Creates a client that omits undefined attributes, as the service does. */
  const connect = (
    options: Pick<DynamoDBClientConfig, 'maxAttempts' | 'retryStrategy'> = {},
  ): DynamoDBDocumentClient => {
    const client = new DynamoDBClient({
      region: 'local-1',
      endpoint: `http://127.0.0.1:${port}`,
      credentials: { accessKeyId: 'local', secretAccessKey: 'local' },
      ...options,
    });
    clients.push(client);
    return DynamoDBDocumentClient.from(client, { marshallOptions: { removeUndefinedValues: true } });
  };

  const client = connect();
  await Promise.all(tableNames.map((name) => client.send(createTable(name))));

  const stop = async (): Promise<void> => {
    for (const open of clients) open.destroy();
    server.close();
    await once(server, 'close');
  };
  return { client, connect, stop };
};
