/** The HTTP status of each error type (docs/decisions/api.md#error-format). */
export const errorStatus = {
  badRequest: 400,
  invalidLimit: 400,
  unauthorizedError: 401,
  forbiddenError: 403,
  notFoundError: 404,
  requestTooLargeError: 413,
  idempotencyKeyReused: 422,
  rateLimitReached: 429,
  internalError: 500,
  serviceUnavailable: 503,
} as const;
export type ErrorType = keyof typeof errorStatus;
