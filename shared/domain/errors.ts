import { MARKER_RULE, MAX_PAGE_LIMIT } from '../contracts/collection.ts';
import type { Permission } from '../contracts/endpoints.ts';
import type { ErrorType } from '../contracts/errors.ts';
import { nextDay, secondsToNextDay } from './time.ts';

/** `errorHandler` converts it to a response. */
export class ServiceError extends Error {
  override readonly name = 'ServiceError';
  readonly type: ErrorType;
  /** What failed and the rule that applies, as the client receives it. */
  readonly details: string;
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

/* All errors of the API are created here: they are the examples of the OpenAPI document. */

/** `details` lists every invalid field with its rule. */
export const badRequest = (details: string): ServiceError =>
  new ServiceError('badRequest', 'The request holds an invalid value.', { details });

export const noSigningSecret = (): ServiceError =>
  badRequest('type: only notifications of type webhook have a signing secret');

export const unknownFallbacks = (ids: readonly string[]): ServiceError =>
  badRequest(`escalation_notifications: must be IDs of your notifications; unknown: ${ids.join(', ')}`);

export const malformedMarker = (): ServiceError => badRequest(`marker: ${MARKER_RULE}`);

export const invalidLimit = (): ServiceError =>
  new ServiceError('invalidLimit', 'The limit is invalid.', {
    details: `limit: must be a whole number from 1 to ${MAX_PAGE_LIMIT}`,
  });

export const unauthorized = (): ServiceError =>
  new ServiceError('unauthorizedError', 'The request was not authenticated.', {
    details: 'X-Auth-Token: must hold a valid authentication token',
  });

const permittedAction = (permission: Permission): string =>
  permission === 'administer' ? 'administer the account' : `${permission} notifications`;

export const notPermitted = (role: string, permission: Permission): ServiceError =>
  new ServiceError('forbiddenError', 'The request is not permitted.', {
    details: `X-Auth-Token: a token of role ${role} may not ${permittedAction(permission)}`,
  });

export const notificationLimitReached = (limit: number): ServiceError =>
  new ServiceError('forbiddenError', 'The account has as many notifications as it may have.', {
    details: `notificationsPerTenant: at most ${limit} notifications in an account`,
  });

export const tokenLimitReached = (limit: number): ServiceError =>
  new ServiceError('forbiddenError', 'The account has as many tokens as it may have.', {
    details: `tokens: at most ${limit} unexpired tokens in an account`,
  });

export const lastAdminToken = (): ServiceError =>
  new ServiceError('forbiddenError', 'The last admin token cannot be revoked.', {
    details: 'id: is the only unexpired token of role admin; create another one first',
  });

export const defaultNotificationFixed = (id: string): ServiceError =>
  new ServiceError('forbiddenError', 'The default notification cannot be changed.', {
    details: `id: ${id} belongs to every account and can be neither updated nor deleted`,
  });

/** The same for unknown resources and those of other tenants (docs/decisions/api.md#not-found). */
export const notFound = (what: string): ServiceError => new ServiceError('notFoundError', `${what} was not found.`);

export const idempotencyKeyReused = (): ServiceError =>
  new ServiceError('idempotencyKeyReused', 'The idempotency key was used for another request.', {
    details: 'Idempotency-Key: was used with another body in the last 24 hours',
  });

export const notificationTooLarge = (maxBytes: number): ServiceError =>
  new ServiceError('requestTooLargeError', 'The notification is too large.', {
    details: `body: the notification must take at most ${maxBytes} bytes when it is read`,
  });

export const testLimitReached = (limit: number, nowMs: number): ServiceError =>
  new ServiceError('rateLimitReached', 'The daily limit of tests is reached.', {
    details: `at most ${limit} tests in a day (UTC)`,
    retryAfterSeconds: secondsToNextDay(nowMs),
  });

export const redeliveryLimitReached = (limit: number, nowMs: number): ServiceError =>
  new ServiceError('rateLimitReached', 'The daily limit of redeliveries is reached.', {
    details: `redeliveriesPerTenantPerDay: at most ${limit} redeliveries in a day (UTC), which ends at ${nextDay(nowMs)}`,
    retryAfterSeconds: secondsToNextDay(nowMs),
  });

/** Contains nothing of the exception. */
export const internalError = (): ServiceError =>
  new ServiceError('internalError', 'The service met an unexpected condition.');

export const unavailable = (cause?: unknown): ServiceError =>
  new ServiceError('serviceUnavailable', 'The service is busy. Try again later.', { retryAfterSeconds: 2, cause });

export const tooManyTests = (limit: number): ServiceError =>
  new ServiceError('serviceUnavailable', 'Too many tests run at once. Try again later.', {
    details: `at most ${limit} tests at a time in an account`,
    retryAfterSeconds: 2,
  });

export const unconfirmedChange = (cause?: unknown): ServiceError =>
  new ServiceError('serviceUnavailable', 'It is unknown whether the change was applied.', {
    details: 'Check whether the change was applied before you repeat the request.',
    retryAfterSeconds: 2,
    cause,
  });
