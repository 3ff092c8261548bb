import type { MiddlewareObj } from '@middy/core';
import type { Context } from 'aws-lambda';
import { isDependencyFailure } from '../adapters/aws-client.ts';
import { UnconfirmedChangeError } from '../adapters/dynamodb/errors.ts';
import { createThrottlingWatch } from '../adapters/dynamodb/key-throttling.ts';
import { errorTrace, logger } from '../adapters/logger.ts';
import { count } from '../adapters/metrics.ts';
import { errorStatus } from '../contracts/errors.ts';
import type { Caller } from '../domain/authorization.ts';
import { internalError, ServiceError, unavailable, unconfirmedChange } from '../domain/errors.ts';
import type { ApiRequest } from './request.ts';
import { type ApiResponse, errorResponse, withPreferenceApplied } from './response.ts';

/** Maps any error to the error of the response (docs/decisions/api.md#error-format). */
const toServiceError = (error: unknown): ServiceError => {
  if (error instanceof ServiceError) return error;
  if (error instanceof UnconfirmedChangeError) return unconfirmedChange(error);
  return isDependencyFailure(error) ? unavailable(error) : internalError();
};

/** What is known of a request when an error is thrown. */
type ErrorContext = Context & { caller?: Caller; appliedPreference?: string | undefined };

/**
 * Responds to thrown errors, and logs those with a 5xx status. It counts those that occur because DynamoDB throttles
 * only the caller's partition, so that alarms can exclude them. It must be the first middleware, to handle errors of all
 * others.
 */
export const errorHandler = (): MiddlewareObj<ApiRequest, ApiResponse, Error, ErrorContext> => {
  const isTenantThrottled = createThrottlingWatch(Date.now);
  return {
    onError: ({ event, error, context: { caller, appliedPreference } }) => {
      const serviceError = toServiceError(error);
      const requestId = event.requestContext.requestId;
      const reason = error instanceof ServiceError || error instanceof UnconfirmedChangeError ? error.cause : error;
      if (caller && isTenantThrottled(reason, caller.tenant)) count({ throttled_requests: 1 });
      if (errorStatus[serviceError.type] >= 500) {
        const { cause } = error instanceof ServiceError ? error : { cause: undefined };
        logger.error('request failed', {
          request_id: requestId,
          type: serviceError.type,
          ...errorTrace(cause ?? error),
        });
      }
      return withPreferenceApplied(errorResponse(serviceError, requestId), appliedPreference);
    },
  };
};
