import { UpdateCommand } from '@aws-sdk/lib-dynamodb';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { logger } from '../../../shared/adapters/logger.ts';
import { createNotificationRepository } from '../../../shared/adapters/notifications/notification-repository.ts';
import { UnreadableNotificationError } from '../../../shared/adapters/notifications/notification-targets.ts';
import type { NotificationAttributes } from '../../../shared/contracts/notification.ts';
import { newNotificationId } from '../../../shared/domain/notification-id.ts';
import { audit } from '../../support/audit.ts';
import { useDatabase } from '../../support/dynamodb.ts';
import { countRequests, withStaleReads, withThrottling } from '../../support/dynamodb-faults.ts';
import { entries, validDetails, webhookNotification } from '../../support/notifications.ts';
import { recordMetrics } from '../../support/printed-metrics.ts';

const { client, connect } = useDatabase();
afterEach(() => {
  vi.restoreAllMocks();
});
const notifications = createNotificationRepository(client, 'notifications');
const repositoryOn = (database: typeof client) => createNotificationRepository(database, 'notifications');

/** Creates a notification of `acme`, with changes. @returns its key */
const created = async (changes: Partial<NotificationAttributes> = {}) => ({
  tenant: 'acme',
  id: await notifications.create({ tenant: 'acme', attributes: webhookNotification(changes), audit }),
});

describe('the target of a delivery', () => {
  it('has the label, the type and its own fields, without other details', async () => {
    const details = { ...validDetails.incidentpager, service_endpoint: 'https://a.example', other: 'x' };
    const key = await created({ type: 'incidentpager', details });
    expect(await notifications.targets([key]).find(key)).toEqual({
      id: key.id,
      label: 'Night shift',
      type: 'incidentpager',
      details: { ...validDetails.incidentpager, service_endpoint: 'https://a.example' },
    });
  });

  it('is read without the content of the notification, however large', async () => {
    const details = { ...validDetails.webhook, ...entries(255, '😀'.repeat(4096)) };
    const key = await created({ details });
    const database = connect();
    const counts = countRequests(database);
    expect((await repositoryOn(database).targets([key]).find(key))?.details).toEqual(validDetails.webhook);
    expect(counts).toEqual({ BatchGetItemCommand: 1 });
  });

  it('exists for the default notification of every tenant, without a read', async () => {
    const database = connect();
    const counts = countRequests(database);
    const key = { tenant: 'unknown', id: 'ntTechnicalContactsEmail' };
    expect(await repositoryOn(database).targets([key]).find(key)).toMatchObject({
      id: key.id,
      type: 'technicalContactsEmail',
      details: {},
    });
    expect(counts).toEqual({});
  });

  it.each([true, false])('is undefined if it does not exist or was deleted (consistent: %s)', async (isConsistent) => {
    const deleted = await created();
    await notifications.delete(deleted, audit);
    const keys = [deleted, { tenant: 'acme', id: newNotificationId() }, { tenant: 'acme', id: '__proto__' }];
    const { find } = notifications.targets(keys, { isConsistent });
    expect(await Promise.all(keys.map(find))).toEqual([undefined, undefined, undefined]);
  });
});

describe('a target that is read without strong consistency', () => {
  const isConsistent = false;

  it('is found with one request', async () => {
    const keys = [await created(), await created()];
    const database = connect();
    const counts = countRequests(database);
    const { find } = repositoryOn(database).targets(keys, { isConsistent });
    expect((await Promise.all(keys.map(find))).map((target) => target?.id)).toEqual(keys.map(({ id }) => id));
    expect(counts).toEqual({ BatchGetItemCommand: 1 });
  });

  it('is found if DynamoDB does not return its recent creation', async () => {
    const [old, recent] = [await created(), await created()];
    const database = withStaleReads(connect(), new Map([[recent.id, undefined]]));
    const { find } = repositoryOn(database).targets([old, recent], { isConsistent });
    expect([await find(old), await find(recent)]).toMatchObject([{ id: old.id }, { id: recent.id }]);
  });

  it('fails if its second read fails, instead of being reported as missing', async () => {
    const key = await created();
    const database = withThrottling(
      withStaleReads(connect({ maxAttempts: 1 }), new Map([[key.id, undefined]])),
      'BatchGetItemCommand',
      1,
      1,
    );
    const { find } = repositoryOn(database).targets([key], { isConsistent });
    await expect(find(key)).rejects.toMatchObject({ name: 'ProvisionedThroughputExceededException' });
  });
});

it('a target is never an earlier version by default, so that a change takes effect at once', async () => {
  const key = await created();
  const database = withStaleReads(connect(), new Map([[key.id, undefined]]));
  expect(await repositoryOn(database).targets([key]).find(key)).toMatchObject({ id: key.id });
});

/** Creates a notification of a type that this version of the service does not support. */
const withUnknownType = async () => {
  const key = await created();
  await client.send(
    new UpdateCommand({
      TableName: 'notifications',
      Key: { pk: 'notification#acme', sk: key.id },
      UpdateExpression: 'SET #type = :type',
      ExpressionAttributeNames: { '#type': 'type' },
      ExpressionAttributeValues: { ':type': 'carrierpigeon' },
    }),
  );
  return key;
};

it('a target that cannot be read does not fail the others if its type is unknown, and is logged and counted once', async () => {
  const logError = vi.spyOn(logger, 'error').mockImplementation(() => undefined);
  const metrics = recordMetrics();
  const unknown = await withUnknownType();
  const known = await created();
  const { find } = notifications.targets([unknown, known]);
  await expect(find(unknown)).rejects.toBeInstanceOf(UnreadableNotificationError);
  await expect(find(unknown)).rejects.toMatchObject({ name: 'UnreadableNotificationError' });
  expect(await find(known)).toMatchObject({ id: known.id });
  expect(logError.mock.calls).toEqual([
    [expect.any(String), expect.objectContaining({ tenant_id: 'acme', notification_id: unknown.id })],
  ]);
  expect(metrics()).toEqual([
    expect.objectContaining({
      unreadable_notifications: 1,
      _aws: expect.objectContaining({
        CloudWatchMetrics: [expect.objectContaining({ Dimensions: [['service']] })],
      }),
    }),
  ]);
});
