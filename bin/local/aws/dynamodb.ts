import { EventEmitter } from 'node:events';
import {
  type AttributeDefinition,
  CreateTableCommand,
  type DynamoDBClient,
  type GlobalSecondaryIndex,
  type KeySchemaElement,
  type LocalSecondaryIndex,
} from '@aws-sdk/client-dynamodb';
import dynalite from 'dynalite';
import type { AwsResponse, AwsService } from './aws-service.ts';

/** A table to create; the types are those of `CreateTable`. */
export type TableSettings = {
  name: string;
  keys: KeySchemaElement[];
  attributes: AttributeDefinition[];
  globalIndexes?: GlobalSecondaryIndex[] | undefined;
  localIndexes?: LocalSecondaryIndex[] | undefined;
};

/** The part of an HTTP response that dynalite uses. */
class CapturedResponse {
  statusCode = 200;
  contentType = '';
  readonly headers: Record<string, string> = {};
  readonly result: Promise<AwsResponse>;
  #resolve: (response: AwsResponse) => void = () => {};

  constructor() {
    this.result = new Promise((resolve) => {
      this.#resolve = resolve;
    });
  }

  setHeader(name: string, value: string | number): void {
    this.headers[name] = String(value);
  }

  end(body = ''): void {
    delete this.headers['Content-Length'];
    this.#resolve({ status: this.statusCode, headers: this.headers, body });
  }
}

/**
 * Creates an in-memory DynamoDB with dynalite. It gets the requests that the endpoint has read, not the sockets:
 * dynalite throws when a caller disconnects early, which would end the process.
 */
export const dynamoDbService = (): AwsService => {
  const database = dynalite({ createTableMs: 0 });
  return ({ headers, path, body }) => {
    const request = Object.assign(new EventEmitter(), { method: 'POST', url: path, headers });
    const response = new CapturedResponse();
    database.emit('request', request, response);
    request.emit('data', body);
    request.emit('end');
    return response.result;
  };
};

/** Creates a table, which is active immediately. */
export const createTable = async (client: DynamoDBClient, table: TableSettings): Promise<void> => {
  await client.send(
    new CreateTableCommand({
      TableName: table.name,
      BillingMode: 'PAY_PER_REQUEST',
      KeySchema: table.keys,
      AttributeDefinitions: table.attributes,
      GlobalSecondaryIndexes: table.globalIndexes,
      LocalSecondaryIndexes: table.localIndexes,
    }),
  );
};
