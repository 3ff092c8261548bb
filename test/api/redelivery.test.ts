import { beforeEach, describe, expect, it, vi } from 'vitest';
import { createAuditReader } from '../../shared/adapters/audits/audit-log.ts';
import { createFailedMessageList } from '../../shared/adapters/deliveries/failed-message-list.ts';
import { createFailedMessages } from '../../shared/adapters/deliveries/failed-messages.ts';
import { createCounters, dailyCounter } from '../../shared/adapters/dynamodb/counters.ts';
import { logger } from '../../shared/adapters/logger.ts';
import { createNotificationRepository } from '../../shared/adapters/notifications/notification-repository.ts';
import type { OutgoingMessage } from '../../shared/adapters/queues.ts';
import { createRedelivery, type RedeliveryDependencies } from '../../shared/api/redelivery.ts';
import { notificationTypeIds } from '../../shared/contracts/notification-types.ts';
import type { DeliveryRecord } from '../../shared/domain/delivery-record.ts';
import { newNotificationId } from '../../shared/domain/notification-id.ts';
import { audit, auditIn } from '../support/audit.ts';
import { createDeliveries, deliveryRecord, RECORD_TIME_MS, writeRecords } from '../support/delivery-records.ts';
import { useDatabase } from '../support/dynamodb.ts';
import { withRejections, withThrottling } from '../support/dynamodb-faults.ts';
import { webhookNotification } from '../support/notifications.ts';
import { senderQueueUrls } from '../support/queue-urls.ts';
import { testClock } from '../support/test-clock.ts';

const { client, connect } = useDatabase();
beforeEach(() => {
  vi.spyOn(logger, 'warn').mockImplementation(() => undefined);
  vi.spyOn(logger, 'error').mockImplementation(() => undefined);
});

/** The first request of each test, after all failures. */
const NOW = RECORD_TIME_MS + 3_600_000;
const MB = 1024 * 1024;
const TRANSACTION = 'TransactWriteItemsCommand';
const notifications = createNotificationRepository(client, 'notifications');
const failedMessages = {
  ...createFailedMessages(client, 'deliveries'),
  ...createFailedMessageList(client, 'deliveries'),
};

let tenants = 0;

const nothing = { count: 0, next_marker: null, reason: expect.any(String) };

type Sent = { queue: string; body: string; messageGroupId: string };

const setUp = async (
  { dailyLimit = 10_000, ...overrides }: { dailyLimit?: number } & Partial<RedeliveryDependencies> = {},
  tenant = `tenant${tenants++}`,
) => {
  const id = await notifications.create({ tenant, attributes: webhookNotification(), audit });
  const notification = { tenant, id };
  const sent: Sent[] = [];
  const entry = () => auditIn('audits', tenant)({ action: 'redeliver', target_id: id });
  const counters = createCounters(client, 'accounts');
  const { clock, wait: advance } = testClock(NOW);
  const sendAll = async <Message extends OutgoingMessage>(queue: string, messages: readonly Message[]) => {
    for (const { body, messageGroupId } of messages) sent.push({ queue, body: body(), messageGroupId });
    return [];
  };
  const redeliver = createRedelivery(
    {
      notifications,
      deliveries: createDeliveries(client),
      failedMessages,
      queues: { sendAll },
      counters,
      limitOf: async () => dailyLimit,
      ...overrides,
    },
    { SENDER_QUEUES: senderQueueUrls },
    clock,
  );
  let events = 0;
  /** Records a delivery that failed `offsetMs` after the base time, and stores its message. */
  const fail = async (offsetMs: number, changes: Partial<DeliveryRecord> = {}, body?: string) => {
    const record = deliveryRecord(notification, `e${events++}:${RECORD_TIME_MS}:CRITICAL`, {
      status: 'failed',
      updated_at_ms: RECORD_TIME_MS + offsetMs,
      ...changes,
    });
    await writeRecords(client, 'deliveries', [record]);
    const failedAtMs = RECORD_TIME_MS + offsetMs;
    await failedMessages.put({ recordKey: record, failedAtMs, body: body ?? record.event_id, round: 2 });
    return record.event_id;
  };
  const stored = async () => {
    const messages = [];
    for await (const group of failedMessages.list(notification, {
      sinceMs: 0,
      after: null,
      untilMs: 9_999_999_999_999,
    }))
      messages.push(...group);
    return messages.length;
  };
  return {
    tenant,
    id,
    sent,
    /** The number of audit entries. */
    entries: async () => {
      const audits = createAuditReader(client, 'audits', clock);
      const range = { fromMs: 0, toMs: 9_999_999_999_999, isReverse: false };
      return (await Array.fromAsync(audits.list(tenant, { ...range, start: null, pageSize: 10 }))).length;
    },
    used: async () => {
      const redeliveries = dailyCounter('redeliveries', tenant, clock());
      return (await counters.read([redeliveries]))(redeliveries).used;
    },
    bodies: () => sent.map(({ body }) => body),
    stored,
    fail,
    advance,
    since: (sinceMs = 0, marker?: string, timeLeft = () => 30_000) =>
      redeliver({ tenant, id }, { since: sinceMs, marker }, timeLeft, entry),
    event: (eventId: string, of = { tenant, id }) => redeliver(of, { event_id: eventId }, () => 30_000, entry),
  };
};

