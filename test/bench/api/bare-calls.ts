import { GetCommand, QueryCommand } from '@aws-sdk/lib-dynamodb';
import type { APIGatewayProxyEventV2 } from 'aws-lambda';
import { createDocumentClient } from '../../../shared/adapters/aws-client.ts';

/* The AWS calls of the handlers without the handlers: their share of CPU time. The path selects the call. */

const client = createDocumentClient();
const TableName = process.env.NOTIFICATIONS_TABLE;

const calls: Record<string, () => Promise<object>> = {
  '/GetItem': () =>
    client.send(
      new GetCommand({
        TableName,
        Key: { pk: 'notification#bench', sk: 'nt01M7W36KGQDJ8S2D76FCWK3Z01' },
        ConsistentRead: true,
      }),
    ),
  '/Query': () =>
    client.send(
      new QueryCommand({
        TableName,
        KeyConditionExpression: 'pk = :pk',
        ExpressionAttributeValues: { ':pk': 'notification#bench' },
        ConsistentRead: true,
        Limit: 101,
      }),
    ),
};

export const handler = async ({ rawPath }: APIGatewayProxyEventV2) => {
  await calls[rawPath]?.();
  return { statusCode: 200, body: '' };
};
