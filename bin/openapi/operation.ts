import type * as z from 'zod';
import { collection } from '../../shared/contracts/collection.ts';
import type { EndpointName } from '../../shared/contracts/endpoints.ts';
import { describeIssues } from '../../shared/contracts/text.ts';
import { badRequest, type ServiceError } from '../../shared/domain/errors.ts';
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

/** Returns the first page of a list, which is the last one unless there is a next marker. */
export const firstPage = (path: string, values: unknown[], next: string | null = null) =>
  collection(
    { values, next },
    { limit: next === null ? 50 : values.length, marker: null },
    { href: BASE_URL + path, query: new URLSearchParams() },
  );
