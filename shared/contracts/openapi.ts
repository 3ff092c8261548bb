import { type Endpoint, type EndpointName, endpointNames, endpoints } from './endpoints.ts';
import { type ErrorType, errorStatus } from './errors.ts';
import { componentSchemas, limitParameterSchema, type SchemaName, schemaReference } from './openapi-schemas.ts';
import { deliveryStatuses } from './outcomes.ts';

/** The parts of an operation that the table of endpoints lacks. */
type Operation = {
  summary: string;
  body?: SchemaName;
  success: { status: 200 | 201 | 202 | 204; schema?: SchemaName; location?: true };
  errors: readonly ErrorType[];
  /** Additional meanings of errors. */
  errorNotes?: { readonly [type in ErrorType]?: string };
  query?: readonly (keyof typeof queryParameters)[];
  /** Whether the operation extends the interface that was specified before this service. */
  isExtension?: true;
  /** What the operation does beyond its summary. */
  details?: string;
};

const operations: Record<EndpointName, Operation> = {
  'create-notification': {
    summary: 'Create a notification',
    body: 'NewNotification',
    success: { status: 201, location: true },
    errors: ['badRequest', 'requestTooLargeError'],
    errorNotes: {
      forbiddenError:
        'or the account has as many notifications as it may have; `details` names the limit and its value',
    },
  },
  'list-notifications': {
    summary: 'List notifications',
    success: { status: 200, schema: 'Notifications' },
    errors: ['invalidLimit'],
    query: ['limit', 'marker', 'id'],
  },
  'get-notification': {
    summary: 'Read a notification',
    success: { status: 200, schema: 'Notification' },
    errors: ['notFoundError'],
  },
  'update-notification': {
    summary: 'Update a notification in part',
    body: 'NotificationChanges',
    success: { status: 204, location: true },
    errors: ['badRequest', 'notFoundError', 'requestTooLargeError'],
  },
  'delete-notification': { summary: 'Delete a notification', success: { status: 204 }, errors: ['notFoundError'] },
  'test-notification': {
    summary: 'Send a test message to a notification',
    success: { status: 200, schema: 'TestResult' },
    errors: ['notFoundError', 'rateLimitReached'],
  },
  'test-new-notification': {
    summary: 'Send a test message to a destination before creating it',
    body: 'Destination',
    success: { status: 200, schema: 'TestResult' },
    errors: ['badRequest', 'rateLimitReached'],
  },
  'list-notification-types': {
    summary: 'List the notification types',
    success: { status: 200, schema: 'NotificationTypes' },
    errors: ['invalidLimit'],
    query: ['limit', 'marker'],
  },
  'get-notification-type': {
    summary: 'Read a notification type',
    success: { status: 200, schema: 'NotificationType' },
    errors: ['notFoundError'],
  },
  'list-deliveries': {
    summary: 'List the deliveries of a notification',
    details:
      'Newest first by the time in the event ID, of the last 30 days, also of a deleted notification. With a filter, a page can have fewer values than `limit`, or none, although `next_marker` is not null.',
    success: { status: 200, schema: 'Deliveries' },
    errors: ['badRequest', 'notFoundError'],
    errorNotes: { badRequest: 'or invalidLimit' },
    query: ['limit', 'deliveryMarker', 'status', 'alarm_id'],
    isExtension: true,
  },
  redeliver: {
    summary: 'Redeliver failed deliveries of a notification',
    details:
      'Each failed delivery starts one new round of attempts, oldest failure first, up to 1,000 deliveries or 20 MB per request. Failures are kept for 14 days.',
    body: 'Redelivery',
    success: { status: 202, schema: 'RedeliveryResult' },
    errors: ['badRequest', 'notFoundError', 'rateLimitReached'],
    isExtension: true,
  },
  'get-account': {
    summary: 'Read the account, its limits and their usage',
    success: { status: 200, schema: 'Account' },
    errors: [],
    isExtension: true,
  },
  'update-account': {
    summary: 'Update the account in part',
    body: 'AccountChanges',
    success: { status: 204 },
    errors: ['badRequest'],
    isExtension: true,
  },
  'rotate-signing-secret': {
    summary: 'Replace the signing secret of webhooks; the replaced one also signs for 24 hours',
    success: { status: 200, schema: 'SigningSecret' },
    errors: [],
    isExtension: true,
  },
  'list-tokens': {
    summary: 'List the API tokens',
    success: { status: 200, schema: 'Tokens' },
    errors: ['invalidLimit'],
    query: ['limit', 'marker'],
    isExtension: true,
  },
  'create-token': {
    summary: 'Create an API token, which is shown only in this response',
    body: 'NewToken',
    success: { status: 201, schema: 'CreatedToken' },
    errors: ['badRequest'],
    errorNotes: {
      forbiddenError: 'or the account has as many tokens as it may have; `details` names the limit and its value',
    },
    isExtension: true,
  },
  'revoke-token': {
    summary: 'Revoke an API token',
    success: { status: 204 },
    errors: ['notFoundError'],
    errorNotes: { forbiddenError: 'or it is the only unexpired token of role admin' },
    isExtension: true,
  },
};

