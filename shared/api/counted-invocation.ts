import { InvokeCommand, LambdaClient } from '@aws-sdk/client-lambda';
import { MAX_CONCURRENT_TESTS, type TestCounter, type TestLease } from '../adapters/accounts/test-counter.ts';
import { onceConfig } from '../adapters/aws-client.ts';
import { errorTrace, logger } from '../adapters/logger.ts';
import type { CodeRequest, TestRequest } from '../contracts/messages.ts';
import type { Clock } from '../domain/clock.ts';
import { testLimitReached, tooManyTests, unavailable } from '../domain/errors.ts';

/** Creates a client that does not retry: a retry could send a second message. */
export const createInvokeClient = (timeoutMs: number): LambdaClient => {
  const config = onceConfig();
  return new LambdaClient({ ...config, requestHandler: { ...config.requestHandler, requestTimeout: timeoutMs } });
};

/** A call of a sender. */
export type Invocation = {
  /** The name of the sender. */
  functionName: string;
  request: TestRequest | CodeRequest;
  /** The tenant's tests per UTC day. */
  limit: number;
  /** Writes the audit entry. Default: none */
  record?: () => Promise<void>;
};

/**
 * Creates the function that calls a sender for a tenant and returns what the sender returns. It counts the call as a test:
 * toward the daily limit, and that of tests at a time (docs/decisions/api.md#test-operations).
 *
 * @throws ServiceError 429 if the daily limit is reached; 503 if 20 tests run, the call cannot be counted or the sender
 * fails
 */
export const createCountedInvocation = (counter: TestCounter, lambda: Pick<LambdaClient, 'send'>, clock: Clock) => {
  const start = async (tenant: string, limit: number): Promise<TestLease> => {
    const started = await counter.start(tenant, limit).catch((error: unknown) => {
      throw unavailable(error);
    });
    if (started.kind === 'daily_limit') throw testLimitReached(limit, clock());
    if (started.kind === 'too_many_at_once') throw tooManyTests(MAX_CONCURRENT_TESTS);
    return started.lease;
  };

  /** A lease that cannot be given back expires. */
  const end = (lease: TestLease): Promise<void> =>
    counter
      .end(lease)
      .catch((error: unknown) => logger.warn('test not ended', { tenant_id: lease.tenant, ...errorTrace(error) }));

  const invoke = async ({ functionName, request }: Invocation): Promise<unknown> => {
    const response = await lambda
      .send(new InvokeCommand({ FunctionName: functionName, Payload: JSON.stringify(request) }))
      .catch((error: unknown) => {
        throw unavailable(error);
      });
    if (response.FunctionError || !response.Payload) {
      logger.error('sender did not run', { function: functionName });
      throw unavailable();
    }
    return JSON.parse(response.Payload.transformToString());
  };

  return async (invocation: Invocation): Promise<unknown> => {
    const lease = await start(invocation.request.tenant, invocation.limit);
    try {
      await invocation.record?.();
      return await invoke(invocation);
    } finally {
      await end(lease);
    }
  };
};
