import { type ErrorType, errorStatus } from '../domain/errors.ts';
import { type Endpoint, type EndpointName, endpointNames, endpoints } from './endpoints.ts';
import { fieldsOf, type NotificationTypeId, notificationTypeIds } from './notification-types.ts';

type Schema = { readonly [keyword: string]: unknown };

const ref = (name: string): Schema => ({ $ref: `#/components/schemas/${name}` });

const stringMap = (maxLength: number): Schema => ({
  type: 'object',
  maxProperties: 256,
  propertyNames: { minLength: 1, maxLength: 255 },
  additionalProperties: { type: 'string', minLength: 1, maxLength },
});

/** The `details` of a type: its own fields with their rules, and whatever the client adds. */
const detailsOf = (type: NotificationTypeId): Schema => {
  const fields = Object.entries(fieldsOf(type));
  const properties = fields.map(([name, { description, rule }]) => [
    name,
    { type: 'string', description: `${description}: ${rule}` },
  ]);
  const required = fields.filter(([, { optional }]) => !optional).map(([name]) => name);
  return { ...stringMap(4096), properties: Object.fromEntries(properties), ...(required.length > 0 && { required }) };
};

const destinationOf = (type: NotificationTypeId): Schema => ({
  title: type,
  type: 'object',
  required: ['type', ...(Object.keys(fieldsOf(type)).length > 0 ? ['details'] : [])],
  properties: { type: { const: type }, details: detailsOf(type) },
});

const attributes = { label: { type: 'string', minLength: 1, maxLength: 255 }, metadata: stringMap(255) };
const anyType = { type: 'string', enum: notificationTypeIds };

const collectionOf = (record: string): Schema => ({
  type: 'object',
  required: ['values', 'metadata'],
  properties: {
    values: { type: 'array', items: ref(record) },
    metadata: {
      type: 'object',
      required: ['count', 'limit', 'marker', 'next_marker', 'next_href'],
      properties: {
        count: { type: 'integer' },
        limit: { type: 'integer', minimum: 1, maximum: 1000 },
        marker: { type: ['string', 'null'] },
        next_marker: { type: ['string', 'null'] },
        next_href: { type: ['string', 'null'], format: 'uri' },
      },
    },
  },
});

const field = {
  type: 'object',
  required: ['name', 'description', 'optional'],
  properties: { name: { type: 'string' }, description: { type: 'string' }, optional: { type: 'boolean' } },
};

const schemas = {
  Destination: { oneOf: notificationTypeIds.map(destinationOf) },
  NewNotification: { allOf: [ref('Destination'), { type: 'object', required: ['label'], properties: attributes }] },
  NotificationChanges: { type: 'object', properties: { ...attributes, type: anyType, details: stringMap(4096) } },
  Notification: {
    type: 'object',
    required: ['id', 'label', 'type', 'details'],
    properties: { id: { type: 'string' }, ...attributes, type: anyType, details: stringMap(4096) },
  },
  Notifications: collectionOf('Notification'),
  NotificationType: {
    type: 'object',
    required: ['id', 'fields'],
    properties: { id: anyType, fields: { type: ['array', 'null'], items: field } },
  },
  NotificationTypes: collectionOf('NotificationType'),
  TestResult: {
    type: 'object',
    required: ['status', 'message'],
    properties: { status: { enum: ['success', 'failure'] }, message: { type: 'string' } },
  },
  Error: {
    type: 'object',
    required: ['type', 'code', 'message', 'details', 'request_id'],
    properties: {
      type: { enum: Object.keys(errorStatus) },
      code: { type: 'integer' },
      message: { type: 'string' },
      details: { type: 'string', description: 'Names each field that failed, and its rule' },
      request_id: { type: 'string' },
    },
  },
};

type SchemaName = keyof typeof schemas;

/** What the table of endpoints does not say of an operation. */
type Operation = {
  summary: string;
  body?: SchemaName;
  success: { status: 200 | 201 | 204; schema?: SchemaName; location?: true };
  errors: readonly ErrorType[];
  /** What an error means here besides its usual meaning. */
  errorNotes?: { readonly [type in ErrorType]?: string };
  query?: readonly ('limit' | 'marker' | 'id')[];
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
};

const queryParameters = {
  limit: { name: 'limit', in: 'query', schema: { type: 'integer', minimum: 1, maximum: 1000, default: 50 } },
  marker: { name: 'marker', in: 'query', schema: { type: 'string' }, description: 'The id that the page starts with' },
  id: { name: 'id', in: 'query', schema: { type: 'array', items: { type: 'string' } }, style: 'form', explode: true },
};

const json = (name: SchemaName) => ({ content: { 'application/json': { schema: ref(name) } } });

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

const operationOf = (name: EndpointName, { path, permission }: Endpoint) => {
  const { summary, body, query = [], ...rest } = operations[name];
  const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, parameter]) => ({
    name: parameter,
    in: 'path',
    required: true,
    schema: { type: 'string' },
  }));
  return {
    operationId: name,
    summary,
    description: `Needs the permission to ${permission}.`,
    parameters: [...inPath, ...query.map((parameter) => queryParameters[parameter])],
    ...(body && { requestBody: { required: true, ...json(body) } }),
    responses: responsesOf({ summary, ...rest }),
  };
};

/** The OpenAPI 3.1 document of the API, made of the table of endpoints and the list of notification types. */
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
    paths,
    components: {
      schemas,
      securitySchemes: { token: { type: 'apiKey', in: 'header', name: 'X-Auth-Token' } },
    },
  };
};
