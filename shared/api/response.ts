import type { APIGatewayProxyStructuredResultV2 } from 'aws-lambda';
import { errorStatus } from '../contracts/errors.ts';
import { ServiceError } from '../domain/errors.ts';

/** An answer of a handler, as the HTTP API takes it (payload format 2.0). */
export type ApiResponse = APIGatewayProxyStructuredResultV2;

/** The most bytes of body that an answer may have: a Lambda gives at most 6 MB, headers and JSON escapes included. */
export const MAX_BODY_BYTES = 5.5 * 1024 * 1024;

/** The bytes that a value takes in a Lambda's answer, where its JSON stands inside a JSON string. */
export const responseBytes = (value: unknown): number => Buffer.byteLength(JSON.stringify(JSON.stringify(value)));

/** 200 with a JSON body. */
export const ok = (body: unknown): ApiResponse => ({
  statusCode: 200,
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify(body),
});

/** An answer that only points to a notification: 201 for a new one, 204 for one that was updated. */
export const locationResponse = (statusCode: 201 | 204, location: string): ApiResponse => ({
  statusCode,
  headers: { location },
});

/** 204 without anything. */
export const noContent: ApiResponse = { statusCode: 204 };

/** The body that every error of the API has. A 5xx never carries an exception's text. */
export const errorResponse = (
  { type, message, details, retryAfterSeconds }: ServiceError,
  requestId: string,
): ApiResponse => ({
  statusCode: errorStatus[type],
  headers: {
    'content-type': 'application/json',
    ...(retryAfterSeconds !== undefined && { 'retry-after': String(retryAfterSeconds) }),
  },
  body: JSON.stringify({ type, code: errorStatus[type], message, details, request_id: requestId }),
});

/** Refuses a notification that could be stored but never be read in one answer. @throws ServiceError 413 */
export const assertFitsResponse = (record: unknown): void => {
  if (responseBytes(record) > MAX_BODY_BYTES) {
    throw new ServiceError('requestTooLargeError', 'The notification is too large.', {
      details: `body: the notification must take at most ${MAX_BODY_BYTES} bytes when it is read`,
    });
  }
};
