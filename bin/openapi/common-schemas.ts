import * as z from 'zod';
import { DEFAULT_PAGE_LIMIT, MAX_PAGE_LIMIT } from '../../shared/contracts/collection.ts';
import { MAX_LABEL_LENGTH } from '../../shared/contracts/notification.ts';

/*
 * The request parsers count code points and keep keys such as `__proto__`, so they are custom zod types, which have no
 * JSON Schema. The schemas of this folder describe the same rules, with limits imported from the parsers.
 */

/** Returns a reference to a schema of the OpenAPI document. */
export const schemaReference = (name: string) => ({ $ref: `#/components/schemas/${name}` });

/** A text of 1 to `maxLength` code points. */
export const text = (maxLength: number) => z.string().min(1).max(maxLength);
/** An integer of any size. */
export const integer = z.number().meta({ type: 'integer' });
/** A time. `meaning` says which. */
export const timestamp = (meaning: string) => integer.describe(`${meaning}, in milliseconds since the Unix epoch`);

/** A label of a notification or token. */
export const label = text(MAX_LABEL_LENGTH).describe('Friendly name');
const pageLimit = z.int().min(1).max(MAX_PAGE_LIMIT);
/** The metadata of a page. */
export const collectionMetadata = z
  .object({
    count: integer.describe('Number of records in this page'),
    limit: pageLimit.describe('The page size'),
    marker: z.string().nullable().describe('The `marker` of the request; null for the first page'),
    next_marker: z.string().nullable().describe('The `marker` of the next page; null on the last page'),
    next_href: z.url().nullable().describe('The URL of the next page, with the same filters; null on the last page'),
  })
  .describe('The position of a page in its list. Follow `next_href` until it is null');
/** A page of records. `what` names them. */
export const collectionOf = (record: z.ZodType, what: string) =>
  z
    .object({ values: z.array(record).describe('The records of the page'), metadata: collectionMetadata })
    .describe(`A page of ${what}`);

/**
 * Returns a schema without `$schema` and `$id`, with which it would be a separate document whose references do not
 * resolve.
 */
export const embedded = ({ $schema, $id, ...schema }: z.core.JSONSchema.BaseSchema) => schema;

/** The JSON Schema of the query parameter `limit`. */
export const limitParameterSchema = embedded(z.toJSONSchema(pageLimit.default(DEFAULT_PAGE_LIMIT), { io: 'input' }));
