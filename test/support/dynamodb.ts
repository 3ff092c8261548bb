import { DynamoDBClient, type DynamoDBClientConfig } from '@aws-sdk/client-dynamodb';
import { DynamoDBDocumentClient, QueryCommand } from '@aws-sdk/lib-dynamodb';
import { type HttpRequest, HttpResponse } from '@smithy/core/protocols';
import type { AwsService } from 'local-aws/aws-service.ts';
import { systemClock } from 'local-aws/clock.ts';
import { createDynamoDb } from 'local-aws/dynamodb/dynamodb.ts';
import type { TableSettings } from 'local-aws/dynamodb/table-operations.ts';
import { createTable } from 'local-aws/test/support/create-table.ts';
import { afterAll, beforeAll, inject } from 'vitest';
import { documentOptions } from '../../shared/adapters/dynamodb/items.ts';
import { tableSchemas } from '../../shared/contracts/table-schemas.ts';

const tableNames = Object.keys(tableSchemas).filter((name): name is keyof typeof tableSchemas => name in tableSchemas);

const tableSettings = (name: keyof typeof tableSchemas): TableSettings => {
  const { partitionKey, sortKey } = tableSchemas[name];
  const names = sortKey === undefined ? [partitionKey] : [partitionKey, sortKey];
  return {
    name,
    attributes: names.map((AttributeName) => ({ AttributeName, AttributeType: 'S' })),
    keys: names.map((AttributeName, index) => ({ AttributeName, KeyType: index === 0 ? 'HASH' : 'RANGE' })),
  };
};

/** What sends the requests of a client to a database. */
type Connection = Pick<DynamoDBClientConfig, 'endpoint' | 'requestHandler' | 'signer'>;

/** Calls the DynamoDB of the local stack in this process: HTTP and signatures take half of the CPU time of a request. */
const inProcess = (service: AwsService): Connection => ({
  endpoint: 'http://in-process.invalid',
  signer: { sign: async (request) => request },
  requestHandler: {
    async handle({ path, headers: sent, body: content }: HttpRequest) {
      // Like a network, so that callers in a loop do not prevent timers and other calls.
      await new Promise(setImmediate);
      const headers = Object.fromEntries(Object.entries(sent).map(([name, value]) => [name.toLowerCase(), value]));
      const action = headers['x-amz-target']?.split('.')[1] ?? '';
      const { signal } = new AbortController();
      // Not `Buffer.from(content)`, which would read the content as a string.
      const body = Buffer.concat([content]);
      const call = { service: 'dynamodb', action, caller: '', path, headers, body, signal };
      const { status: statusCode, ...response } = await service(call);
      return { response: new HttpResponse({ ...response, statusCode, body: Buffer.from(response.body) }) };
    },
  },
});

/** Connects to DynamoDB Local if the project has it, or else to a new DynamoDB of the local stack. */
const connectDatabase = (): Connection => {
  const endpoint = inject('dynamoDbLocal');
  if (endpoint !== undefined) return { endpoint };
  return inProcess(createDynamoDb({ clock: systemClock, partitionLimits: false }).service);
};

/** Runs DynamoDB with the empty tables of `tableSchemas` for the tests of a file or describe, and names new tenants. */
export const useDatabase = () => {
  const connection = connectDatabase();
  // DynamoDB Local has separate tables for each access key.
  const accessKeyId = `local${crypto.randomUUID().replaceAll('-', '')}`;
  const clients: DynamoDBClient[] = [];

  const open = (options: Pick<DynamoDBClientConfig, 'maxAttempts' | 'retryStrategy'> = {}): DynamoDBClient => {
    const credentials = { accessKeyId, secretAccessKey: 'local' };
    const client = new DynamoDBClient({ region: 'local-1', credentials, ...connection, ...options });
    clients.push(client);
    return client;
  };

  /** Creates a client that omits undefined attributes, as the service does. Only hooks and tests can send requests. */
  const connect = (...options: Parameters<typeof open>): DynamoDBDocumentClient =>
    DynamoDBDocumentClient.from(open(...options), documentOptions);

  beforeAll(async () => {
    const client = open();
    await Promise.all(tableNames.map((name) => createTable(client, tableSettings(name))));
  });
  afterAll(() => {
    for (const client of clients) client.destroy();
  });
  let tenants = 0;
  return { client: connect(), connect, newTenant: () => `tenant${tenants++}` };
};

/** Returns the items of a partition, in order of their sort keys. */
export const itemsOf = async (client: DynamoDBDocumentClient, TableName: string, pk: string) => {
  const condition = { KeyConditionExpression: 'pk = :pk', ExpressionAttributeValues: { ':pk': pk } };
  const { Items = [] } = await client.send(new QueryCommand({ TableName, ...condition, ConsistentRead: true }));
  return Items;
};
