import { Readable } from 'node:stream';
import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { HttpResponse } from '@smithy/core/protocols';

/**
 * Makes the request timeout of a client include the response body. That of the SDK's HTTP handler ends with the headers,
 * so a connection that stalls in the body would take until the timeout of the function. The SDK retries the request.
 */
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
