import type { AwsCall } from '../../bin/local/aws/aws-service.ts';
import { notificationTypeIds } from '../../shared/contracts/notification-types.ts';
import type { FaultyStack } from '../faults/support.ts';
import type { Client } from '../support/api.ts';
import { destinationsAt } from '../support/notifications.ts';

const large = Object.fromEntries(Array.from({ length: 250 }, (_, index) => [`key${index}`, 'x'.repeat(4_096)]));

/** Changes the way of one call of DynamoDB, and of all that come after it until it says that it was the one. */
const once = (
  { stack }: FaultyStack,
  fits: (call: AwsCall) => boolean,
  change: (answer: () => unknown) => Promise<{ status: number; body: string }>,
): void => {
  const serve = stack.endpoint.services.get('dynamodb');
  if (!serve) throw new Error('There is no DynamoDB.');
  stack.endpoint.services.set('dynamodb', async (call) => {
    if (!fits(call)) return serve(call);
    stack.endpoint.services.set('dynamodb', serve);
    return { headers: { 'content-type': 'application/x-amz-json-1.0' }, ...(await change(() => serve(call))) };
  });
};

/** A target that was written is said not to have been: whoever repeats the write finds its own work there. */
const loseAnswerOfPut = (world: FaultyStack, caller: string): void =>
  once(
    world,
    ({ action, body, ...call }) =>
      action === 'PutItem' && call.caller.endsWith(caller) && body.includes('"notification#'),
    async (answer) => {
      await answer();
      return { status: 500, body: '{}' };
    },
  );

/** The chunks of a notification are gone, as they are for a reader whose version has just been replaced. */
const loseChunks = (world: FaultyStack, caller: string): void =>
  once(
    world,
    ({ action, body, ...call }) =>
      action === 'BatchGetItem' && call.caller.endsWith(caller) && body.includes('"chunk#'),
    async () => ({ status: 200, body: '{"Responses":{},"UnprocessedKeys":{}}' }),
  );

/** Uses every operation of the API, also on what is large, and where its database hesitates. */
export const driveApi = async (world: FaultyStack, client: Client, sinkUrl: string): Promise<string[]> => {
  const destinations = destinationsAt(sinkUrl);
  // An account's first webhook call makes its credentials, whether the webhook's sender makes it or the router's.
  const stranger = await world.newClient();
  await stranger.post('/test-notification', { type: 'incidentrouter', details: destinations.incidentrouter });
  const ids: string[] = [];
  for (const type of notificationTypeIds) {
    ids.push(await client.create({ label: type, type, details: destinations[type] }));
  }
  for (const type of notificationTypeIds) {
    await client.post('/test-notification', { type, details: destinations[type] });
  }
  for (const id of ids) await client.post(`/notifications/${id}/test`);

  loseAnswerOfPut(world, 'create-notification');
  const [first = ''] = ids;
  const huge = await client.create({ label: 'large', type: 'webhook', details: { ...large, ...destinations.webhook } });
  await client.get(`/notifications/${huge}`);
  await client.get('/notifications');
  loseChunks(world, 'list-notifications');
  await client.get(`/notifications?id=${huge}&id=${first}`);
  await client.put(`/notifications/${huge}`, { label: 'larger', metadata: { a: 'b' } });
  await client.delete(`/notifications/${huge}`);
  const grown = await client.create({ label: 'small', type: 'webhook', details: destinations.webhook });
  await client.put(`/notifications/${grown}`, { details: { ...large, ...destinations.webhook } });
  // What the deletes have left to clean up is old enough after an hour.
  world.stack.advance(2 * 3_600_000);
  await client.delete(`/notifications/${grown}`);
  await client.get('/notification_types');
  await client.get('/notification_types/sms');
  await client.get('/nothing');
  return ids;
};
