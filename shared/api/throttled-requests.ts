import { UnconfirmedChangeError } from '../adapters/dynamodb/errors.ts';
import { createThrottlingWatch } from '../adapters/dynamodb/key-throttling.ts';
import { count } from '../adapters/metrics.ts';
import type { Caller } from '../domain/authorization.ts';
import { ServiceError } from '../domain/errors.ts';

/**
 * Creates the function that counts requests that fail with 503 because DynamoDB throttles only the caller's partition,
 * so that alarms can exclude them.
 */
export const createThrottlingCount = () => {
  const isTenantThrottled = createThrottlingWatch(Date.now);
  return (error: unknown, { tenant }: Caller): void => {
    const cause = error instanceof ServiceError || error instanceof UnconfirmedChangeError ? error.cause : error;
    if (isTenantThrottled(cause, tenant)) count({ throttled_requests: 1 });
  };
};
