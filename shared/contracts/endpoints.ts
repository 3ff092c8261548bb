/** A permission on notifications and notification types, or to administer the account. */
export type Permission = 'create' | 'read' | 'update' | 'delete' | 'test' | 'redeliver' | 'administer';

/** The route of an operation and the permission that it requires. */
export type Endpoint = {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  readonly path: `/${string}`;
  readonly permission: Permission;
};

/**
 * The operations of the API (docs/api.md#operations). A key is also the name of the function, its file and its test.
 */
export const endpoints = {
  'create-notification': { method: 'POST', path: '/notifications', permission: 'create' },
  'list-notifications': { method: 'GET', path: '/notifications', permission: 'read' },
  'get-notification': { method: 'GET', path: '/notifications/{notificationId}', permission: 'read' },
  'update-notification': { method: 'PUT', path: '/notifications/{notificationId}', permission: 'update' },
  'delete-notification': { method: 'DELETE', path: '/notifications/{notificationId}', permission: 'delete' },
  'test-notification': { method: 'POST', path: '/notifications/{notificationId}/test', permission: 'test' },
  'test-new-notification': { method: 'POST', path: '/test-notification', permission: 'test' },
  'list-notification-types': { method: 'GET', path: '/notification_types', permission: 'read' },
  'get-notification-type': { method: 'GET', path: '/notification_types/{notificationTypeId}', permission: 'read' },
  'list-deliveries': { method: 'GET', path: '/notifications/{notificationId}/deliveries', permission: 'read' },
  'search-deliveries': { method: 'GET', path: '/deliveries', permission: 'read' },
  redeliver: { method: 'POST', path: '/notifications/{notificationId}/redeliver', permission: 'redeliver' },
  'list-failures': { method: 'GET', path: '/failures', permission: 'read' },
  'get-account': { method: 'GET', path: '/account', permission: 'read' },
  'update-account': { method: 'PUT', path: '/account', permission: 'administer' },
  'rotate-signing-secret': { method: 'POST', path: '/account/rotate-signing-secret', permission: 'administer' },
  'list-tokens': { method: 'GET', path: '/tokens', permission: 'administer' },
  'create-token': { method: 'POST', path: '/tokens', permission: 'administer' },
  'revoke-token': { method: 'DELETE', path: '/tokens/{tokenId}', permission: 'administer' },
  'list-audits': { method: 'GET', path: '/audits', permission: 'administer' },
} as const satisfies Record<string, Endpoint>;

/** The name of an operation of the API. */
export type EndpointName = keyof typeof endpoints;

/** The names of all operations, in the order of `endpoints`. */
export const endpointNames = Object.keys(endpoints).filter((name): name is EndpointName => name in endpoints);
