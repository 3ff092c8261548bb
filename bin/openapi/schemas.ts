import * as z from 'zod';
import { MAX_PAGE_LIMIT } from '../../shared/contracts/collection.ts';
import { MAX_LABEL_LENGTH } from '../../shared/contracts/notification.ts';

/*
 * The request parsers count code points and keep keys such as `__proto__`, so they are custom zod types, which have no
 * JSON Schema. The schemas of this folder describe the same rules, with limits imported from the parsers. Schemas with
 * an `id` are components of the document.
 */

/** A text of 1 to `maxLength` code points. */
export const text = (maxLength: number) => z.string().min(1).max(maxLength);
/** A text with a description. */
export const string = (description: string) => z.string().describe(description);
/** A value that can be null. */
export const nullable = (schema: z.ZodType, description: string) => schema.nullable().describe(description);
/** An integer of any size. */
export const integer = z.number().meta({ type: 'integer' });
/** A time. `meaning` says which. */
export const timestamp = (meaning: string) => integer.describe(`${meaning}, in milliseconds since the Unix epoch`);
/** A label of a notification or token. */
export const label = text(MAX_LABEL_LENGTH).describe('Friendly name');
/** The size of a page. */
export const pageLimit = z.int().min(1).max(MAX_PAGE_LIMIT);

/** An object that is a component of the document. */
export const component = <Shape extends z.ZodRawShape>(id: string, description: string, shape: Shape) =>
  z.object(shape).meta({ id, description });

/** A parameter of operations. */
export const parameter = (schema: z.ZodType, description: string, example: unknown): z.ZodType =>
  schema.meta({ description, example });

/** Returns a reference to the schema with an ID. */
export const referenceTo = (id: string) => ({ $ref: `#/components/schemas/${id}` });

/**
 * Returns a schema without `$schema` and `$id`, with which it would be a separate document whose references do not
 * resolve.
 */
const embedded = ({ $schema, $id, id, ...schema }: z.core.JSONSchema.BaseSchema) => schema;

/** Returns the JSON Schema of a parameter. */
export const jsonSchemaOf = (schema: z.ZodType) => embedded(z.toJSONSchema(schema, { io: 'input' }));

/** Returns the JSON Schemas of all zod schemas with an ID, by their IDs. */
export const componentSchemas = () => {
  const { schemas } = z.toJSONSchema(z.globalRegistry, { io: 'input', uri: (id) => referenceTo(id).$ref });
  return Object.fromEntries(Object.entries(schemas).map(([id, schema]) => [id, embedded(schema)]));
};
