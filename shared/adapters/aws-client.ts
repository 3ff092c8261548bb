import { Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import { DynamoDBClient, type DynamoDBClientConfig } from '@aws-sdk/client-dynamodb';
import { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import { isServerError, isThrottlingError, isTransientError } from '@smithy/core/retry';
import { collectBody } from './collect-body.ts';
import { limitBodyTime } from './dynamodb/body-timeout.ts';
import { documentOptions } from './dynamodb/items.ts';

/** More sockets than messages in the largest batch: the SDK counts the wait for a socket as connection time. */
const agent = { maxSockets: 128 };

/**
 * Returns what the SDK otherwise looks up in the shared configuration files, which don't exist on Lambda: reading them,
 * and the errors it creates for missing values, take about 5 ms of a cold start. The values are the defaults.
 */
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

/**
 * Returns the configuration of every AWS client: 1 s to connect and 3 s for a response, so that a stuck dependency costs
 * less than a function's timeout (docs/decisions/deliveries.md#timeouts).
 */
export const awsConfig = () => ({
  ...settingsWithoutFiles(),
  streamCollector: collectBody,
  maxAttempts: 3,
  requestHandler,
});

/**
 * Returns the configuration of clients whose calls must not be repeated by the SDK: SES, SNS and test invocations don't
 * support idempotency tokens. Each call uses a new connection, since one that was closed while the execution environment
 * was frozen would look like a failed call. Callers must set the request timeout: retrying after a timeout may send a
 * message twice.
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

/**
 * Middleware that DynamoDB requests do not need: it formats data that must not be logged, and builds the headers
 * `User-Agent` and `X-Amzn-Trace-Id`.
 */
const UNUSED_MIDDLEWARE = ['loggerMiddleware', 'getUserAgentMiddleware', 'recursionDetectionMiddleware'];

/** `requestTimeout` is in ms. */
type DocumentClientConfig = DynamoDBClientConfig & { requestHandler: { requestTimeout: number } };

/**
 * Creates a DynamoDB document client. Undefined attributes are not written, and the request timeout includes the
 * response body (docs/decisions/outbound.md#dynamodb-client).
 */
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

/**
 * Returns whether AWS throttled a request, failed with a 5xx, or could not be reached, as the AWS SDK classifies
 * errors.
 */
export const isDependencyFailure = (error: unknown): boolean =>
  isSdkError(error) && (isThrottlingError(error) || isTransientError(error) || isServerError(error));

/** Returns whether AWS throttled a request, as the AWS SDK classifies errors. */
export const isThrottled = (error: unknown): boolean => isSdkError(error) && isThrottlingError(error);
