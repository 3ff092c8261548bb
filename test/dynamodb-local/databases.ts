import { type Clock, systemClock } from 'local-aws/clock.ts';
import { createDynamoDb } from 'local-aws/dynamodb/dynamodb.ts';
import * as z from 'zod';
import { type Request, TABLE } from './generated-requests.ts';

/** A response: its status and its body. */
export type Response = { status: number; body: Record<string, unknown> };

/** Sends a request to a database. */
export type Send = (request: Request) => Promise<Response>;

const body = z.record(z.string(), z.unknown());

/** Creates an empty table in DynamoDB Local, which has separate ones for each access key. */
export const dynamoDbLocal = async (endpoint: string): Promise<Send> => {
  const accessKey = crypto.randomUUID().replaceAll('-', '');
  const authorization = `AWS4-HMAC-SHA256 Credential=${accessKey}/20260101/us-east-1/dynamodb/aws4_request, SignedHeaders=host, Signature=none`;
  const send: Send = async (request) => {
    const headers = {
      authorization,
      'content-type': 'application/x-amz-json-1.0',
      'x-amz-date': '20260101T000000Z',
      'x-amz-target': `DynamoDB_20120810.${request.action}`,
    };
    const response = await fetch(endpoint, { method: 'POST', headers, body: JSON.stringify(request.body) });
    return { status: response.status, body: body.parse(await response.json()) };
  };
  await createTable(send);
  return send;
};

/** Creates an empty table in the DynamoDB of the local stack. */
export const localStack = async (clock: Clock = systemClock): Promise<Send> => {
  const { service } = createDynamoDb({ clock, partitionLimits: false });
  const { signal } = new AbortController();
  const send: Send = async ({ action, body: parameters }) => {
    const call = { service: 'dynamodb', action, caller: 'test', path: '/', headers: {}, signal };
    const response = await service({ ...call, body: Buffer.from(JSON.stringify(parameters)) });
    return { status: response.status, body: body.parse(JSON.parse(response.body.toString())) };
  };
  await createTable(send);
  return send;
};

const createTable = async (send: Send): Promise<void> => {
  const { status } = await send({
    action: 'CreateTable',
    body: {
      TableName: TABLE,
      BillingMode: 'PAY_PER_REQUEST',
      KeySchema: [
        { AttributeName: 'pk', KeyType: 'HASH' },
        { AttributeName: 'sk', KeyType: 'RANGE' },
      ],
      AttributeDefinitions: ['pk', 'sk'].map((AttributeName) => ({ AttributeName, AttributeType: 'S' })),
    },
  });
  if (status !== 200) throw new Error(`The table ${TABLE} could not be created.`);
  await activation(send, TABLE);
};

const described = z.object({ Table: z.object({ TableStatus: z.string() }) });

const activation = async (send: Send, TableName: string): Promise<void> => {
  for (;;) {
    const { body: description } = await send({ action: 'DescribeTable', body: { TableName } });
    if (described.parse(description).Table.TableStatus === 'ACTIVE') return;
    await new Promise(setImmediate);
  }
};
