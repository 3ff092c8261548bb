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
import type { AwsAnswer, AwsService } from './aws-service.ts';

/** A table to create, in the words of `CreateTable`. */
export interface TableSettings {
  name: string;
  keys: KeySchemaElement[];
  attributes: AttributeDefinition[];
  globalIndexes?: GlobalSecondaryIndex[] | undefined;
  localIndexes?: LocalSecondaryIndex[] | undefined;
}

/** The part of a response that dynalite writes to. */
class Capture {
  statusCode = 200;
  contentType = '';
  readonly headers: Record<string, string> = {};
  readonly answer: Promise<AwsAnswer>;
  #resolve: (answer: AwsAnswer) => void = () => {};

  constructor() {
    this.answer = new Promise((resolve) => {
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
 * DynamoDB, in memory, by dynalite. It is handed the requests that the endpoint has read already, never a socket: a
 * caller who hangs up halfway would otherwise be an error that dynalite throws, and the end of the process.
 */
export function dynamoDbService(): AwsService {
  const database = dynalite({ createTableMs: 0 });
  return ({ headers, path, body }) => {
    const request = Object.assign(new EventEmitter(), { method: 'POST', url: path, headers });
    const response = new Capture();
    database.emit('request', request, response);
    request.emit('data', body);
    request.emit('end');
    return response.answer;
  };
}

/** Creates a table; it is ready at once. */
export async function createTable(client: DynamoDBClient, table: TableSettings): Promise<void> {
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
}
