import type { ErrorType } from '../contracts/errors.ts';

/** An error that the API reports to the client. `errorHandler` converts it to a response. */
export class ServiceError extends Error {
  override readonly name = 'ServiceError';
  readonly type: ErrorType;
  /** What failed and the rule that applies, as the client receives it. */
  readonly details: string;
  /** Seconds until the client may retry, for 429 and 503. */
  readonly retryAfterSeconds: number | undefined;

  constructor(
    type: ErrorType,
    message: string,
    options: { details?: string; retryAfterSeconds?: number; cause?: unknown } = {},
  ) {
    super(message, { cause: options.cause });
    this.type = type;
    this.details = options.details ?? message;
    this.retryAfterSeconds = options.retryAfterSeconds;
  }
}

/** 400: `details` lists every invalid field with its rule. */
export const badRequest = (details: string): ServiceError =>
  new ServiceError('badRequest', 'The request holds an invalid value.', { details });

/** 404: the same for unknown resources and those of other tenants (DECISIONS.md#not-found). */
export const notFound = (what: string): ServiceError => new ServiceError('notFoundError', `${what} was not found.`);

/** 503: a dependency is unreachable or throttled; the client may retry. */
export const unavailable = (cause?: unknown): ServiceError =>
  new ServiceError('serviceUnavailable', 'The service is busy. Try again later.', { retryAfterSeconds: 2, cause });
