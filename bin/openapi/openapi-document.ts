import manifest from '../../package.json' with { type: 'json' };
import {
  type Endpoint,
  type EndpointName,
  endpointNames,
  endpoints,
  isExtension,
} from '../../shared/contracts/endpoints.ts';
import { badRequest, invalidLimit, malformedMarker, notFound } from '../../shared/domain/errors.ts';
import {
  errorResponses,
  forbidden,
  preferenceApplied,
  responseHeaders,
  sharedExamples,
  sharedResponses,
} from './error-responses.ts';
import { BASE_URL, EXAMPLE_ID } from './examples.ts';
import {
  auditTexts,
  type Body,
  componentSchemas,
  contentOf,
  type Operation,
  objectInPath,
  parametersIn,
  preferences,
  type Resource,
  referenceOr,
  sharedParameters,
} from './operation.ts';
import { optOutPages, optOutTag } from './opt-out-pages.ts';
import { accountResource } from './resources/account.ts';
import { deliveryResource } from './resources/deliveries.ts';
import { notificationResource, notificationTypeResource, testResource } from './resources/notifications.ts';
import { auditResource, tokenResource } from './resources/tokens.ts';
import { webhooks } from './webhook.ts';

const description = [
  'Tenants manage and test their destinations for alerts, see what happened to each alert, and redeliver what failed.',
  '**Authentication.** Every operation requires the header `X-Auth-Token`. The operators issue the first token of an account; its admins issue the others.',
  '**Roles.** `admin` permits everything, `creator` everything except deleting notifications and administering the account, `observer` reading.',
  '**Errors.** The service responds with the schema `Error`, whose `details` name each invalid field and its rule. The gateway in front of it responds with `GatewayError`.',
  '**Paging.** Follow `next_href` of a page until it is null.',
  '**Extensions.** Operations with `x-extension` are additions to the interface that existing clients use. They reject unknown query parameters and attributes, as the others do with `Prefer: handling=strict` (RFC 7240).',
  'All bodies are JSON in UTF-8. Lengths count Unicode code points. Times are in milliseconds since the Unix epoch.',
].join('\n\n');

/** The servers of the document in the repository: the local stack, and any deployment. */
const defaultServers = [
  { url: 'http://127.0.0.1:3000', description: 'The local stack (`npm start`)' },
  {
    url: 'https://{host}',
    description: 'A deployed stack: its output `BaseUrl`',
    variables: { host: { default: 'alerts.example.com', description: 'The host and base path of the API' } },
  },
];

const location = {
  Location: {
    description: 'The URL of the notification',
    schema: { type: 'string', format: 'uri' },
    example: `${BASE_URL}/notifications/${EXAMPLE_ID}`,
  },
};

const successOf = (
  response: Body | undefined,
  hasLocation = false,
  description = `${response?.schema.description}.`,
) => ({
  description: response ? description : 'Success, without a body.',
  headers: { ...(hasLocation && location), ...preferenceApplied },
  ...(response && { content: contentOf(response) }),
});

const successesOf = ({ status, response, representation, hasLocation }: Operation) => {
  if (!representation) return { [status ?? (response ? 200 : 204)]: successOf(response, hasLocation) };
  const described = `${representation.schema.description}, if \`return=representation\` was applied.`;
  return status
    ? { [status]: successOf(representation, hasLocation, `${described} Otherwise without a body.`) }
    : { 200: successOf(representation, hasLocation, described), 204: successOf(undefined, hasLocation) };
};

const operationOf = (name: EndpointName, endpoint: Endpoint) => {
  const operation = operations[name];
  const { summary, details, request, query = {}, headers = {}, representation, errors = [] } = operation;
  const { method, path, permission } = endpoint;
  const role = permission === 'administer' ? 'Needs the role admin.' : `Needs the permission to ${permission}.`;
  const inPath = objectInPath(path);
  return {
    operationId: name,
    tags: resources.filter((resource) => name in resource.operations).map(({ tag }) => tag.name),
    summary,
    description: [isExtension(name) && 'Extension of the interface.', details, role].filter(Boolean).join(' '),
    ...(isExtension(name) && { 'x-extension': true }),
    parameters: [
      ...parametersIn('path', inPath ? { id: inPath.schema } : {}),
      ...parametersIn('query', { ...query, ...(method !== 'GET' && auditTexts) }),
      ...parametersIn('header', { ...headers, ...(!isExtension(name) && preferences(representation !== undefined)) }),
    ].map((parameter) => referenceOr('parameters', sharedParameters, parameter)),
    ...(request && { requestBody: { required: true, content: contentOf(request) } }),
    responses: {
      ...successesOf(operation),
      ...errorResponses(
        [
          forbidden(permission),
          ...errors,
          ...(request ? [badRequest('body: must be valid JSON')] : []),
          ...('limit' in query ? [invalidLimit(), malformedMarker()] : []),
          ...(inPath ? [notFound(`The ${inPath.object}`)] : []),
        ],
        request !== undefined,
      ),
    },
  };
};

/** Returns the OpenAPI document of the API. Without `baseUrl`, it names the local stack and any deployment. */
export const openApiDocument = (baseUrl?: string) => {
  const paths: Record<string, Record<string, unknown>> = { ...optOutPages };
  for (const name of endpointNames) {
    const { method, path } = endpoints[name];
    paths[path] = { ...paths[path], [method.toLowerCase()]: operationOf(name, endpoints[name]) };
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Monitoring Notifications',
      version: manifest.version,
      summary: 'Destinations for monitoring alerts, and what happened to each alert.',
      description,
      contact: { name: 'The operators of the service that you use' },
    },
    servers: baseUrl === undefined ? defaultServers : [{ url: baseUrl, description: 'The API' }],
    security: [{ token: [] }],
    tags: [
      ...resources.map(({ tag }) => tag),
      optOutTag,
      { name: 'webhooks', description: 'Requests that the service sends to `webhook` notifications.' },
    ],
    paths,
    webhooks,
    components: {
      schemas: componentSchemas(),
      responses: sharedResponses,
      parameters: sharedParameters,
      examples: sharedExamples,
      headers: responseHeaders,
      securitySchemes: {
        token: {
          type: 'apiKey',
          in: 'header',
          name: 'X-Auth-Token',
          description: 'A token of the account, issued by the operators or with `POST /tokens`',
        },
      },
    },
  };
};

export const resources: readonly Resource[] = [
  notificationResource,
  testResource,
  notificationTypeResource,
  deliveryResource,
  accountResource,
  tokenResource,
  auditResource,
];

/** The operations of the API. The compiler requires an entry for every endpoint. */
export const operations: Record<EndpointName, Operation> = {
  ...notificationResource.operations,
  ...testResource.operations,
  ...notificationTypeResource.operations,
  ...deliveryResource.operations,
  ...accountResource.operations,
  ...tokenResource.operations,
  ...auditResource.operations,
};
