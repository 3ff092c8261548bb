import { isDeepStrictEqual } from 'node:util';
import * as z from 'zod';

/*
 * The request parsers count code points and keep keys such as `__proto__`, so they are custom zod types, which have no
 * JSON Schema. The schemas of this folder describe the same rules, with limits imported from the parsers. Schemas with
 * an `id` are components of the document.
 */

/** A parameter of operations. */
export const parameter = (schema: z.ZodType, description: string, example: unknown): z.ZodType =>
  schema.meta({ description, example });

/** Returns a reference to the schema with an ID. */
export const referenceTo = (id: string) => ({ $ref: `#/components/schemas/${id}` });

/** Returns a reference to the component that equals a value, or the value if there is none. */
export const referenceOr = <Value>(section: string, components: Readonly<Record<string, Value>>, value: Value) => {
  const [name] = Object.entries(components).find(([, component]) => isDeepStrictEqual(component, value)) ?? [];
  return name === undefined ? value : { $ref: `#/components/${section}/${name}` };
};

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