const queryParameters = {
  limit: { name: 'limit', in: 'query', schema: limitParameterSchema },
  marker: { name: 'marker', in: 'query', schema: { type: 'string' }, description: 'The id that the page starts with' },
  deliveryMarker: {
    name: 'marker',
    in: 'query',
    schema: { type: 'string' },
    description: 'The next_marker of a page: the page starts below it',
  },
  status: { name: 'status', in: 'query', schema: { enum: deliveryStatuses } },
  alarm_id: { name: 'alarm_id', in: 'query', schema: { type: 'string', minLength: 1 } },
  id: { name: 'id', in: 'query', schema: { type: 'array', items: { type: 'string' } }, style: 'form', explode: true },
} as const;

const json = (name: SchemaName) => ({ content: { 'application/json': { schema: schemaReference(name) } } });

const commonErrors: readonly ErrorType[] = [
  'unauthorizedError',
  'forbiddenError',
  'internalError',
  'serviceUnavailable',
];

const responsesOf = ({ success, errors, errorNotes = {} }: Operation) => {
  const { status, schema, location } = success;
  const failures = [...errors, ...commonErrors].map((type) => [
    errorStatus[type],
    { description: [type, errorNotes[type]].filter(Boolean).join(', '), ...json('Error') },
  ]);
  return {
    [status]: {
      description: 'Done',
      ...(schema && json(schema)),
      ...(location && { headers: { Location: { schema: { type: 'string', format: 'uri' } } } }),
    },
    ...Object.fromEntries(failures),
  };
};

/** Marks an operation as an extension of the interface. */
const extensionMark = { tags: ['extension'], 'x-extension': true };

const operationOf = (name: EndpointName, { path, permission }: Endpoint) => {
  const { summary, details, body, query = [], isExtension, ...rest } = operations[name];
  const role = permission === 'administer' ? 'Needs the role admin.' : `Needs the permission to ${permission}.`;
  const pathParameters = [...path.matchAll(/\{(\w+)\}/g)].map(([, parameter]) => ({
    name: parameter,
    in: 'path',
    required: true,
    schema: { type: 'string' },
  }));
  return {
    operationId: name,
    summary,
    description: [isExtension && 'Extension of the interface.', role, details].filter(Boolean).join(' '),
    ...(isExtension && extensionMark),
    parameters: [...pathParameters, ...query.map((parameter) => queryParameters[parameter])],
    ...(body && { requestBody: { required: true, ...json(body) } }),
    responses: responsesOf({ summary, ...rest }),
  };
};

/** Returns the OpenAPI 3.1 document of the API, generated from the table of endpoints and the contracts. */
export const openApiDocument = (baseUrl = '/') => {
  const paths: Record<string, Record<string, unknown>> = {};
  for (const name of endpointNames) {
    const { method, path } = endpoints[name];
    paths[path] = { ...paths[path], [method.toLowerCase()]: operationOf(name, endpoints[name]) };
  }
  return {
    openapi: '3.1.0',
    info: { title: 'Monitoring Notifications', version: '1.0' },
    servers: [{ url: baseUrl }],
    security: [{ token: [] }],
    tags: [{ name: 'extension', description: 'Operations in addition to those of the interface.' }],
    paths,
    components: {
      schemas: componentSchemas,
      securitySchemes: { token: { type: 'apiKey', in: 'header', name: 'X-Auth-Token' } },
    },
  };
};
