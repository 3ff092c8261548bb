import * as z from 'zod';
import { MAX_PAGE_LIMIT } from '../collection.ts';
import { errorStatus } from '../errors.ts';

/*
 * The schemas of this folder describe the bodies of responses. The OpenAPI document is generated from them. Functions
 * import only their types: a test refuses bundles with them. Schemas with an `id` are components of the document.
 */

/** 1 to `maxLength` code points. */
export const text = (maxLength: number) => z.string().min(1).max(maxLength);
export const string = (description: string) => z.string().describe(description);
export const nullable = <Schema extends z.ZodType>(schema: Schema, description: string) =>
  schema.nullable().describe(description);
export const integer = z.number().meta({ type: 'integer' });
export const timestamp = (meaning: string) => integer.describe(`${meaning}, in milliseconds since the Unix epoch`);
export const pageLimit = z.int().min(1).max(MAX_PAGE_LIMIT);

export const component = <Shape extends z.ZodRawShape>(id: string, description: string, shape: Shape) =>
  z.object(shape).meta({ id, description });

/** docs/api.md#paging */
const collectionMetadata = component(
  'CollectionMetadata',
  'The position of a page in its list. Follow `next_href` until it is null',
  {
    count: integer.describe('Number of records in this page'),
    limit: pageLimit.describe('The page size'),
    marker: nullable(z.string(), 'The `marker` of the request; null for the first page'),
    next_marker: nullable(z.string(), 'The `marker` of the next page; null on the last page'),
    next_href: nullable(
      z.string().meta({ format: 'uri' }),
      'The URL of the next page, with the same filters; null on the last page',
    ),
  },
);

export const collectionOf = <Schema extends z.ZodType>(id: string, list: string, record: Schema) =>
  component(id, `A page of ${list}`, {
    values: z.array(record).describe('The records of the page'),
    metadata: collectionMetadata,
  });

export type Collection<Record> = { values: Record[]; metadata: z.infer<typeof collectionMetadata> };

/** docs/api.md#errors */
export const error = component('Error', 'An error of the service', {
  type: z.enum(Object.keys(errorStatus)).describe('The kind of error'),
  code: integer.describe('The HTTP status'),
  message: string('What failed, in one sentence'),
  details: string('Each invalid field with its rule, or the limit that is reached with its value'),
  request_id: string('ID of the request, to quote to the operators'),
});
export type ErrorBody = z.infer<typeof error>;
