import { STATUS_CODES } from 'node:http';
import * as z from 'zod';
import { errorResponse } from '../../shared/api/response.ts';
import { auditParameters, type Permission } from '../../shared/contracts/endpoints.ts';
import { errorStatus } from '../../shared/contracts/errors.ts';
import { string } from '../../shared/contracts/responses/schemas.ts';
import { unknownNameErrors } from '../../shared/contracts/unknown-names.ts';
import {
  badRequest,
  internalError,
  invalidLimit,
  malformedMarker,
  notFound,
  notPermitted,
  type ServiceError,
  unauthorized,
  unavailable,
  unconfirmedChange,
} from '../../shared/domain/errors.ts';
import { EXAMPLE_REQUEST_ID } from './examples.ts';
import { referenceOr, referenceTo } from './operation.ts';

z.strictObject({ message: string('The name of the HTTP status') }).meta({
  id: 'GatewayError',
  description: 'An error of the gateway in front of the service. Quote the response header `apigw-requestid`',
});

/** The errors of the gateway, which an HTTP API cannot change. A test compares them with the local gateway. */
export const gatewayErrors = {
  400: { message: 'Bad Request', when: 'The request is not valid HTTP, or its path is not valid percent-encoding.' },
  413: { message: 'Request Entity Too Large', when: 'The body has more than 10 MB, or 6 MB for the function.' },
  429: { message: 'Too Many Requests', when: 'The requests of all tenants exceed the limit; the gateway throttles.' },
  431: { message: 'Request Header Fields Too Large', when: 'The request line and the headers have more than 10 KB.' },
  500: { message: 'Internal Server Error', when: 'The function failed.' },
  503: { message: 'Service Unavailable', when: 'The function did not respond in time, or is throttled.' },
} as const;

const gatewayErrorOf = (status: number) => new Map(Object.entries(gatewayErrors)).get(String(status));

export const forbidden = (permission: Permission): ServiceError =>
  // Every role may read. But after a rollback, a token can have a role that the running version does not know.
  notPermitted(permission === 'read' ? 'auditor' : 'observer', permission);

/** Errors of several operations, by the names of their examples. */
const namedErrors = {
  UnknownParameter: badRequest(unknownNameErrors('query parameter', ['_whi'], auditParameters).join('; ')),
  InvalidToken: unauthorized(),
  InternalError: internalError(),
  Busy: unavailable(),
  InvalidLimit: invalidLimit(),
  MalformedMarker: malformedMarker(),
  InvalidJson: badRequest('body: must be valid JSON'),
  ForbiddenToRead: forbidden('read'),
  ForbiddenToAdminister: forbidden('administer'),
  NotificationNotFound: notFound('The notification'),
  UnconfirmedChange: unconfirmedChange(),
};

const { UnknownParameter, InvalidToken, InternalError, Busy, InvalidLimit, MalformedMarker } = namedErrors;

const sharedErrors = [UnknownParameter, InvalidToken, InternalError, Busy];

/** Errors that are alone in the responses of several operations. */
const loneErrors = ['ForbiddenToRead', 'ForbiddenToAdminister', 'NotificationNotFound', 'UnconfirmedChange'] as const;

const statusOf = ({ type }: ServiceError): number => errorStatus[type];

const sharedStatuses = [...new Set([...Object.keys(gatewayErrors).map(Number), ...sharedErrors.map(statusOf)])];

const exampleOf = (error: ServiceError) => ({
  value: JSON.parse(errorResponse(error, EXAMPLE_REQUEST_ID).body ?? 'null'),
});

/** The examples of errors of several operations, as components. */
export const sharedExamples = Object.fromEntries([
  ...Object.entries(namedErrors).map(([name, error]) => [name, exampleOf(error)]),
  ...Object.entries(gatewayErrors).map(([status, { message }]) => [`Gateway${status}`, { value: { message } }]),
]);

/** The header of the preferences that were applied, which every authenticated request can have. */
export const preferenceApplied = { 'Preference-Applied': { $ref: '#/components/headers/PreferenceApplied' } };

/** The service sends `Retry-After` with some errors; the gateway sends none. */
const retryAfterHeader = (seconds: number) => ({
  'Retry-After': {
    description:
      'Seconds to wait before the request is repeated. Absent if the gateway responds instead of the service',
    schema: { type: 'integer', minimum: 1 },
    example: seconds,
  },
});

/** Returns the response of a status: these errors of the service, those of every operation, and that of the gateway. */
const responseOf = (status: number, ownErrors: readonly ServiceError[]) => {
  const errors = [...ownErrors, ...sharedErrors.filter((error) => statusOf(error) === status)];
  const gateway = gatewayErrorOf(status);
  const [retryAfter] = errors.flatMap(({ retryAfterSeconds }) => retryAfterSeconds ?? []);
  const schemas = [...(errors.length > 0 ? ['Error'] : []), ...(gateway ? ['GatewayError'] : [])].map(referenceTo);
  const examples = errors.map((error) => {
    const [name] = Object.entries(namedErrors).find(([, { details }]) => details === error.details) ?? [];
    return [error.details, name === undefined ? exampleOf(error) : { $ref: `#/components/examples/${name}` }];
  });
  const reasons = new Set([...errors.map(({ message }) => message), ...(gateway ? [gateway.when] : [])]);
  return {
    description: [...reasons].join(' '),
    headers: {
      ...(retryAfter !== undefined && retryAfterHeader(retryAfter)),
      ...(errors.length > 0 && status !== 401 && preferenceApplied),
      ...(gateway && { 'apigw-requestid': { $ref: '#/components/headers/GatewayRequestId' } }),
    },
    content: {
      'application/json': {
        schema: schemas.length > 1 ? { oneOf: schemas } : schemas[0],
        examples: {
          ...Object.fromEntries(examples),
          ...(gateway && { gateway: { $ref: `#/components/examples/Gateway${status}` } }),
        },
      },
    },
  };
};

const nameOf = (status: number): string => STATUS_CODES[status]?.replaceAll(' ', '') ?? '';

/** The error responses of several operations, as components. */
export const sharedResponses = Object.fromEntries([
  ...sharedStatuses.map((status) => [nameOf(status), responseOf(status, [])]),
  ...loneErrors.map((name) => [name, responseOf(statusOf(namedErrors[name]), [namedErrors[name]])]),
  ['InvalidPage', responseOf(400, [InvalidLimit, MalformedMarker])],
]);

/** Returns the error responses of an operation by status: these, and those of every operation. */
export const errorResponses = (errors: readonly ServiceError[], hasBody: boolean): Record<string, unknown> =>
  Object.fromEntries(
    [...errors.map(statusOf), ...sharedStatuses.filter((status) => hasBody || status !== 413)].map((status) => {
      const own = errors.filter((error) => statusOf(error) === status);
      return [status, referenceOr('responses', sharedResponses, responseOf(status, own))];
    }),
  );

export const responseHeaders = {
  PreferenceApplied: {
    description: 'The preferences of the header `Prefer` that were applied',
    schema: { type: 'string' },
    example: 'handling=strict',
  },
  GatewayRequestId: {
    description: 'ID that the gateway gave to the request, to quote to the operators',
    schema: { type: 'string' },
    example: 'a2dd9c36-6a5f-4e56-9b0c-0f2f5a3b1c4d',
  },
};
