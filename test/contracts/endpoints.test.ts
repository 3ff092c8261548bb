import { expect, it } from 'vitest';
import { endpointNames, endpoints } from '../../shared/contracts/endpoints.ts';

it('the table of endpoints begins with the nine operations of the interface', () => {
  const lines = endpointNames.map(
    (name) => `${endpoints[name].permission}: ${endpoints[name].method} ${endpoints[name].path}`,
  );
  expect(lines.slice(0, 9)).toEqual([
    'create: POST /notifications',
    'read: GET /notifications',
    'read: GET /notifications/{id}',
    'update: PUT /notifications/{id}',
    'delete: DELETE /notifications/{id}',
    'test: POST /notifications/{id}/test',
    'test: POST /test-notification',
    'read: GET /notification_types',
    'read: GET /notification_types/{id}',
  ]);
});

it('only an admin may call the operations on the account and its tokens that change something', () => {
  const changes = endpointNames.filter(
    (name) => /^\/(account|tokens)/.test(endpoints[name].path) && endpoints[name].method !== 'GET',
  );
  for (const name of [...changes, 'list-tokens'] as const)
    expect([name, endpoints[name].permission]).toEqual([name, 'administer']);
});
