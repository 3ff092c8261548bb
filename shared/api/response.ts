import type { APIGatewayProxyStructuredResultV2 } from 'aws-lambda';
import { errorStatus } from '../contracts/errors.ts';
import type { ErrorBody } from '../contracts/responses/schemas.ts';
import { notificationTooLarge, type ServiceError } from '../domain/errors.ts';

/** A response of the HTTP API (payload format 2.0). */
export type ApiResponse = APIGatewayProxyStructuredResultV2;

/** Lambda returns at most 6 MB, headers and JSON escapes included (AWS limit). */
export const MAX_BODY_BYTES = 5.5 * 1024 * 1024;

/** Returns the size of a value in a Lambda response, which contains its JSON as a JSON string. */
export const responseBytes = (value: unknown): number => Buffer.byteLength(JSON.stringify(JSON.stringify(value)));

const jsonResponse = (statusCode: 200 | 201 | 202, body: unknown): ApiResponse => ({
  statusCode,
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify(body),
});

export const ok = (body: unknown): ApiResponse => jsonResponse(200, body);

export const created = (body: unknown): ApiResponse => jsonResponse(201, body);

export const accepted = (body: unknown): ApiResponse => jsonResponse(202, body);

export const locationResponse = (statusCode: 201 | 204, location: string): ApiResponse => ({
  statusCode,
  headers: { location },
});

export const noContent: ApiResponse = { statusCode: 204 };

/** Adds a preference of the request that was applied (RFC 7240, section 3), such as `handling=strict`. */
export const withPreferenceApplied = (response: ApiResponse, preference: string | undefined): ApiResponse => {
  if (preference === undefined) return response;
  const others = response.headers?.['preference-applied'];
  const applied = others === undefined ? preference : `${others}, ${preference}`;
  return { ...response, headers: { ...response.headers, 'preference-applied': applied } };
};

/** Returns the response to an error. A 5xx never contains the message of an exception. */
export const errorResponse = (
  { type, message, details, retryAfterSeconds }: ServiceError,
  requestId: string,
): ApiResponse => ({
  statusCode: errorStatus[type],
  headers: {
    'content-type': 'application/json',
    ...(retryAfterSeconds !== undefined && { 'retry-after': String(retryAfterSeconds) }),
  },
  body: JSON.stringify({
    type,
    code: errorStatus[type],
    message,
    details,
    request_id: requestId,
  } satisfies ErrorBody),
});

/** Rejects a notification that would not fit into one response. @throws ServiceError 413 */
export const assertFitsResponse = (record: unknown): void => {
  if (responseBytes(record) > MAX_BODY_BYTES) throw notificationTooLarge(MAX_BODY_BYTES);
};
