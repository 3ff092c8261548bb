import { Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import { Readable } from 'node:stream';
import { DynamoDBClient, type DynamoDBClientConfig } from '@aws-sdk/client-dynamodb';
import { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import { HttpResponse } from '@smithy/core/protocols';
import { isServerError, isThrottlingError, isTransientError } from '@smithy/core/retry';
import { documentOptions } from './dynamodb/items.ts';

/** More sockets than messages in the largest batch: the SDK counts the wait for a socket as connection time. */
const agent = { maxSockets: 128 };

/** The defaults, which the SDK otherwise looks up in files that don't exist on Lambda: 5 ms of a cold start. */
const settingsWithoutFiles = () => {
  const { AWS_REGION, AWS_ENDPOINT_URL } = process.env;
  return {
    ...(AWS_REGION && { region: AWS_REGION }),
    ...(AWS_ENDPOINT_URL ? { endpoint: AWS_ENDPOINT_URL } : { ignoreConfiguredEndpointUrls: true }),
    retryMode: 'standard',
    useDualstackEndpoint: false,
    useFipsEndpoint: false,
    disableClockSkewCorrection: false,
    authSchemePreference: [],
    userAgentAppId: async () => undefined,
  };
};

const requestHandler = {
  connectionTimeout: 1_000,
  requestTimeout: 3_000,
  throwOnRequestTimeout: true,
  httpAgent: agent,
  httpsAgent: agent,
};

/** 1 s to connect, 3 s for a response (docs/decisions/deliveries.md#timeouts). */
export const awsConfig = () => ({
  ...settingsWithoutFiles(),
  streamCollector: collectBody,
  maxAttempts: 3,
  requestHandler,
});

/**
 * For calls that the SDK must not repeat, since SES, SNS and test invocations have no idempotency tokens. Each uses a
 * new connection: one that was closed while the environment was frozen would look like a failed call. Callers set the
 * request timeout, because a retry after it may send twice.
 */
export const onceConfig = () => ({
  ...settingsWithoutFiles(),
  streamCollector: collectBody,
  maxAttempts: 1,
  requestHandler: {
    ...requestHandler,
    httpAgent: new HttpAgent({ keepAlive: false }),
    httpsAgent: new HttpsAgent({ keepAlive: false }),
  },
});

/** It formats data that must not be logged, and builds headers that DynamoDB does not need. */
const UNUSED_MIDDLEWARE = ['loggerMiddleware', 'getUserAgentMiddleware', 'recursionDetectionMiddleware'];

type DocumentClientConfig = DynamoDBClientConfig & { requestHandler: { requestTimeout: number } };

/** Creates a DynamoDB document client (docs/decisions/outbound.md#dynamodb-client). */
export const createDocumentClient = (config: DocumentClientConfig = awsConfig()): DynamoDBDocumentClient => {
  const client = new DynamoDBClient({
    ...config,
    accountIdEndpointMode: 'preferred',
    endpointDiscoveryEnabledProvider: async () => undefined,
  });
  for (const middleware of UNUSED_MIDDLEWARE) client.middlewareStack.remove(middleware);
  limitBodyTime(client, config.requestHandler.requestTimeout);
  return DynamoDBDocumentClient.from(client, documentOptions);
};

type SdkError = Parameters<typeof isTransientError>[0];

const isSdkError = (error: unknown): error is SdkError =>
  error instanceof Error && (error.cause === undefined || error.cause instanceof Error);

/** Returns whether AWS throttled a request, failed with a 5xx, or could not be reached. */
export const isDependencyFailure = (error: unknown): boolean =>
  isSdkError(error) && (isThrottlingError(error) || isTransientError(error) || isServerError(error));

export const isThrottled = (error: unknown): boolean => isSdkError(error) && isThrottlingError(error);

/** Replaces the SDK's function, whose test for web streams makes Node.js load them: 3 ms of a cold start. */
export const collectBody = (body: Readable): Promise<Uint8Array> =>
  new Promise((resolve, reject) => {
    const parts: Uint8Array[] = [];
    body.on('data', (part: Uint8Array) => parts.push(part));
    body.on('end', () => resolve(Buffer.concat(parts)));
    body.on('error', reject);
  });

/** Makes the request timeout include the body: that of the SDK ends with the headers, and a body may stall. */
export const limitBodyTime = ({ middlewareStack }: DynamoDBClient, timeoutMs: number): void => {
  middlewareStack.add(
    (next) => async (args) => {
      const deadlineMs = performance.now() + timeoutMs;
      const result = await next(args);
      const body: unknown = HttpResponse.isInstance(result.response) ? result.response.body : undefined;
      if (body instanceof Readable) {
        // An overloaded process sees the response after the deadline.
        const remainingMs = Math.max(0, deadlineMs - performance.now());
        const timeout = setTimeout(() => {
          body.destroy(Object.assign(new Error('The response body did not end in time.'), { name: 'TimeoutError' }));
        }, remainingMs);
        body.once('close', () => clearTimeout(timeout));
      }
      return result;
    },
    { name: 'bodyTimeout', step: 'deserialize', priority: 'low' },
  );
};
