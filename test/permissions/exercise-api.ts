import * as z from 'zod';
import { createFailureWriter } from '../../shared/adapters/deliveries/notification-failures.ts';
import { type EndpointName, endpointNames, endpoints } from '../../shared/contracts/endpoints.ts';
import { notificationTypeIds } from '../../shared/contracts/notification-types.ts';
import type { FaultyStack } from '../faults/support.ts';
import type { Client } from '../support/api.ts';
import { describedOperation } from '../support/api-description.ts';
import { deliveryRecord, writeRecords } from '../support/delivery-records.ts';
import { destinationsAt, incompressibleEntries } from '../support/notifications.ts';

/** The content is stored in chunks. */
const largeDetails = incompressibleEntries(105, 'x');

/** Lists deliveries and failures of a notification. */
const listDeliveries = async (world: FaultyStack, client: Client, id: string): Promise<void> => {
  const deliveries = world.table('Deliveries');
  const notification = { tenant: client.tenant, id };
  await writeRecords(world.documents, deliveries, [deliveryRecord(notification, 'event', { ttl: 9_999_999_999 })]);
  const failedAtMs = 9_999_999_999_000;
  await createFailureWriter(world.documents, deliveries)(notification, {
    failedIds: ['one'],
    firstFailedAtMs: failedAtMs,
    lastFailedAtMs: failedAtMs,
    lastReason: 'timeout',
  });
  for (const path of ['/deliveries', '/deliveries?event_id=event', '/failures']) await client.get(path);
  await client.get(`/notifications/${id}/deliveries?event_id=event`);
};

/** Returns no chunks of a notification, as if another version had just replaced it. */
const loseChunks = (world: FaultyStack, caller: string): void =>
  world.interceptOnce(
    'dynamodb',
    ({ action, body, ...call }) =>
      action === 'BatchGetItem' && call.caller.endsWith(caller) && body.includes('"chunk#'),
    async () => ({
      status: 200,
      headers: { 'content-type': 'application/x-amz-json-1.0' },
      body: '{"Responses":{},"UnprocessedKeys":{}}',
    }),
  );

/**
 * Calls every endpoint with the examples of its request body, those that delete last. Tests of destinations would send
 * to the addresses of the examples, so the caller makes them.
 */
const callEachEndpoint = async ({ newClient, call }: FaultyStack, notification: unknown): Promise<void> => {
  const { token, create, post } = await newClient();
  // The other admin tokens are read only if an admin token is revoked.
  const { body } = await post('/tokens', { label: 'another', role: 'admin' });
  const ids = new Map([
    ['/notifications/', await create(notification)],
    ['/notification_types/', 'sms'],
    ['/tokens/', z.object({ id: z.string() }).parse(body).id],
  ]);
  const names = endpointNames.filter((name) => endpoints[name].permission !== 'test');
  for (const name of names.toSorted((one, other) => deletes(one) - deletes(other))) {
    const path = endpoints[name].path.replace(/^(.+)\{id\}/, (_, collection) => collection + ids.get(collection));
    const { examples } = describedOperation(name).requestBody?.content['application/json'] ?? {
      examples: { none: {} },
    };
    for (const example of Object.values(examples)) {
      await call(endpoints[name].method, path, { token, body: Object(example).value });
    }
  }
};

const deletes = (name: EndpointName): number => (endpoints[name].method === 'DELETE' ? 1 : 0);

/**
 * Calls every API operation, with small and large notifications and with DynamoDB failures.
 *
 * @returns the IDs of one notification for each type
 */
export const exerciseApi = async (world: FaultyStack, client: Client, sinkUrl: string): Promise<string[]> => {
  const destinations = destinationsAt(sinkUrl);
  // The first webhook or router call of an account creates its webhook credentials.
  const otherClient = await world.newClient();
  await otherClient.post('/test-notification', { type: 'incidentrouter', details: destinations.incidentrouter });
  const ids: string[] = [];
  for (const type of notificationTypeIds) {
    ids.push(await client.create({ label: type, type, details: destinations[type] }));
  }
  for (const type of notificationTypeIds) {
    await client.post('/test-notification', { type, details: destinations[type] });
  }
  for (const id of ids) await client.post(`/notifications/${id}/test`);

  const [firstId = ''] = ids;
  const large = { label: 'large', type: 'webhook', details: { ...largeDetails, ...destinations.webhook } };
  const largeId = await client.create(large);
  await client.get(`/notifications/${largeId}`);
  await world.call('POST', '/notifications', {
    token: client.token,
    headers: { prefer: 'return=representation' },
    body: large,
  });
  await client.get('/notifications');
  loseChunks(world, 'list-notifications');
  await client.get(`/notifications?id=${largeId}&id=${firstId}`);
  await client.put(`/notifications/${largeId}`, { label: 'larger', metadata: { a: 'b' } });
  await client.post(`/notifications/${largeId}/signing-secret`);
  await client.delete(`/notifications/${largeId}/signing-secret`);
  await client.delete(`/notifications/${largeId}`);
  const grownId = await client.create({ label: 'small', type: 'webhook', details: destinations.webhook });
  await client.put(`/notifications/${grownId}`, { details: { ...largeDetails, ...destinations.webhook } });
  await listDeliveries(world, client, grownId);
  // Cleanup items are processed after an hour.
  await world.stack.advance(2 * 3_600_000);
  await client.delete(`/notifications/${grownId}`);
  // The history of a deleted notification without deliveries requires all reads.
  await client.get(`/notifications/${grownId}/deliveries`);
  await client.get('/nothing');
  await callEachEndpoint(world, { label: 'w', type: 'webhook', details: destinations.webhook });
  return ids;
};