describe('a redelivery since a time', () => {
  it('sends failed deliveries to the queue of the type, oldest failure first, and deletes their messages', async () => {
    const { tenant, sent, stored, fail, since } = await setUp();
    const [third, first, second] = [await fail(30), await fail(10), await fail(20)];
    expect(await since()).toEqual({ count: 3, next_marker: null });
    const queue = senderQueueUrls.webhook;
    expect(sent).toEqual([first, second, third].map((body) => ({ queue, body, messageGroupId: tenant })));
    expect(await stored()).toBe(0);
    expect(await since()).toMatchObject(nothing);
    expect(sent).toHaveLength(3);
  });

  it('covers failures from that time on, inclusive', async () => {
    const { bodies, fail, since } = await setUp();
    await fail(10);
    const later = [await fail(20), await fail(30)];
    expect(await since(RECORD_TIME_MS + 20)).toEqual({ count: 2, next_marker: null });
    expect(bodies()).toEqual(later);
  });

  it.each([
    ['was delivered', { status: 'delivered' }],
    ['is pending in its next round', { status: 'pending', round: 2 }],
    ['failed again later', { updated_at_ms: RECORD_TIME_MS + 11, round: 2 }],
    ['failed again in the same round', { updated_at_ms: RECORD_TIME_MS + 11 }],
    ['was superseded', { status: 'superseded' }],
  ] as const)('skips a delivery that %s, and deletes its stale message', async (_, changes) => {
    const { sent, stored, fail, since } = await setUp();
    await fail(10, changes);
    expect(await since()).toMatchObject(nothing);
    expect(sent).toEqual([]);
    expect(await stored()).toBe(0);
  });

  it('keeps a message whose sender may still record the failure', async () => {
    const { stored, fail, since, advance } = await setUp();
    await fail(3_599_000, { status: 'pending' });
    expect(await since()).toMatchObject(nothing);
    expect(await stored()).toBe(1);
    advance(3_600_000);
    expect(await since()).toMatchObject(nothing);
    expect(await stored()).toBe(0);
  });

  it('does not send a message that has expired', async () => {
    const { fail, since, advance } = await setUp();
    await fail(10);
    advance(15 * 86_400_000);
    expect(await since()).toMatchObject(nothing);
  });

  it('never covers failures after its first request, so that following the markers ends', async () => {
    const { bodies, fail, since, advance } = await setUp();
    for (let index = 0; index < 120; index++) await fail(index);
    let timeLeft = 11_000;
    const first = await since(0, undefined, () => (timeLeft -= 1_000));
    expect(first).toEqual({ count: 100, next_marker: expect.stringMatching(/^\d{13}-\d{13}-[0-9a-f]{64}$/) });
    advance(1_000);
    await fail(NOW - RECORD_TIME_MS + 500);
    expect(await since(0, first.next_marker ?? '')).toEqual({ count: 20, next_marker: null });
    expect(bodies()).toHaveLength(120);
    expect(await since()).toEqual({ count: 1, next_marker: null });
  });

  it('does not cover the future even if a client changes the marker', async () => {
    const { sent, fail, since } = await setUp();
    await fail(NOW - RECORD_TIME_MS + 1);
    expect(await since(0, '9999999999999')).toMatchObject(nothing);
    expect(sent).toEqual([]);
  });

  it('sends nothing if less than 10 s are left, and returns a marker to continue with', async () => {
    const { sent, fail, since } = await setUp();
    await fail(10);
    const stopped = await since(0, undefined, () => 9_999);
    expect(stopped).toMatchObject({ count: 0, next_marker: String(NOW), reason: expect.any(String) });
    expect(sent).toEqual([]);
    expect(await since(0, stopped.next_marker ?? '')).toEqual({ count: 1, next_marker: null });
  });

  it('sends at most 1,000 deliveries per request, each once', async () => {
    const { bodies, fail, since } = await setUp();
    await Promise.all(Array.from({ length: 1_010 }, (_, index) => fail(index)));
    const first = await since();
    expect(first.count).toBe(1_000);
    expect(await since(0, first.next_marker ?? '')).toEqual({ count: 10, next_marker: null });
    expect(new Set(bodies()).size).toBe(1_010);
  });

  it('counts the bodies of all pages of messages toward the 20 MB', async () => {
    const { fail, since } = await setUp();
    // A page has 100 items.
    for (let index = 0; index < 200; index++) await fail(index, {}, 'x'.repeat(MB / 20));
    for (let index = 200; index < 215; index++) await fail(index, {}, 'x'.repeat(MB));
    const { count, next_marker } = await since();
    expect(count).toBe(200 + 10);
    expect(await since(0, next_marker ?? '')).toEqual({ count: 5, next_marker: null });
  });

  it('is 404 if the notification does not exist or belongs to another tenant', async () => {
    const [own, other] = [await setUp(), await setUp()];
    const eventId = await own.fail(10);
    await expect(own.event(eventId, { tenant: own.tenant, id: newNotificationId() })).rejects.toMatchObject({
      type: 'notFoundError',
    });
    await expect(own.event(eventId, { tenant: other.tenant, id: own.id })).rejects.toMatchObject({
      type: 'notFoundError',
    });
    await notifications.delete({ tenant: own.tenant, id: own.id }, audit);
    await expect(own.since()).rejects.toMatchObject({ type: 'notFoundError' });
    expect(await own.stored()).toBe(1);
  });
});

