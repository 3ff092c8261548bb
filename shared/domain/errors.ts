/** The types of error that the API's clients see, each with its HTTP status (design 2, Errors). */
export const errorStatus = {
  badRequest: 400,
  invalidLimit: 400,
  unauthorizedError: 401,
  forbiddenError: 403,
  notFoundError: 404,
  requestTooLargeError: 413,
  rateLimitReached: 429,
  internalError: 500,
  serviceUnavailable: 503,
} as const;

/** The type of an error, as error bodies name it. */
export type ErrorType = keyof typeof errorStatus;

/** A failure that is meant for the client: thrown anywhere below a handler, translated once by the API's edge. */
export class ServiceError extends Error {
  override readonly name = 'ServiceError';
  readonly type: ErrorType;
  /** Names what failed and the rule; may be shown to the client. */
  readonly details: string;
  /** Seconds after which the client may try again, for 429 and 503. */
  readonly retryAfter: number | undefined;

  constructor(
    type: ErrorType,
    message: string,
    options: { details?: string; retryAfter?: number; cause?: unknown } = {},
  ) {
    super(message, { cause: options.cause });
    this.type = type;
    this.details = options.details ?? message;
    this.retryAfter = options.retryAfter;
  }
}

/** 400: `details` names every failed field and its rule. */
export const badRequest = (details: string): ServiceError =>
  new ServiceError('badRequest', 'The request holds an invalid value.', { details });

/** 404: also for what belongs to another tenant, which must look the same as what never was. */
export const notFound = (what: string): ServiceError => new ServiceError('notFoundError', `${what} was not found.`);

/** 503: a dependency is unreachable or throttles us; the client may try again. */
export const unavailable = (cause?: unknown): ServiceError =>
  new ServiceError('serviceUnavailable', 'The service is busy. Try again later.', { retryAfter: 2, cause });
