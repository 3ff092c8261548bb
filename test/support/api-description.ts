import { Ajv2020 } from 'ajv/dist/2020.js';
import * as z from 'zod';
import { openApiDocument } from '../../bin/openapi/openapi-document.ts';
import { type EndpointName, endpointNames, endpoints } from '../../shared/contracts/endpoints.ts';
import type { ReceivedResponse } from './api.ts';

/** The OpenAPI document as clients read it. */
const document: unknown = JSON.parse(JSON.stringify(openApiDocument()));

/** Returns the schema without additional properties, so that an undocumented property is a violation. */
const closed = (schema: unknown): unknown => {
  if (Array.isArray(schema)) return schema.map(closed);
  if (typeof schema !== 'object' || schema === null) return schema;
  const parts = Object.fromEntries(Object.entries(schema).map(([key, value]) => [key, closed(value)]));
  const isOpen = 'properties' in parts && !('additionalProperties' in parts);
  return isOpen ? { ...parts, additionalProperties: false } : parts;
};

const ajv = new Ajv2020({
  strict: false,
  allErrors: true,
  formats: { uri: URL.canParse, uuid: true, e164: true },
}).addSchema({ $id: 'openapi', components: Object(closed(Object(document).components)) });

const withFullReferences = (schema: object): object =>
  JSON.parse(JSON.stringify(schema).replaceAll('"#/components/', '"openapi#/components/'));

/** Returns `compute` with a cache: compiling the schemas takes most of the time of a request otherwise. */
const cached = <Key, Value>(compute: (key: Key) => Value): ((key: Key) => Value) => {
  const values = new Map<Key, Value>();
  return (key) => {
    const value = values.get(key) ?? compute(key);
    values.set(key, value);
    return value;
  };
};

const validatorOf = cached((schema: object) => ajv.compile(Object(closed(withFullReferences(schema)))));

/** Returns how a value violates a schema of the OpenAPI document, whose objects have no undocumented properties. */
export const schemaViolations = (schema: object, value: unknown): string[] => {
  const validate = validatorOf(schema);
  if (validate(value)) return [];
  return (validate.errors ?? []).map(({ instancePath, message }) => `${instancePath} ${message}`);
};

/** Returns what a reference of the document leads to; other values are returned unchanged. */
const resolved = (value: unknown): unknown => {
  const { $ref } = Object(value);
  if (typeof $ref !== 'string') return value;
  return $ref
    .replace('#/', '')
    .split('/')
    .reduce((node: unknown, key) => Object(node)[key], document);
};

const content = z.object({
  'application/json': z.object({
    schema: z.object({}).loose(),
    examples: z.record(z.string(), z.preprocess(resolved, z.unknown())),
  }),
});
const response = z.preprocess(
  resolved,
  z.object({ headers: z.record(z.string(), z.unknown()).optional(), content: content.optional() }),
);
const operation = z.object({
  operationId: z.string(),
  parameters: z.array(z.preprocess(resolved, z.object({ name: z.string(), schema: z.object({}).loose() }).loose())),
  requestBody: z.object({ content }).optional(),
  responses: z.record(z.string(), response),
});

/** An operation of the OpenAPI document, with resolved references. */
export type DescribedOperation = z.infer<typeof operation>;

/** The schema and examples of a body. */
export type DescribedContent = z.infer<typeof content>;

export const describedOperation = cached((name: EndpointName): DescribedOperation => {
  const { method, path } = endpoints[name];
  return operation.parse(Object(document).paths[path][method.toLowerCase()]);
});

/** The description of the webhook that the service sends. */
export const describedWebhook = (): DescribedOperation => operation.parse(Object(document).webhooks.alert.post);

/** Returns how a body violates its description. An operation or response without content has no body. */
export const bodyViolations = (described: DescribedContent | undefined, body: unknown): string[] => {
  if (described) return schemaViolations(described['application/json'].schema, body);
  return body === '' || body === undefined ? [] : ['has a body without a schema'];
};

/** Returns the operation of a request, by its method and its path without the query. */
const operationAt = (method: string, path: string): EndpointName | undefined =>
  endpointNames.find((name) => {
    const pattern = endpoints[name].path.replaceAll(/\{\w+\}/g, '[^/]+');
    return endpoints[name].method === method && new RegExp(`^${pattern}$`).test(path);
  });

const anyError = { oneOf: [{ $ref: '#/components/schemas/Error' }, { $ref: '#/components/schemas/GatewayError' }] };

/** Returns how a response violates the OpenAPI document. A request to an unknown path must get an error. */
export const responseViolations = (
  method: string,
  path: string,
  { status, headers, body }: Pick<ReceivedResponse, 'status' | 'headers' | 'body'>,
): string[] => {
  const name = operationAt(method, path);
  if (name === undefined) return status < 400 || body === '' ? [] : schemaViolations(anyError, body);
  const described = describedOperation(name).responses[status];
  if (!described) return [`${name} has no status ${status}`];
  const sent = ['location', 'retry-after', 'preference-applied'].filter((header) => headers.has(header));
  const documented = Object.keys(described.headers ?? {}).map((header) => header.toLowerCase());
  // An operation that has a representation returns it only if the client prefers it.
  const isMinimal =
    documented.includes('location') && !headers.get('preference-applied')?.includes('return=representation');
  return [
    ...sent.filter((header) => !documented.includes(header)).map((header) => `${header} is not described`),
    ...(documented.includes('location') && !headers.has('location') ? ['location is missing'] : []),
    ...bodyViolations(isMinimal ? undefined : described.content, body),
  ];
};
