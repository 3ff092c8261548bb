import type { MiddlewareObj } from '@middy/core';
import type { Context } from 'aws-lambda';
import { UnconfirmedChangeError } from '../adapters/dynamodb/errors.ts';
import { createThrottlingWatch } from '../adapters/dynamodb/key-throttling.ts';
import { count } from '../adapters/metrics.ts';
import type { Caller } from '../domain/authorization.ts';
import { ServiceError } from '../domain/errors.ts';
import type { ApiRequest } from './request.ts';
import type { ApiResponse } from './response.ts';

/**
 * Counts requests that fail with 503 because DynamoDB throttles only the caller's partition, so that alarms can exclude
 * them.
 */
export const countThrottledRequests = (): MiddlewareObj<
  ApiRequest,
  ApiResponse,
  Error,
  Context & { caller?: Caller }
> => {
  const isTenantThrottled = createThrottlingWatch(Date.now);
  return {
    onError: ({ error, context }) => {
      const cause = error instanceof ServiceError || error instanceof UnconfirmedChangeError ? error.cause : error;
      const { caller } = context;
      if (caller && isTenantThrottled(cause, caller.tenant)) count({ throttled_requests: 1 });
    },
  };
};
