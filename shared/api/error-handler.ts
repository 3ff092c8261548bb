import type { MiddlewareObj } from '@middy/core';
import { isDependencyFailure } from '../adapters/aws-client.ts';
import { errorTrace, logger } from '../adapters/logger.ts';
import { errorStatus, ServiceError, unavailable } from '../domain/errors.ts';
import type { ApiRequest } from './request.ts';
import type { ApiResponse } from './response.ts';

const internalError = new ServiceError('internalError', 'The service met an unexpected condition.');

/** The one place where an error becomes what a client is told (design 2, Errors). */
const translate = (error: unknown): ServiceError => {
  if (error instanceof ServiceError) return error;
  return isDependencyFailure(error) ? unavailable(error) : internalError;
};

/** The body that every error of the API has. A 5xx never carries an exception's text. */
export const errorResponse = (
  { type, message, details, retryAfter }: ServiceError,
  requestId: string,
): ApiResponse => ({
  statusCode: errorStatus[type],
  headers: {
    'content-type': 'application/json',
    ...(retryAfter !== undefined && { 'retry-after': String(retryAfter) }),
  },
  body: JSON.stringify({ type, code: errorStatus[type], message, details, request_id: requestId }),
});

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
