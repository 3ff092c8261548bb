import { afterAll, describe, expect, it } from 'vitest';
import { createNotificationRepository } from '../../shared/adapters/notification-repository.ts';
import { newNotificationId } from '../../shared/domain/notification-id.ts';
import { startDatabase } from '../support/dynamodb.ts';
import { counted, partlyDone, throttled } from '../support/dynamodb-faults.ts';
import { entries, goodDetails, webhookNotification } from '../support/notifications.ts';

const { client, connect, stop } = await startDatabase();
afterAll(stop);
const notifications = createNotificationRepository(client, 'notifications');
const repositoryOn = (database: typeof client) => createNotificationRepository(database, 'notifications');

describe('what a delivery needs of notifications', () => {
  it('is their type and the fields of that type, without the client’s own entries', async () => {
    const details = { ...goodDetails.incidentpager, service_endpoint: 'https://a.example', own: 'x' };
    const id = await notifications.create('acme', webhookNotification({ type: 'incidentpager', details }));
    const head = (await notifications.heads([{ tenant: 'acme', id }])).find({ tenant: 'acme', id });
    expect(head).toEqual({
      id,
      type: 'incidentpager',
      details: { service_key: 'abcDEF123', service_endpoint: 'https://a.example' },
    });
  });

  it('is read without their content, however large that is', async () => {
    const details = { ...goodDetails.webhook, ...entries(255, '😀'.repeat(4096)) };
    const key = { tenant: 'acme', id: await notifications.create('acme', webhookNotification({ details })) };
    const database = connect();
    const counts = counted(database);
    expect((await repositoryOn(database).heads([key])).find(key)?.details).toEqual(goodDetails.webhook);
    expect(counts).toEqual({ BatchGetItemCommand: 1 });
  });

  it('is there for the default notification of every tenant, without a read', async () => {
    const database = connect();
    const counts = counted(database);
    const key = { tenant: 'nobody', id: 'ntTechnicalContactsEmail' };
    expect((await repositoryOn(database).heads([key])).find(key)).toMatchObject({
      id: key.id,
      type: 'technicalContactsEmail',
      details: {},
    });
    expect(counts).toEqual({});
  });

  it('is found for more than a hundred, of several tenants, asked for twice or not', async () => {
    const keys = await Promise.all(
      Array.from({ length: 130 }, async (_, index) => {
        const tenant = `tenant${index % 3}`;
        return { tenant, id: await notifications.create(tenant, webhookNotification()) };
      }),
    );
    const found = await notifications.heads([...keys, ...keys]);
    expect(keys.filter((key) => found.find(key)?.id === key.id)).toHaveLength(130);
  });

  it('is found under its own tenant alone', async () => {
    const id = await notifications.create('acme', webhookNotification());
    const found = await notifications.heads([
      { tenant: 'acme', id },
      { tenant: 'other', id },
    ]);
    expect(found.find({ tenant: 'acme', id })).toBeDefined();
    expect(found.find({ tenant: 'other', id })).toBeUndefined();
  });

  it('is nothing for what does not exist or was deleted', async () => {
    const deleted = { tenant: 'acme', id: await notifications.create('acme', webhookNotification()) };
    await notifications.delete(deleted);
    const keys = [deleted, { tenant: 'acme', id: newNotificationId() }, { tenant: 'acme', id: '__proto__' }];
    const found = await notifications.heads(keys);
    expect(keys.map((key) => found.find(key))).toEqual([undefined, undefined, undefined]);
    expect((await notifications.heads([])).find(deleted)).toBeUndefined();
  });

  it('is all found where the table left some of it open', async () => {
    const keys = await Promise.all(
      Array.from({ length: 10 }, async () => ({
        tenant: 'acme',
        id: await notifications.create('acme', webhookNotification()),
      })),
    );
    const found = await repositoryOn(partlyDone(connect(), 3, 2)).heads(keys);
    expect(keys.filter((key) => found.find(key))).toHaveLength(10);
  });

  it('fails where the table throttles: nothing is called unknown that was not read', async () => {
    const key = { tenant: 'acme', id: await notifications.create('acme', webhookNotification()) };
    const repository = repositoryOn(throttled(connect({ maxAttempts: 1 }), 'BatchGetItemCommand'));
    await expect(repository.heads([key])).rejects.toMatchObject({ name: 'ProvisionedThroughputExceededException' });
  });
});
