export type Permission = 'create' | 'read' | 'update' | 'delete' | 'test' | 'redeliver' | 'administer';

export type Endpoint = {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  readonly path: `/${string}`;
  readonly permission: Permission;
  /** Query parameters; none by default. */
  readonly query?: readonly string[];
};

const page = ['limit', 'marker'] as const;

const deliveryQuery = [...page, 'event_id', 'alarm_id', 'entity_id', 'from', 'to', 'status'] as const;

const interfaceEndpoints = {
  'create-notification': { method: 'POST', path: '/notifications', permission: 'create' },
  'list-notifications': { method: 'GET', path: '/notifications', permission: 'read', query: [...page, 'id'] },
  'get-notification': { method: 'GET', path: '/notifications/{id}', permission: 'read' },
  'update-notification': { method: 'PUT', path: '/notifications/{id}', permission: 'update' },
  'delete-notification': { method: 'DELETE', path: '/notifications/{id}', permission: 'delete' },
  'test-notification': { method: 'POST', path: '/notifications/{id}/test', permission: 'test', query: ['state'] },
  'test-new-notification': { method: 'POST', path: '/test-notification', permission: 'test', query: ['state'] },
  'list-notification-types': { method: 'GET', path: '/notification_types', permission: 'read', query: page },
  'get-notification-type': { method: 'GET', path: '/notification_types/{id}', permission: 'read' },
} as const satisfies Record<string, Endpoint>;

const extensionEndpoints = {
  'list-deliveries': {
    method: 'GET',
    path: '/notifications/{id}/deliveries',
    permission: 'read',
    query: deliveryQuery,
  },
  'search-deliveries': { method: 'GET', path: '/deliveries', permission: 'read', query: deliveryQuery },
  'create-signing-secret': { method: 'POST', path: '/notifications/{id}/signing-secret', permission: 'update' },
  'delete-signing-secret': { method: 'DELETE', path: '/notifications/{id}/signing-secret', permission: 'update' },
  redeliver: { method: 'POST', path: '/notifications/{id}/redeliver', permission: 'redeliver' },
  'list-failures': { method: 'GET', path: '/failures', permission: 'read', query: page },
  'get-account': { method: 'GET', path: '/account', permission: 'read' },
  'update-account': { method: 'PUT', path: '/account', permission: 'administer' },
  'rotate-signing-secret': { method: 'POST', path: '/account/rotate-signing-secret', permission: 'administer' },
  'list-tokens': { method: 'GET', path: '/tokens', permission: 'administer', query: page },
  'create-token': { method: 'POST', path: '/tokens', permission: 'administer' },
  'revoke-token': { method: 'DELETE', path: '/tokens/{id}', permission: 'administer', query: ['issued_since'] },
  'list-audits': {
    method: 'GET',
    path: '/audits',
    permission: 'administer',
    query: [...page, 'reverse', 'from', 'to'],
  },
} as const satisfies Record<string, Endpoint>;

/** The operations (docs/api.md#operations). A key is also the name of the function, its file and its test. */
export const endpoints = { ...interfaceEndpoints, ...extensionEndpoints };
export type EndpointName = keyof typeof endpoints;

export const endpointNames = Object.keys(endpoints).filter((name): name is EndpointName => name in endpoints);

export const isExtension = (name: EndpointName): boolean => name in extensionEndpoints;

/** The query parameters of every operation that changes something. Others ignore them. */
export const auditParameters = ['_who', '_why'] as const;

export const knownParameters = (name: EndpointName): readonly string[] => {
  const { query = [] }: Endpoint = endpoints[name];
  return [...query, ...auditParameters];
};
