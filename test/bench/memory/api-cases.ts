import { randomBytes } from 'node:crypto';
import * as z from 'zod';
import type { LocalStack } from '../../../bin/local/stack.ts';
import { createFailedMessages } from '../../../shared/adapters/deliveries/failed-messages.ts';
import { createNotificationRepository } from '../../../shared/adapters/notifications/notification-repository.ts';
import type { EndpointName } from '../../../shared/contracts/endpoints.ts';
import { connectApi } from '../../support/api.ts';
import { apiRequest } from '../../support/api-request.ts';
import { deliveryRecord, writeRecords } from '../../support/delivery-records.ts';
import {
  incompressibleEntries,
  largestNotification,
  validDetails,
  webhookNotification,
} from '../../support/notifications.ts';
import { addressesOf } from '../../support/running-stack.ts';

/** The largest request of an operation: creates its event, and the schema of the expected result. */
export type ApiCase = { title: string; name: EndpointName; event: () => Promise<unknown>; result: z.ZodType };

const KILOBYTE = 1_024;
const largest = largestNotification();
/** 300 KB compressed: its content just fits into its target. */
const largestTarget = webhookNotification({ details: { ...validDetails.webhook, ...incompressibleEntries(98, 'x') } });
/** Concurrent writes to the database of the stack. */
const CONCURRENCY = 10;

const status = (code: number) => z.looseObject({ statusCode: z.literal(code) });

/** Returns a webhook notification of about this size. */
const notificationOf = (bytes: number) => {
  const count = Math.ceil(bytes / (4 * KILOBYTE));
  const value = 'x'.repeat(Math.floor(bytes / count) - 20);
  const others = Object.fromEntries(Array.from({ length: count }, (_, index) => [`key${index}`, value]));
  return webhookNotification({ details: { ...validDetails.webhook, ...others } });
};

const repeat = async (times: number, act: (index: number) => Promise<unknown>): Promise<void> => {
  for (let start = 0; start < times; start += CONCURRENCY) {
    const size = Math.min(CONCURRENCY, times - start);
    await Promise.all(Array.from({ length: size }, (_, index) => act(start + index)));
  }
};

/** Fills the tables of a stack for the largest requests of the API. */
export const prepareApiCases = async (stack: LocalStack): Promise<ApiCase[]> => {
  const { documents, newClient, table } = connectApi(addressesOf(stack));
  const notifications = createNotificationRepository(documents, table('Notifications'));
  const failedMessages = createFailedMessages(documents, table('Deliveries'));
  const [many, large] = [await newClient(), await newClient()];
  await repeat(1_000, () => notifications.create(many.tenant, notificationOf(9 * KILOBYTE)));
  const largeTargets: string[] = [];
  while (largeTargets.length < 100) largeTargets.push(await notifications.create(large.tenant, largestTarget));
  const notificationId = await notifications.create(large.tenant, largest);
  const redelivered = { tenant: large.tenant, notificationId };
  let events = 0;

  /** Stores failed messages that hardly compress, which `redeliver` deletes when it has sent them. */
  const storeFailures = (count: number, bytes: number) =>
    repeat(count, async () => {
      const failedAtMs = Date.now() - 3_600_000 + events;
      const record = deliveryRecord(redelivered, `e${events++}:${failedAtMs}:CRITICAL`, {
        status: 'failed',
        updated_at_ms: failedAtMs,
        ttl: Math.floor(Date.now() / 1_000) + 86_400,
      });
      await writeRecords(documents, table('Deliveries'), [record]);
      const body = JSON.stringify({ body: randomBytes((bytes * 3) / 4).toString('base64') });
      await failedMessages.put({ recordKey: record, failedAtMs, body, round: 2 });
    });

  const request = (token: string, changes: Parameters<typeof apiRequest>[0] = {}) =>
    apiRequest({ headers: { 'x-auth-token': token }, pathParameters: { notificationId }, ...changes });

  const redeliver = (title: string, count: number, bytes: number): ApiCase => ({
    title,
    name: 'redeliver',
    async event() {
      await storeFailures(count, bytes);
      return request(large.token, { body: JSON.stringify({ since: 0 }) });
    },
    result: status(202),
  });
  const largeBody = JSON.stringify(largest);

  return [
    {
      title: 'a page of 1,000 notifications of 9 KB (5.5 MB of them)',
      name: 'list-notifications',
      event: async () => request(many.token, { rawQueryString: 'limit=1000' }),
      result: status(200),
    },
    {
      title: '100 notifications of 300 KB compressed, by ID (5.5 MB of them)',
      name: 'list-notifications',
      event: async () => request(large.token, { rawQueryString: largeTargets.map((id) => `id=${id}`).join('&') }),
      result: status(200),
    },
    {
      title: 'a notification of 4.2 MB',
      name: 'get-notification',
      event: async () => request(large.token),
      result: status(200),
    },
    {
      title: 'a notification of 4.2 MB',
      name: 'create-notification',
      event: async () => request(large.token, { body: largeBody }),
      result: status(201),
    },
    {
      title: 'a notification of 4.2 MB',
      name: 'update-notification',
      event: async () => request(large.token, { body: largeBody }),
      result: status(204),
    },
    redeliver('1,000 alerts of 20 KB', 1_000, 20 * KILOBYTE),
  ];
};
