import type * as z from 'zod';
import type { EndpointName } from '../../shared/contracts/endpoints.ts';
import { describeIssues } from '../../shared/contracts/text.ts';
import { badRequest, invalidLimit, notFound, unconfirmedChange } from '../../shared/domain/errors.ts';
import type { DescribedError } from './error-responses.ts';
import type { Examples } from './examples.ts';
import type { Parameter } from './parameters.ts';

/** The parts of an operation that the table of endpoints lacks. */
export type Operation = {
  summary: string;
  /** What the operation does beyond its summary. */
  details?: string;
  /** Whether the operation extends the interface that was specified before this service. */
  isExtension?: true;
  /** The parameters in the query and in headers. */
  query?: readonly Parameter[];
  /** The body of the request. `schema` is the name of its schema. */
  body?: { schema: string; description: string; examples: Examples };
  success: {
    status: 200 | 201 | 202 | 204;
    description: string;
    /** The name of the schema of the body, absent if there is none. */
    schema?: string;
    examples?: Examples;
    /** Whether the response has the header `Location`. */
    hasLocation?: true;
  };
  /** The errors in addition to those of every operation. */
  errors: readonly DescribedError[];
};

/** The operations on one kind of object, and the schemas of their bodies by name. */
export type Resource = {
  tag: { name: string; description: string };
  schemas: Record<string, z.ZodType>;
  operations: Partial<Record<EndpointName, Operation>>;
};

type FailedParse = Parameters<typeof describeIssues>[0];

/** Returns the error for a body that the parser rejects. */
export const rejectedBody = (result: { error?: FailedParse | undefined }): DescribedError => {
  if (!result.error) throw new Error('The parser accepts the example of an invalid body.');
  return { when: 'A value is invalid', error: badRequest(describeIssues(result.error)) };
};

/** Returns a response with status 200 and a body. `schema` is the name of its schema. */
export const ok = (description: string, schema: string, examples: Examples): Operation['success'] => ({
  status: 200,
  description,
  schema,
  examples,
});

/** The error for a body that is not JSON. */
export const notJson: DescribedError = { when: 'The body is not JSON', error: badRequest('body: must be valid JSON') };
/** The error for an invalid page size. */
export const badLimit: DescribedError = { when: 'The `limit` is invalid', error: invalidLimit() };
/** The error for an unknown notification. */
export const unknownNotification: DescribedError = {
  when: 'The account has no notification with this ID',
  error: notFound('The notification'),
};
/** The error for a change whose outcome is unknown. */
export const unconfirmed: DescribedError = {
  when: 'It is unknown whether the change was applied',
  error: unconfirmedChange(),
};