describe('a redelivery of one event', () => {
  it('sends its failed delivery only', async () => {
    const { bodies, fail, event } = await setUp();
    const [wanted] = [await fail(10), await fail(10)];
    expect(await event(wanted)).toEqual({ count: 1, next_marker: null });
    expect(bodies()).toEqual([wanted]);
    expect(await event(wanted)).toMatchObject(nothing);
  });

  it('is 404 for an event without a record, or with an expired one', async () => {
    const { fail, event, advance } = await setUp();
    await expect(event('unknown')).rejects.toMatchObject({
      type: 'notFoundError',
      message: 'The delivery was not found.',
    });
    const eventId = await fail(10);
    advance(31 * 86_400_000);
    await expect(event(eventId)).rejects.toMatchObject({ type: 'notFoundError' });
  });
});

describe('the daily limit of redeliveries', () => {
  it('is used up to the last delivery, and then returns 429 until midnight UTC', async () => {
    const { bodies, fail, since, advance, stored } = await setUp({ dailyLimit: 7 });
    const ids: string[] = [];
    for (let index = 0; index < 12; index++) ids.push(await fail(index));
    const first = await since();
    expect(first).toEqual({ count: 7, next_marker: expect.any(String) });
    expect(bodies()).toEqual(ids.slice(0, 7));
    await expect(since(0, first.next_marker ?? '')).rejects.toMatchObject({
      type: 'rateLimitReached',
      details:
        'redeliveriesPerTenantPerDay: at most 7 redeliveries in a day (UTC), which ends at 2026-01-02T00:00:00.000Z',
      retryAfterSeconds: 82_800,
    });
    expect(await stored()).toBe(5);
    advance(86_400_000);
    expect(await since(0, first.next_marker ?? '')).toEqual({ count: 5, next_marker: null });
  });

  it('does not count deliveries that are skipped', async () => {
    const { fail, since } = await setUp({ dailyLimit: 1 });
    await fail(1, { status: 'delivered' });
    await fail(2);
    expect(await since()).toEqual({ count: 1, next_marker: null });
    expect(await since()).toMatchObject(nothing);
  });
});

describe('the audit of redeliveries', () => {
  it('has none for a request that sends nothing', async () => {
    const { fail, since, entries } = await setUp({ dailyLimit: 0 });
    await since();
    await fail(1);
    await expect(since()).rejects.toMatchObject({ type: 'rateLimitReached' });
    expect(await entries()).toBe(0);
  });

  it('is written with the count before anything is sent, or nothing is sent and the limit is not used', async () => {
    const failing = createCounters(withRejections(connect(), TRANSACTION), 'accounts');
    const { fail, since, entries, used, sent, stored } = await setUp({ counters: failing });
    await fail(1);
    await expect(since()).rejects.toThrow();
    expect([sent, await stored(), await entries(), await used()]).toEqual([[], 1, 0, 0]);
  });
});

describe('a redelivery while a dependency fails', () => {
  it('reports what it sent if a later read fails', async () => {
    const database = withThrottling(connect({ maxAttempts: 1 }), 'QueryCommand', 1, 1);
    const { fail, since } = await setUp({ failedMessages: createFailedMessageList(database, 'deliveries') });
    for (let index = 0; index < 120; index++) await fail(index);
    const first = await since();
    expect(first).toEqual({ count: 100, next_marker: expect.any(String) });
    expect(await since(0, first.next_marker ?? '')).toEqual({ count: 20, next_marker: null });
  });

  it('succeeds even if the sent messages cannot be deleted', async () => {
    const database = withThrottling(connect({ maxAttempts: 1 }), 'BatchWriteItemCommand');
    const undeletable = { list: failedMessages.list, delete: createFailedMessageList(database, 'deliveries').delete };
    const { fail, since } = await setUp({ failedMessages: undeletable });
    await fail(1);
    expect(await since()).toEqual({ count: 1, next_marker: null });
  });
});

it('a redelivery of any type goes to the queue of the current type', async () => {
  expect(Object.keys(senderQueueUrls).toSorted()).toEqual(notificationTypeIds.toSorted());
  const { tenant, id, sent, fail, since } = await setUp();
  await fail(1);
  const current = await notifications.get({ tenant, id });
  if (!current) throw new Error('The notification does not exist.');
  await notifications.replace({
    key: { tenant, id },
    old: current.stored,
    attributes: { label: 'm', type: 'managed', details: {} },
    entry: audit,
  });
  expect(await since()).toEqual({ count: 1, next_marker: null });
  expect(sent.map(({ queue }) => queue)).toEqual([senderQueueUrls.managed]);
});
