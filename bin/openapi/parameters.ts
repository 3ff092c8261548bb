import * as z from 'zod';
import { MAX_AUDIT_TEXT_LENGTH } from '../../shared/contracts/audit.ts';
import { DEFAULT_PAGE_LIMIT } from '../../shared/contracts/collection.ts';
import { MAX_TIME_MS } from '../../shared/contracts/redelivery.ts';
import { pageLimit } from '../../shared/contracts/responses/schemas.ts';
import { EXAMPLE_ID } from './examples.ts';
import { jsonSchemaOf, parameter } from './schemas.ts';

/** Returns the parameters with these schemas, each with a description and an example. */
export const parametersIn = (
  location: 'path' | 'query' | 'header',
  schemas: Readonly<Record<string, z.ZodType>>,
  required = location === 'path',
) =>
  Object.entries(schemas).map(([name, zodSchema]) => {
    const { description, example, ...schema } = jsonSchemaOf(zodSchema);
    return { name, in: location, required, description, schema, example };
  });

/** Returns the parameter for a time. */
export const time = (meaning: string, example: number) =>
  parameter(z.int().min(0).max(MAX_TIME_MS), `${meaning}, in milliseconds since the Unix epoch`, example);

/** The size of the page. */
export const limit = parameter(
  pageLimit.default(DEFAULT_PAGE_LIMIT),
  'The maximum number of records in the page',
  DEFAULT_PAGE_LIMIT,
);

/** Returns the marker of lists whose pages start with an ID. */
export const markerLike = (example: string) =>
  parameter(z.string(), 'The `next_marker` of the previous page: the ID that the page starts with', example);

const truncated = `for the audit; truncated to ${MAX_AUDIT_TEXT_LENGTH} characters`;

/** The parameters of every change. */
export const auditTexts = {
  _who: parameter(z.string(), `Who makes the change, ${truncated}`, 'jane'),
  _why: parameter(z.string(), `The reason of the change, ${truncated}`, 'New on-call rotation'),
};

const STRICT =
  '`handling=strict`: unknown query parameters and attributes of the body, and malformed markers, return 400';
const RETURN = '`return=representation`: the response contains the notification';

/** Returns the preferences of the operations that existing clients use (RFC 7240). */
export const preferences = (hasRepresentation: boolean) => ({
  Prefer: hasRepresentation
    ? parameter(z.string(), `${STRICT}. ${RETURN}`, 'return=representation, handling=strict')
    : parameter(z.string(), STRICT, 'handling=strict'),
});

const pathParameter = (object: string, example: string) => ({
  object,
  schema: parameter(z.string(), `ID of the ${object}`, example),
});

/** The objects whose IDs are in paths. */
export const pathParameters = {
  notificationId: pathParameter('notification', EXAMPLE_ID),
  notificationTypeId: pathParameter('notification type', 'webhook'),
  tokenId: pathParameter('token', 'tk01M7ZZ2AQ9MC8P6P3KH5Y23K83'),
};

/** The parameters of several operations, as components. */
export const sharedParameters = Object.fromEntries(
  [
    ...parametersIn('path', { notificationId: pathParameters.notificationId.schema }),
    ...parametersIn('query', { limit, ...auditTexts }),
    ...parametersIn('header', preferences(false)),
  ].map((shared) => [shared.name, shared]),
);
