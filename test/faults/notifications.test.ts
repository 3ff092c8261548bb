import { QueryCommand, UpdateCommand } from '@aws-sdk/lib-dynamodb';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import * as z from 'zod';
import type { AwsCall } from '../../bin/local/aws/aws-service.ts';
import { type Client, webhook } from '../support/api.ts';
import { entries } from '../support/notifications.ts';
import { type FaultyStack, startFaultyStack } from './support.ts';

const LIMIT = 3;
const large = { ...webhook, details: { ...webhook.details, ...entries(100, 'x'.repeat(4_000)) } };

const page = z.object({ values: z.array(z.object({ id: z.string() })) });

describe('the notifications of an account', () => {
  let world: FaultyStack;
  let client: Client;
  beforeAll(async () => {
    world = await startFaultyStack({ notificationsPerTenant: String(LIMIT) });
  });
  afterAll(() => world.stack.stop());

  const newClient = async () => {
    client = await world.newClient();
    return client;
  };

  /** Applies the first call of DynamoDB that fits, and says that it failed, so that the SDK repeats it. */
  const loseResponseOnce = (fits: (call: AwsCall) => boolean): void => {
    const serve = world.stack.endpoint.services.get('dynamodb');
    if (!serve) throw new Error('There is no DynamoDB.');
    world.stack.endpoint.services.set('dynamodb', async (call) => {
      if (!fits(call)) return serve(call);
      world.stack.endpoint.services.set('dynamodb', serve);
      await serve(call);
      return { status: 500, headers: { 'content-type': 'application/x-amz-json-1.0' }, body: '{}' };
    });
  };

  const chunksOf = async (tenant: string) => {
    const { Items = [] } = await world.documents.send(
      new QueryCommand({
        TableName: world.table('Notifications'),
        KeyConditionExpression: 'pk = :pk',
        ExpressionAttributeValues: { ':pk': `chunk#${tenant}` },
        ConsistentRead: true,
      }),
    );
    return Items;
  };

  const listed = async (path = '/notifications?limit=1000') =>
    page.parse((await client.get(path)).body).values.map(({ id }) => id);

  it.each([
    ['small', webhook],
    ['large', large],
  ])(
    'answer 204 to a DELETE whose first response was lost, keep no chunk, and answer 404 to the next: %s',
    async (_, notification) => {
      const { tenant } = await newClient();
      const id = await client.create(notification);
      loseResponseOnce(
        ({ action, body, caller }) =>
          caller.endsWith('delete-notification') &&
          (action === 'DeleteItem' || action === 'PutItem') &&
          body.includes(`"notification#${tenant}"`),
      );
      expect((await client.delete(`/notifications/${id}`)).status).toBe(204);
      expect(await chunksOf(tenant)).toEqual([]);
      expect((await client.delete(`/notifications/${id}`)).status).toBe(404);
      expect((await client.get(`/notifications/${id}`)).status).toBe(404);
    },
  );

  it('leave no chunk behind a create that failed, once the account writes again an hour later', async () => {
    const { tenant } = await newClient();
    const recover = world.failing(
      { status: 400, type: 'ThrottlingException', message: 'Rate exceeded' },
      ({ action, body }) => action === 'PutItem' && body.includes(`"notification#${tenant}"`),
    );
    expect((await client.post('/notifications', large)).status).toBe(503);
    recover();
    expect(await chunksOf(tenant)).not.toEqual([]);
    world.stack.advance(3_600_000 + 60_000);
    const id = await client.create(webhook);
    // A cleanup has a second beside its write: on a busy machine it may take several writes.
    for (let write = 0; write < 20 && (await chunksOf(tenant)).length > 0; write++) {
      await client.put(`/notifications/${id}`, { label: `changed ${write}` });
    }
    expect(await chunksOf(tenant)).toEqual([]);
  });

  it('are at most as many as the limit: creating more is 403 and names it, until one is deleted', async () => {
    await newClient();
    const ids: string[] = [];
    while (ids.length < LIMIT) ids.push(await client.create(webhook));
    const refused = await client.post('/notifications', webhook);
    expect(refused.status).toBe(403);
    expect(refused.body).toMatchObject({
      type: 'forbiddenError',
      code: 403,
      details: `notificationsPerTenant: at most ${LIMIT} notifications in an account`,
    });
    expect((await client.put(`/notifications/${ids[0]}`, { label: 'changed' })).status).toBe(204);
    await client.delete(`/notifications/${ids[0]}`);
    const created = await client.create(webhook);
    expect(await listed()).toEqual([...ids.slice(1), created, 'ntTechnicalContactsEmail']);
    expect((await client.post('/notifications', webhook)).status).toBe(403);
    await newClient();
    await client.create(webhook);
  });

  it('list without one that this version cannot read, which is 500 to read and can be deleted', async () => {
    const { tenant } = await newClient();
    const first = await client.create(webhook);
    const unknown = await client.create(large);
    const last = await client.create(webhook);
    await world.documents.send(
      new UpdateCommand({
        TableName: world.table('Notifications'),
        Key: { pk: `notification#${tenant}`, sk: unknown },
        UpdateExpression: 'SET #type = :type',
        ExpressionAttributeNames: { '#type': 'type' },
        ExpressionAttributeValues: { ':type': 'carrierpigeon' },
      }),
    );
    expect(await listed()).toEqual([first, last, 'ntTechnicalContactsEmail']);
    expect(await listed(`/notifications?id=${unknown}&id=${last}`)).toEqual([last]);
    expect(world.lines.join('\n')).toContain(unknown);
    expect((await client.get(`/notifications/${unknown}`)).status).toBe(500);
    expect((await client.delete(`/notifications/${unknown}`)).status).toBe(204);
    expect(await chunksOf(tenant)).toEqual([]);
    expect((await client.get(`/notifications/${unknown}`)).status).toBe(404);
  });
});
