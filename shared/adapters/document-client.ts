import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import { awsConfig } from './aws-config.ts';

/** A DynamoDB client that speaks plain values; attributes that are undefined are not written. */
export const createDocumentClient = (): DynamoDBDocumentClient =>
  DynamoDBDocumentClient.from(new DynamoDBClient(awsConfig), { marshallOptions: { removeUndefinedValues: true } });
