import { describe, expect, it } from 'vitest';
import { endpointNames, endpoints } from '../../shared/contracts/endpoints.ts';

describe('the table of endpoints', () => {
  it('lists the nine operations of the interface, then its extensions, with their methods and paths', () => {
    expect(endpointNames.map((name) => [name, `${endpoints[name].method} ${endpoints[name].path}`])).toEqual([
      ['create-notification', 'POST /notifications'],
      ['list-notifications', 'GET /notifications'],
      ['get-notification', 'GET /notifications/{notificationId}'],
      ['update-notification', 'PUT /notifications/{notificationId}'],
      ['delete-notification', 'DELETE /notifications/{notificationId}'],
      ['test-notification', 'POST /notifications/{notificationId}/test'],
      ['test-new-notification', 'POST /test-notification'],
      ['list-notification-types', 'GET /notification_types'],
      ['get-notification-type', 'GET /notification_types/{notificationTypeId}'],
      ['list-deliveries', 'GET /notifications/{notificationId}/deliveries'],
      ['redeliver', 'POST /notifications/{notificationId}/redeliver'],
      ['get-account', 'GET /account'],
      ['update-account', 'PUT /account'],
      ['rotate-signing-secret', 'POST /account/rotate-signing-secret'],
      ['list-tokens', 'GET /tokens'],
      ['create-token', 'POST /tokens'],
      ['revoke-token', 'DELETE /tokens/{tokenId}'],
    ]);
  });

  it('requires the permission for the operation', () => {
    expect(Object.fromEntries(endpointNames.map((name) => [name, endpoints[name].permission]))).toEqual({
      'create-notification': 'create',
      'list-notifications': 'read',
      'get-notification': 'read',
      'update-notification': 'update',
      'delete-notification': 'delete',
      'test-notification': 'test',
      'test-new-notification': 'test',
      'list-notification-types': 'read',
      'get-notification-type': 'read',
      'list-deliveries': 'read',
      redeliver: 'redeliver',
      'get-account': 'read',
      'update-account': 'administer',
      'rotate-signing-secret': 'administer',
      'list-tokens': 'administer',
      'create-token': 'administer',
      'revoke-token': 'administer',
    });
  });
});
