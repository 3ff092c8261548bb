import * as z from 'zod';
import { collection, DEFAULT_PAGE_LIMIT } from '../../shared/contracts/collection.ts';
import type { EndpointName } from '../../shared/contracts/endpoints.ts';
import { describeIssues } from '../../shared/contracts/text.ts';
import { badRequest, type ServiceError } from '../../shared/domain/errors.ts';
import { component, integer, nullable, pageLimit, referenceTo } from './schemas.ts';

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

const BASE_URL = 'https://alerts.example.com';

/** The time of all examples, ms since the epoch: 2026-11-21 21:11:18 UTC. */
export const EXAMPLE_TIME_MS = 1_795_295_478_841;

/** The ID of the request that causes an error in an example. */
export const EXAMPLE_REQUEST_ID = '6151409b-62d8-4fa3-a616-a34bad10f0ba';

/** The ID of the notification in the examples. */
export const EXAMPLE_ID = 'nt01M7W08F9Z4XGJJRVYEZQFE9R1';

/** The URL of the notification in the examples. */
export const EXAMPLE_LOCATION = `${BASE_URL}/notifications/${EXAMPLE_ID}`;

const collectionMetadata = component(
  'CollectionMetadata',
  'The position of a page in its list. Follow `next_href` until it is null',
  {
    count: integer.describe('Number of records in this page'),
    limit: pageLimit.describe('The page size'),
    marker: nullable(z.string(), 'The `marker` of the request; null for the first page'),
    next_marker: nullable(z.string(), 'The `marker` of the next page; null on the last page'),
    next_href: nullable(z.url(), 'The URL of the next page, with the same filters; null on the last page'),
  },
);

/**
 * Returns a page of records, with an example of its first page.
 *
 * @param id the name of its schema
 * @param list what the list contains, its path and, unless the example is the last page, the marker of the next one
 */
export const pageOf = (
  id: string,
  record: z.ZodType,
  example: unknown,
  { of, path, next = null }: { of: string; path: string; next?: string | null },
): Body => ({
  schema: component(id, `A page of ${of}`, {
    values: z.array(record).describe('The records of the page'),
    metadata: collectionMetadata,
  }),
  examples: {
    'The first page': collection(
      { values: [example], next },
      { limit: next === null ? DEFAULT_PAGE_LIMIT : 1, marker: null },
      { href: BASE_URL + path, query: new URLSearchParams() },
    ),
  },
});
