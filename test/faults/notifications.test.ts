import { QueryCommand, UpdateCommand } from '@aws-sdk/lib-dynamodb';
import type { AwsCall } from 'local-aws/aws-service.ts';
import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { type Client, webhook } from '../support/api.ts';
import { incompressibleEntries } from '../support/notifications.ts';
import { useFaultyStack } from './support.ts';

const LIMIT = 3;
const largeWebhook = { ...webhook, details: { ...webhook.details, ...incompressibleEntries(105, 'x') } };

const page = z.object({ values: z.array(z.object({ id: z.string() })) });

const harness = useFaultyStack({ notificationsPerTenant: String(LIMIT) });
let client: Client;

describe('the notifications of an account', () => {
  const newClient = async () => {
    client = await harness.newClient();
    return client;
  };

  /** Applies the first matching DynamoDB call and returns an error, so that the SDK repeats the call. */
  const loseResponseOnce = (matches: (call: AwsCall) => boolean): void => {
    harness.interceptOnce('dynamodb', matches, async (call, serve) => {
      await serve(call);
      return { status: 500, headers: { 'content-type': 'application/x-amz-json-1.0' }, body: '{}' };
    });
  };

  const storedChunks = async (tenant: string) => {
    const { Items = [] } = await harness.documents.send(
      new QueryCommand({
        TableName: harness.table('Notifications'),
        KeyConditionExpression: 'pk = :pk',
        ExpressionAttributeValues: { ':pk': `chunk#${tenant}` },
        ConsistentRead: true,
      }),
    );
    return Items;
  };

  const listIds = async (path = '/notifications?limit=1000') =>
    page.parse((await client.get(path)).body).values.map(({ id }) => id);

  it.each([
    ['small', webhook],
    ['large', largeWebhook],
  ])('are deleted once if the SDK repeats the delete: %s', async (_, notification) => {
    const { tenant } = await newClient();
    const id = await client.create(notification);
    loseResponseOnce(
      ({ action, body, caller }) =>
        caller.endsWith('delete-notification') &&
        action === 'TransactWriteItems' &&
        body.includes(`"notification#${tenant}"`),
    );
    expect((await client.delete(`/notifications/${id}`)).status).toBe(204);
    expect(await storedChunks(tenant)).toEqual([]);
    expect((await client.delete(`/notifications/${id}`)).status).toBe(404);
    expect((await client.get(`/notifications/${id}`)).status).toBe(404);
  });

  it('keep no chunk of a failed create after the account writes again an hour later', async () => {
    const { tenant } = await newClient();
    const recover = harness.injectFault(
      { status: 400, type: 'ThrottlingException', message: 'Rate exceeded' },
      ({ action, body }) => action === 'TransactWriteItems' && body.includes(`"notification#${tenant}"`),
    );
    expect((await client.post('/notifications', largeWebhook)).status).toBe(503);
    recover();
    expect(await storedChunks(tenant)).not.toEqual([]);
    await harness.stack.advance(3_600_000 + 60_000);
    const id = await client.create(webhook);
    // A cleanup stops after a second, so it may take several writes on a busy machine.
    for (let write = 0; write < 20 && (await storedChunks(tenant)).length > 0; write++) {
      await client.put(`/notifications/${id}`, { label: `changed ${write}` });
    }
    expect(await storedChunks(tenant)).toEqual([]);
  });

  it('are limited per account: creating more returns 403 until one is deleted', async () => {
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
    expect(await listIds()).toEqual([...ids.slice(1), created, 'ntTechnicalContactsEmail']);
    expect((await client.post('/notifications', webhook)).status).toBe(403);
    await newClient();
    await client.create(webhook);
  });

  it('are listed without an unreadable one, which returns 500 to GET and can be deleted', async () => {
    const { tenant } = await newClient();
    const first = await client.create(webhook);
    const unreadable = await client.create(largeWebhook);
    const last = await client.create(webhook);
    await harness.documents.send(
      new UpdateCommand({
        TableName: harness.table('Notifications'),
        Key: { pk: `notification#${tenant}`, sk: unreadable },
        UpdateExpression: 'SET #type = :type',
        ExpressionAttributeNames: { '#type': 'type' },
        ExpressionAttributeValues: { ':type': 'carrierpigeon' },
      }),
    );
    expect(await listIds()).toEqual([first, last, 'ntTechnicalContactsEmail']);
    expect(await listIds(`/notifications?id=${unreadable}&id=${last}`)).toEqual([last]);
    expect(harness.lines.join('\n')).toContain(unreadable);
    expect((await client.get(`/notifications/${unreadable}`)).status).toBe(500);
    expect((await client.delete(`/notifications/${unreadable}`)).status).toBe(204);
    expect(await storedChunks(tenant)).toEqual([]);
    expect((await client.get(`/notifications/${unreadable}`)).status).toBe(404);
  });
});
