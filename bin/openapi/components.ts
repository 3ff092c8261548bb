import * as z from 'zod';
import { errorStatus } from '../../shared/contracts/errors.ts';
import { collectionMetadata, embedded, integer, schemaReference } from './common-schemas.ts';
import { resources } from './resources.ts';
import { schemasByType } from './typed-schemas.ts';
import { webhookPayload } from './webhook-payload.ts';

const error = z
  .object({
    type: z.enum(Object.keys(errorStatus)).describe('The kind of error'),
    code: integer.describe('The HTTP status'),
    message: z.string().describe('What failed, in one sentence'),
    details: z.string().describe('Each invalid field with its rule, or the limit that is reached with its value'),
    request_id: z.string().describe('ID of the request, to quote to the operators'),
  })
  .describe('An error of the service');

const gatewayError = z
  .strictObject({ message: z.string().describe('The name of the HTTP status') })
  .describe('An error of the gateway in front of the service. Quote the response header `apigw-requestid`');

const components: Record<string, z.ZodType> = {
  ...Object.fromEntries(resources.flatMap(({ schemas }) => Object.entries(schemas))),
  ...schemasByType,
  CollectionMetadata: collectionMetadata,
  WebhookPayload: webhookPayload,
  Error: error,
  GatewayError: gatewayError,
};

const registry = z.registry<{ id: string }>();
for (const [id, schema] of Object.entries(components)) registry.add(schema, { id });

/** The JSON Schemas of the OpenAPI document by name. */
export const componentSchemas = Object.fromEntries(
  Object.entries(z.toJSONSchema(registry, { io: 'input', uri: (id) => schemaReference(id).$ref }).schemas).map(
    ([name, schema]) => [name, embedded(schema)],
  ),
);
