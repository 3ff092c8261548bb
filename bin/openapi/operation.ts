import type * as z from 'zod';
import { collection } from '../../shared/api/paging.ts';
import { DEFAULT_PAGE_LIMIT } from '../../shared/contracts/collection.ts';
import type { EndpointName } from '../../shared/contracts/endpoints.ts';
import { describeIssues } from '../../shared/contracts/text.ts';
import { badRequest, type ServiceError } from '../../shared/domain/errors.ts';
import { BASE_URL } from './examples.ts';
import { referenceTo } from './schemas.ts';

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

/** The operations on one kind of object. */
export type Resource = {
  tag: { name: string; description: string };
  operations: Partial<Record<EndpointName, Operation>>;
};

/** Returns the JSON content of a body. */
export const contentOf = ({ schema, examples }: Body) => ({
  'application/json': {
    schema: referenceTo(schema.meta()?.id ?? ''),
    examples: Object.fromEntries(Object.entries(examples).map(([name, value]) => [name, { value }])),
  },
});

type FailedParse = Parameters<typeof describeIssues>[0];

/** Returns the error for a body that the parser rejects. */
export const rejectedBody = ({ error }: { error?: FailedParse | undefined }): ServiceError => {
  if (!error) throw new Error('The parser accepts the example of an invalid body.');
  return badRequest(describeIssues(error));
};

/**
 * Returns a page of records, with an example of its first page.
 *
 * @param path the path of the list
 * @param next the marker of the next page, unless the example is the last one
 */
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
