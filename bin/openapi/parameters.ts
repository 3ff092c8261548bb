import * as z from 'zod';
import { MAX_AUDIT_TEXT_LENGTH } from '../../shared/contracts/audit.ts';
import { DEFAULT_PAGE_LIMIT } from '../../shared/contracts/collection.ts';
import { MAX_TIME_MS } from '../../shared/contracts/redelivery.ts';
import { EXAMPLE_ID } from './operation.ts';
import { jsonSchemaOf, pageLimit } from './schemas.ts';

/** Returns the parameters with these schemas, each with a description and an example. */
export const parametersIn = (
  location: 'path' | 'query' | 'header',
  schemas: Readonly<Record<string, z.ZodType>>,
  required = location === 'path',
) =>
  Object.entries(schemas).map(([name, parameter]) => {
    const { description, example, ...schema } = jsonSchemaOf(parameter);
    return { name, in: location, required, description, schema, example };
  });

/** Returns the parameter for a time. */
export const time = (meaning: string, example: number) =>
  z
    .int()
    .min(0)
    .max(MAX_TIME_MS)
    .meta({ description: `${meaning}, in milliseconds since the Unix epoch`, example });

/** The size of the page. */
export const limit = pageLimit
  .default(DEFAULT_PAGE_LIMIT)
  .meta({ description: 'The maximum number of records in the page', example: DEFAULT_PAGE_LIMIT });

/** Returns the marker of lists whose pages start with an ID. */
export const markerLike = (example: string) =>
  z.string().meta({ description: 'The `next_marker` of the previous page: the ID that the page starts with', example });

const truncated = `for the audit; truncated to ${MAX_AUDIT_TEXT_LENGTH} characters`;

/** The parameters of every change. */
export const auditTexts = {
  _who: z.string().meta({ description: `Who makes the change, ${truncated}`, example: 'jane' }),
  _why: z.string().meta({ description: `The reason of the change, ${truncated}`, example: 'New on-call rotation' }),
};

/** The objects whose IDs are in paths, with an example. */
export const pathParameters: Readonly<Record<string, { object: string; example: string }>> = {
  notificationId: { object: 'notification', example: EXAMPLE_ID },
  notificationTypeId: { object: 'notification type', example: 'webhook' },
  tokenId: { object: 'token', example: 'tk01M7ZZ2AQ9MC8P6P3KH5Y23K83' },
};
