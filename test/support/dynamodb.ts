import { once } from 'node:events';
import { CreateTableCommand, DynamoDBClient, type DynamoDBClientConfig } from '@aws-sdk/client-dynamodb';
import { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import dynalite from 'dynalite';
import { afterAll, beforeAll } from 'vitest';
import { tableSchemas } from '../../shared/contracts/table-schemas.ts';
import { listenOnLoopback } from './listen.ts';
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

/** Starts dynalite in this process on a free loopback port. */
const startDynalite = async () => {
  const server = dynalite({ createTableMs: 0 });
  const url = new URL(`http://127.0.0.1:${await listenOnLoopback(server)}`);
  const stop = async (): Promise<void> => {
    server.close();
    await once(server, 'close');
  };
  return { url, stop };
};

/** Runs dynalite with the empty tables of `tableSchemas` for the tests of a file or describe. */
export const useDatabase = () => {
  const database = useStarted(startDynalite, ({ stop }) => stop());
  const clients: DynamoDBClient[] = [];

  /** Creates a client that omits undefined attributes, as the service does. Only hooks and tests can send requests. */
  const connect = (
    options: Pick<DynamoDBClientConfig, 'maxAttempts' | 'retryStrategy'> = {},
  ): DynamoDBDocumentClient => {
    const client = new DynamoDBClient({
      region: 'local-1',
      endpoint: async () => ({ url: database.url }),
      credentials: { accessKeyId: 'local', secretAccessKey: 'local' },
      ...options,
    });
    clients.push(client);
    return DynamoDBDocumentClient.from(client, { marshallOptions: { removeUndefinedValues: true } });
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
