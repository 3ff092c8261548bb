import { isDeepStrictEqual } from 'node:util';
import * as z from 'zod';
import { collection } from '../../shared/api/request.ts';
import { MAX_AUDIT_TEXT_LENGTH } from '../../shared/contracts/audit.ts';
import { DEFAULT_PAGE_LIMIT, MAX_TIME_MS } from '../../shared/contracts/collection.ts';
import type { EndpointName } from '../../shared/contracts/endpoints.ts';
import { pageLimit } from '../../shared/contracts/responses/schemas.ts';
import { describeIssues } from '../../shared/contracts/text.ts';
import { badRequest, type ServiceError } from '../../shared/domain/errors.ts';
import { BASE_URL, EXAMPLE_ID } from './examples.ts';

/*
 * The request parsers count code points and keep keys such as `__proto__`, so they are custom zod types, which have no
 * JSON Schema. The schemas of this folder describe the same rules, with limits imported from the parsers. Schemas with
 * an `id` are components of the document.
 */

export const parameter = (schema: z.ZodType, description: string, example: unknown): z.ZodType =>
  schema.meta({ description, example });

export const referenceTo = (id: string) => ({ $ref: `#/components/schemas/${id}` });

export const referenceOr = <Value>(section: string, components: Readonly<Record<string, Value>>, value: Value) => {
  const [name] = Object.entries(components).find(([, component]) => isDeepStrictEqual(component, value)) ?? [];
  return name === undefined ? value : { $ref: `#/components/${section}/${name}` };
};

/** With `$schema` and `$id`, a schema would be a document of its own, whose references do not resolve. */
const embedded = ({ $schema, $id, id, ...schema }: z.core.JSONSchema.BaseSchema) => schema;

export const jsonSchemaOf = (schema: z.ZodType) => embedded(z.toJSONSchema(schema, { io: 'input' }));

/** Returns the JSON Schemas of all zod schemas with an ID, by their IDs. */
export const componentSchemas = () => {
  const { schemas } = z.toJSONSchema(z.globalRegistry, { io: 'input', uri: (id) => referenceTo(id).$ref });
  return Object.fromEntries(Object.entries(schemas).map(([id, schema]) => [id, embedded(schema)]));
};

/** The body of a request or response: a schema with an ID and a description, and examples by what they show. */
export type Body = { schema: z.ZodType; examples: Readonly<Record<string, unknown>> };

/** The parts of an operation that the table of endpoints lacks. */
export type Operation = {
  summary: string;
  /** What the operation does beyond its summary. */
  details?: string;
  query?: Readonly<Record<string, z.ZodType>>;
  headers?: Readonly<Record<string, z.ZodType>>;
  request?: Body;
  /** The status of success. Default: 200 with a body, 204 without */
  status?: 201 | 202;
  response?: Body;
  /** What the response has with `Prefer: return=representation`, with the status 201 or 200. Without, it has no body. */
  representation?: Body;
  /** Whether the response has the header `Location`. */
  hasLocation?: true;
  /** The errors in addition to those that follow from the path, `limit` and the body, and those of every operation. */
  errors?: readonly ServiceError[];
};

export type Resource = {
  tag: { name: string; description: string };
  operations: Partial<Record<EndpointName, Operation>>;
};

export const contentOf = ({ schema, examples }: Body) => ({
  'application/json': {
    schema: referenceTo(schema.meta()?.id ?? ''),
    examples: Object.fromEntries(Object.entries(examples).map(([name, value]) => [name, { value }])),
  },
});

type FailedParse = Parameters<typeof describeIssues>[0];

export const rejectedBody = ({ error }: { error?: FailedParse | undefined }): ServiceError => {
  if (!error) throw new Error('The parser accepts the example of an invalid body.');
  return badRequest(describeIssues(error));
};

/** Returns the first page of a list with one record. `next` is the marker of the next page. */
export const pageOf = (schema: z.ZodType, example: unknown, path: string, next: string | null = null): Body => ({
  schema,
  examples: {
    'The first page': collection(
      { values: [example], next },
      { limit: next === null ? DEFAULT_PAGE_LIMIT : 1, marker: null },
      { href: BASE_URL + path, query: new URLSearchParams() },
    ),
  },
});

export const parametersIn = (
  location: 'path' | 'query' | 'header',
  schemas: Readonly<Record<string, z.ZodType>>,
  required = location === 'path',
) =>
  Object.entries(schemas).map(([name, zodSchema]) => {
    const { description, example, ...schema } = jsonSchemaOf(zodSchema);
    return { name, in: location, required, description, schema, example };
  });

export const time = (meaning: string, example: number) =>
  parameter(z.int().min(0).max(MAX_TIME_MS), `${meaning}, in milliseconds since the Unix epoch`, example);

export const limit = parameter(
  pageLimit.default(DEFAULT_PAGE_LIMIT),
  'The maximum number of records in the page',
  DEFAULT_PAGE_LIMIT,
);

export const markerLike = (example: string) =>
  parameter(z.string(), 'The `next_marker` of the previous page: the ID that the page starts with', example);

const truncated = `for the audit; truncated to ${MAX_AUDIT_TEXT_LENGTH} characters`;

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

/** The objects whose IDs are in paths, by the start of the path. */
const pathParameters = {
  '/notifications/{id}': pathParameter('notification', EXAMPLE_ID),
  '/notification_types/{id}': pathParameter('notification type', 'webhook'),
  '/tokens/{id}': pathParameter('token', 'tk01M7ZZ2AQ9MC8P6P3KH5Y23K83'),
};

export const objectInPath = (path: string) =>
  Object.entries(pathParameters).find(([start]) => path.startsWith(start))?.[1];

/** The parameters of several operations, as components. */
export const sharedParameters = Object.fromEntries(
  [...parametersIn('query', { limit, ...auditTexts }), ...parametersIn('header', preferences(false))].map((shared) => [
    shared.name,
    shared,
  ]),
);
