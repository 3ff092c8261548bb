import { Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import { isServerError, isThrottlingError, isTransientError } from '@smithy/core/retry';

/** More than the messages of the largest batch: a call that waits for a socket counts, to the SDK, as one that cannot connect. */
const agent = { maxSockets: 128 };

/**
 * How every AWS client of ours waits (design 3, Claim): 1 s to connect, 3 s for an answer, so that a stuck dependency
 * costs less than a function's timeout.
 */
export const awsConfig = {
  maxAttempts: 3,
  requestHandler: {
    connectionTimeout: 1_000,
    requestTimeout: 3_000,
    throwOnRequestTimeout: true,
    httpAgent: agent,
    httpsAgent: agent,
  },
};

/**
 * For calls that must not be repeated behind our back: a mail, a text and a test have no idempotency token. Each takes a new
 * connection, since one that died while the sandbox was frozen would look like a call that failed. Callers give the time that
 * they have: an answer that comes after a time-out would be a second mail.
 */
export const onceConfig = {
  maxAttempts: 1,
  requestHandler: {
    ...awsConfig.requestHandler,
    httpAgent: new HttpAgent({ keepAlive: false }),
    httpsAgent: new HttpsAgent({ keepAlive: false }),
  },
};

/**
 * A DynamoDB client that speaks plain values; attributes that are undefined are not written. The SDK's own log is taken out:
 * nobody reads it, what it would hold must not be logged, and making it up takes 5 % of a sender's CPU.
 */
export const createDocumentClient = (): DynamoDBDocumentClient => {
  const client = new DynamoDBClient(awsConfig);
  client.middlewareStack.remove('loggerMiddleware');
  return DynamoDBDocumentClient.from(client, { marshallOptions: { removeUndefinedValues: true } });
};

type SdkError = Parameters<typeof isTransientError>[0];

const isSdkError = (error: unknown): error is SdkError =>
  error instanceof Error && (error.cause === undefined || error.cause instanceof Error);

/** True where a dependency throttled us, failed, or could not be reached, as the AWS SDK classifies its errors. */
export const isDependencyFailure = (error: unknown): boolean =>
  isSdkError(error) && (isThrottlingError(error) || isTransientError(error) || isServerError(error));

/** True where a dependency throttled us, as the AWS SDK classifies its errors. */
export const isThrottled = (error: unknown): boolean => isSdkError(error) && isThrottlingError(error);
