import { randomUUID } from 'node:crypto';
import type { Readable } from 'node:stream';
import {
  DynamoDBClient,
  type DynamoDBClientConfig,
  type DynamoDBClientResolvedConfig,
  GetItemCommand,
  type ServiceInputTypes,
  type ServiceOutputTypes,
} from '@aws-sdk/client-dynamodb';
import type { Command } from '@smithy/core/client';
import { getEndpointFromInstructions, toEndpointV1 } from '@smithy/core/endpoints';
import { HttpRequest, type HttpResponse, RpcProtocol } from '@smithy/core/protocols';
import { retryMiddleware } from '@smithy/core/retry';
import { operation } from '@smithy/core/schema';
import { createRequestSigner } from './request-signer.ts';

/** Aborts a request. */
export type RequestOptions = { abortSignal?: AbortSignal };

/** A command of the AWS SDK's DynamoDB client. */
type DynamoDbCommand<Input extends ServiceInputTypes, Output extends ServiceOutputTypes> = Command<
  Input,
  Output,
  DynamoDBClientResolvedConfig,
  ServiceInputTypes,
  ServiceOutputTypes
>;

/** The configuration of the AWS SDK's client. `requestTimeout` is in ms, and includes the response body. */
type Configuration = DynamoDBClientConfig & { requestHandler: { requestTimeout: number } };

/** Sends commands to DynamoDB. The clients of the AWS SDK are such clients too. */
export type DynamoDb = {
  send<Input extends ServiceInputTypes, Output extends ServiceOutputTypes>(
    command: DynamoDbCommand<Input, Output>,
    options?: RequestOptions,
  ): Promise<Output>;
};

/**
 * Reads a response body. The request timeout of the SDK's HTTP handler ends with the headers, so a connection that
 * stalls in the body would take until the timeout of the function.
 */
const readBody = (body: Readable, timeoutMs: number): Promise<Uint8Array> =>
  new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    const timeout = setTimeout(() => {
      body.destroy(Object.assign(new Error('The response body did not end in time.'), { name: 'TimeoutError' }));
    }, timeoutMs);
    body.on('data', (chunk: Buffer) => chunks.push(chunk));
    body.on('end', () => {
      clearTimeout(timeout);
      resolve(chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks));
    });
    body.on('error', (error) => {
      clearTimeout(timeout);
      reject(error);
    });
  });

/** Adds the status to the error for a response that is not from DynamoDB, so that the SDK retries it after a 5xx. */
const withStatus =
  ({ statusCode: httpStatusCode }: HttpResponse) =>
  (error: unknown): never => {
    throw error instanceof Error && !('$metadata' in error)
      ? Object.assign(error, { $metadata: { httpStatusCode } })
      : error;
  };

const INVOCATION_ID = 'amz-sdk-invocation-id';

type Operation = Parameters<RpcProtocol['serializeRequest']>[0];

/** Returns the operation of a command as the protocol expects it. */
const operationOf = ({ schema }: Pick<GetItemCommand, 'schema'>): Operation => {
  if (schema === undefined) throw new Error('The command has no schema.');
  if (!Array.isArray(schema)) return schema;
  const [, namespace, name, traits, input, output] = schema;
  return operation(namespace, name, traits, input, output);
};

/**
 * Creates a client that sends commands with the protocol, retries, HTTP handler, endpoints and credentials of the AWS
 * SDK, but without its middleware stack, which takes more than half of the CPU time of a conditional write
 * (docs/decisions/outbound.md#dynamodb-client). It differs in three ways: it sends no `User-Agent` and no
 * `X-Amzn-Trace-Id`, it does not correct the time of the signature by that of the server, and the request timeout
 * includes the response body.
 */
export const createDynamoDb = (configuration: Configuration): DynamoDb => {
  const { requestTimeout } = configuration.requestHandler;
  const { config } = new DynamoDBClient(configuration);
  const { protocol } = config;
  if (!(protocol instanceof RpcProtocol)) throw new Error('The AWS SDK has another protocol for DynamoDB.');
  const sign = createRequestSigner('dynamodb');

  const prepare = async () => {
    // All requests go to the endpoint of the region, so its parameters do not depend on the command.
    const endpoint = toEndpointV1(await getEndpointFromInstructions({}, GetItemCommand, config));
    const retries = await config.retryStrategy();
    if (!('acquireInitialRetryToken' in retries)) throw new Error('The retry strategy of the AWS SDK has no tokens.');
    return {
      context: { ...config, endpoint: async () => endpoint },
      region: await config.region(),
      retries,
      maxAttempts: await config.maxAttempts(),
    };
  };
  let prepared: ReturnType<typeof prepare> | undefined;
  const prepareAgainAfterFailure = (error: unknown): never => {
    prepared = undefined;
    throw error;
  };

  return {
    async send<Input extends ServiceInputTypes, Output extends ServiceOutputTypes>(
      command: DynamoDbCommand<Input, Output>,
      options: RequestOptions = {},
    ): Promise<Output> {
      prepared ??= prepare().catch(prepareAgainAfterFailure);
      const { context, region, retries, maxAttempts } = await prepared;
      const schema = operationOf(command);
      const request = await protocol.serializeRequest(schema, command.input, context);
      const { hostname, port, path, body } = request;
      const invocationId = randomUUID();
      request.headers.host = port === undefined ? hostname : `${hostname}:${port}`;
      request.headers[INVOCATION_ID] = invocationId;
      request.headers['amz-sdk-request'] = `attempt=1; max=${maxAttempts}`;
      const attempt = async () => {
        const headers = sign({ path, headers: request.headers, body }, await config.credentials(), region, Date.now());
        const sent = new HttpRequest({ ...request, headers });
        const deadlineMs = performance.now() + requestTimeout;
        const { response } = await config.requestHandler.handle(sent, options);
        const received = { ...response, body: await readBody(response.body, deadlineMs - performance.now()) };
        const output = await protocol
          .deserializeResponse<Output>(schema, context, received)
          .catch(withStatus(response));
        return { response, output };
      };

      /** Continues after the failure of the first attempt, which the middleware gets as its first result. */
      const retry = async (error: unknown): Promise<Output> => {
        let isFirst = true;
        const next = () => {
          if (!isFirst) return attempt();
          isFirst = false;
          request.headers[INVOCATION_ID] = invocationId;
          return Promise.reject(error);
        };
        const { output } = await retryMiddleware(config)<Output>(next, {})({ request, input: command.input });
        return output;
      };

      // The middleware creates an error with a stack trace for every request, so it only sees those that fail.
      const token = await retries.acquireInitialRetryToken('');
      try {
        const { output } = await attempt();
        retries.recordSuccess(token);
        Object.assign(output.$metadata, { attempts: 1, totalRetryDelay: 0 });
        return output;
      } catch (error) {
        return retry(error);
      }
    },
  };
};
