import type { MiddlewareObj } from '@middy/core';
import { isDependencyFailure } from '../adapters/aws-client.ts';
import { errorTrace, logger } from '../adapters/logger.ts';
import { errorStatus } from '../contracts/errors.ts';
import { ServiceError, unavailable } from '../domain/errors.ts';
import type { ApiRequest } from './request.ts';
import { type ApiResponse, errorResponse } from './response.ts';

const internalError = new ServiceError('internalError', 'The service met an unexpected condition.');

/** The one place where an error becomes what a client is told (design 2, Errors). */
const translate = (error: unknown): ServiceError => {
  if (error instanceof ServiceError) return error;
  return isDependencyFailure(error) ? unavailable(error) : internalError;
};

/** Answers for whatever was thrown, and logs what is a fault of ours. Used first, so that it sees everybody's errors. */
export const errorHandler = (): MiddlewareObj<ApiRequest, ApiResponse> => ({
  onError: ({ event, error }) => {
    const translated = translate(error);
    const requestId = event.requestContext.requestId;
    if (errorStatus[translated.type] >= 500) {
      const { cause } = error instanceof ServiceError ? error : { cause: undefined };
      logger.error('request failed', { request_id: requestId, type: translated.type, ...errorTrace(cause ?? error) });
    }
    return errorResponse(translated, requestId);
  },
});
