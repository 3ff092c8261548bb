import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import { awsConfig } from './aws-config.ts';

/**
 * A DynamoDB client that speaks plain values; attributes that are undefined are not written. The SDK's own log is taken out:
 * nobody reads it, what it would hold must not be logged, and making it up takes 5 % of a sender's CPU.
 */
export const createDocumentClient = (): DynamoDBDocumentClient => {
  const client = new DynamoDBClient(awsConfig);
  client.middlewareStack.remove('loggerMiddleware');
  return DynamoDBDocumentClient.from(client, { marshallOptions: { removeUndefinedValues: true } });
};
