import { errorResponse } from '../../shared/api/response.ts';
import { errorStatus } from '../../shared/contracts/errors.ts';
import { internalError, type ServiceError, unauthorized, unavailable } from '../../shared/domain/errors.ts';
import { schemaReference } from './common-schemas.ts';
import { EXAMPLE_REQUEST_ID, type Examples } from './examples.ts';

/** An error that an operation can return, as the service creates it, with the sentence that says when. */
export type DescribedError = { readonly when: string; readonly error: ServiceError };

/**
 * The errors that the gateway returns before or instead of a function, with messages that an HTTP API cannot change.
 * A test compares them with the local gateway.
 */
export const gatewayErrors = {
  400: { message: 'Bad Request', when: 'The request is not valid HTTP, or its path is not valid percent-encoding' },
  413: { message: 'Request Entity Too Large', when: 'The body has more than 10 MB, or 6 MB for the function' },
  429: { message: 'Too Many Requests', when: 'The requests of all tenants exceed the limit; the gateway throttles' },
  431: { message: 'Request Header Fields Too Large', when: 'The request line and the headers have more than 10 KB' },
  500: { message: 'Internal Server Error', when: 'The function failed' },
  503: { message: 'Service Unavailable', when: 'The function did not respond in time, or is throttled' },
} as const;

type GatewayStatus = keyof typeof gatewayErrors;

const isGatewayStatus = (status: number): status is GatewayStatus => Object.hasOwn(gatewayErrors, status);

/** The service sends `Retry-After` with some errors; the gateway sends none. */
const retryAfterHeader = (errors: readonly DescribedError[]) => {
  const [seconds] = errors.flatMap(({ error }) => error.retryAfterSeconds ?? []);
  if (seconds === undefined) return {};
  const description =
    'Seconds to wait before the request is repeated. Absent if the gateway responds instead of the service';
  return { 'Retry-After': { description, schema: { type: 'integer', minimum: 1 }, example: seconds } };
};

const serviceExamples = (errors: readonly DescribedError[]): Examples =>
  Object.fromEntries(
    errors.map(({ when, error }, index) => [
      errors.length === 1 ? error.type : `${error.type}${index + 1}`,
      { summary: when, value: JSON.parse(errorResponse(error, EXAMPLE_REQUEST_ID).body ?? 'null') },
    ]),
  );

const gatewayExamples = (status: number): Examples =>
  isGatewayStatus(status)
    ? { gateway: { summary: gatewayErrors[status].when, value: { message: gatewayErrors[status].message } } }
    : {};

const bodySchema = (hasService: boolean, hasGateway: boolean) => {
  if (hasService && hasGateway) return { oneOf: [schemaReference('Error'), schemaReference('GatewayError')] };
  return schemaReference(hasService ? 'Error' : 'GatewayError');
};

/** Returns the response of a status: the errors of the service, and that of the gateway if it has one. */
const errorResponseOf = (status: number, errors: readonly DescribedError[]) => {
  const hasGateway = isGatewayStatus(status);
  const reasons = [...errors.map(({ when }) => when), ...(hasGateway ? [gatewayErrors[status].when] : [])];
  const headers = {
    ...retryAfterHeader(errors),
    ...(hasGateway && { 'apigw-requestid': { $ref: '#/components/headers/GatewayRequestId' } }),
  };
  return {
    description: reasons.map((reason) => `${reason}.`).join(' '),
    ...(Object.keys(headers).length > 0 && { headers }),
    content: {
      'application/json': {
        schema: bodySchema(errors.length > 0, hasGateway),
        examples: { ...serviceExamples(errors), ...gatewayExamples(status) },
      },
    },
  };
};

/** Errors that every operation can return. */
const sharedErrors: readonly DescribedError[] = [
  { when: 'There is no valid token', error: unauthorized() },
  { when: 'An unexpected condition in the service', error: internalError() },
  { when: 'A dependency is throttled or unavailable, or changes conflict', error: unavailable() },
];

/** The names of the responses that operations without errors of their own share. */
const sharedNames = {
  400: 'BadRequest',
  401: 'Unauthorized',
  413: 'ContentTooLarge',
  429: 'TooManyRequests',
  431: 'RequestHeaderFieldsTooLarge',
  500: 'InternalServerError',
  503: 'ServiceUnavailable',
} as const;

const sharedStatuses = Object.keys(sharedNames).map(Number);

const sharedNameOf = (status: number): string | undefined => new Map(Object.entries(sharedNames)).get(String(status));

const statusOf = ({ error }: DescribedError): number => errorStatus[error.type];

const withStatus = (errors: readonly DescribedError[], status: number): DescribedError[] =>
  errors.filter((error) => statusOf(error) === status);

/** The error responses that operations share, as components. */
export const sharedResponses = Object.fromEntries(
  sharedStatuses.map((status) => [sharedNameOf(status), errorResponseOf(status, withStatus(sharedErrors, status))]),
);

/**
 * Returns the error responses of an operation by status, in ascending order.
 *
 * @param errors the errors in addition to those of every operation
 * @param hasBody whether the operation takes a body, which the gateway can reject
 */
export const errorResponses = (errors: readonly DescribedError[], hasBody: boolean): Record<string, unknown> => {
  const statuses = new Set([...errors.map(statusOf), ...sharedStatuses.filter((status) => hasBody || status !== 413)]);
  return Object.fromEntries(
    [...statuses]
      .toSorted((a, b) => a - b)
      .map((status) => {
        const own = withStatus(errors, status);
        const name = own.length === 0 ? sharedNameOf(status) : undefined;
        const response = errorResponseOf(status, [...own, ...withStatus(sharedErrors, status)]);
        return [status, name === undefined ? response : { $ref: `#/components/responses/${name}` }];
      }),
  );
};

/** The headers of error responses, as components. */
export const errorHeaders = {
  GatewayRequestId: {
    description: 'ID that the gateway gave to the request, to quote to the operators',
    schema: { type: 'string' },
    example: 'a2dd9c36-6a5f-4e56-9b0c-0f2f5a3b1c4d',
  },
};
