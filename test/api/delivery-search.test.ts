import { randomBytes } from 'node:crypto';
import type { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import { describe, expect, it } from 'vitest';
import { createDeliveryReader, type DeliveryReader } from '../../shared/adapters/deliveries/delivery-reader.ts';
import {
  createDestinationListReader,
  createDestinationListWriter,
} from '../../shared/adapters/deliveries/destination-list.ts';
import { createNotificationRepository } from '../../shared/adapters/notifications/notification-repository.ts';
import { createDeliverySearch } from '../../shared/api/delivery-lists.ts';
import type { DeliverySelection } from '../../shared/api/request.ts';
import type { FoundDelivery } from '../../shared/contracts/responses/deliveries.ts';
import type { DeliveryRecord } from '../../shared/domain/delivery-record.ts';
import { newNotificationId } from '../../shared/domain/notification-id.ts';
import { audit } from '../support/audit.ts';
import { deliveryRecord, RECORD_TIME_MS, writeRecords } from '../support/delivery-records.ts';
import { useDatabase } from '../support/dynamodb.ts';
import { countRequests } from '../support/dynamodb-faults.ts';
import { webhookNotification } from '../support/notifications.ts';
import { testClock } from '../support/test-clock.ts';

const { client, connect } = useDatabase();

const DEFAULT_ID = 'ntTechnicalContactsEmail';
const DAY_MS = 86_400_000;
const ALL: DeliverySelection = { filter: {} };
const eventId = (time: number): string => `acme:en:al:ch:${RECORD_TIME_MS + time}:CRITICAL`;
let tenants = 0;

/** Adds up the read units of the queries of a client. */
const countQueryUnits = (database: DynamoDBDocumentClient) => {
  const read = { units: 0 };
  database.middlewareStack.add(
    (next) => async (args) => {
      const result = await next({ ...args, input: { ...args.input, ReturnConsumedCapacity: 'TOTAL' } });
      if ('ScannedCount' in result.output) read.units += result.output.ConsumedCapacity?.CapacityUnits ?? 0;
      return result;
    },
    { step: 'initialize' },
  );
  return read;
};

const setUp = (database: DynamoDBDocumentClient = client, changed: Partial<DeliveryReader> = {}) => {
  const tenant = `searched${tenants++}`;
  const notifications = createNotificationRepository(database, 'notifications');
  const { clock, wait: advance } = testClock(RECORD_TIME_MS);
  const search = createDeliverySearch(
    {
      notifications,
      deliveries: { ...createDeliveryReader(database, 'deliveries'), ...changed },
      readDestinationList: createDestinationListReader(database, 'deliveries'),
    },
    clock,
  );
  const page = (
    selection: DeliverySelection,
    {
      limit = 50,
      marker = null,
      timeLeft = 30_000,
    }: { limit?: number; marker?: string | null; timeLeft?: number } = {},
    of = tenant,
  ) => search(selection, { limit, marker }, { tenant: of, withResponses: false, timeLeft: () => timeLeft });
  return {
    tenant,
    page,
    /** Returns the deliveries of all pages, and how many pages there are. */
    follow: async (selection: DeliverySelection, limit = 50, timeLeft?: number) => {
      const values: FoundDelivery[] = [];
      let [marker, pages]: [string | null, number] = [null, 0];
      do {
        const found = await page(selection, { limit, marker, ...(timeLeft !== undefined && { timeLeft }) });
        expect(found.values.length).toBeLessThanOrEqual(limit);
        values.push(...found.values);
        [marker, pages] = [found.next, pages + 1];
      } while (marker !== null);
      return { values, pages };
    },
    create: async (label = 'On call') =>
      notifications.create({ tenant, attributes: webhookNotification({ label }), audit }),
    /** Creates a notification of 260 KB, as it is stored. */
    createLarge: () => {
      const values = Array.from({ length: 85 }, (_, index) => [`k${index}`, randomBytes(3_072).toString('base64')]);
      const details = { url: 'https://example.com', ...Object.fromEntries(values) };
      return notifications.create({ tenant, attributes: webhookNotification({ details }), audit });
    },
    remove: (id: string) => notifications.delete({ tenant, id }, audit),
    write: (id: string, times: readonly number[], changes: Partial<DeliveryRecord> = {}) =>
      writeRecords(
        client,
        'deliveries',
        times.map((time) => deliveryRecord({ tenant, id }, eventId(time), changes)),
      ),
    advance,
  };
};

/** Returns notification and event time of each delivery. */
const places = (values: readonly FoundDelivery[]) =>
  values.map(({ notification_id, event_id }) => [notification_id, Number(event_id.split(':')[4]) - RECORD_TIME_MS]);

describe('a search for deliveries', () => {
  it('is ordered by notification, then newest first, with the same records for every page size', async () => {
    const { create, write, follow } = setUp();
    const [first, empty, second] = [await create(), await create(), await create()];
    await write(second, [4, 1]);
    await write(first, [1, 2, 3]);
    await write(DEFAULT_ID, [5]);
    const expected = [
      [first, 3],
      [first, 2],
      [first, 1],
      [second, 4],
      [second, 1],
      [DEFAULT_ID, 5],
    ];
    for (const limit of [1, 2, 3, 5, 6, 7, 1_000]) expect(places((await follow(ALL, limit)).values)).toEqual(expected);
    expect(expected.flat()).not.toContain(empty);
  });

  it('names the notification, its type and its label, entity and alarm', async () => {
    const { create, write, page } = setUp();
    const id = await create('Chat room');
    await write(id, [1], { entity_label: 'web-1', alarm_label: 'Disk space', accepted_at_ms: RECORD_TIME_MS + 5 });
    await write(DEFAULT_ID, [1]);
    expect((await page(ALL)).values).toMatchObject([
      {
        notification_id: id,
        notification_label: 'Chat room',
        type: 'webhook',
        entity_label: 'web-1',
        alarm_label: 'Disk space',
        accepted_at: RECORD_TIME_MS + 5,
      },
      {
        notification_id: DEFAULT_ID,
        notification_label: 'Email All Technical Contacts',
        type: 'technicalContactsEmail',
      },
    ]);
  });

  it('filters, and neither finds expired records, deleted notifications nor other tenants', async () => {
    const { create, remove, write, follow, page, advance } = setUp();
    const [kept, deleted] = [await create(), await create()];
    await write(kept, [1], { status: 'failed' });
    await write(kept, [2]);
    await write(deleted, [1], { status: 'failed' });
    await remove(deleted);
    const failed: DeliverySelection = { filter: { statuses: ['failed'] } };
    expect(places((await follow(failed)).values)).toEqual([[kept, 1]]);
    expect(await page(ALL, {}, 'another')).toEqual({ values: [], next: null });
    expect(await page(ALL, { marker: kept }, 'another')).toEqual({ values: [], next: null });
    advance(31 * DAY_MS);
    expect((await follow(ALL)).values).toEqual([]);
  });

  it('reads at most 25 notifications per request, so that a page can be empty', async () => {
    const database = connect();
    const { create, write, page, follow } = setUp(database);
    const ids: string[] = [];
    for (let index = 0; index < 26; index++) ids.push(await create());
    const last = ids.at(-1) ?? '';
    await write(last, [1]);
    const counts = countRequests(database);
    const first = await page(ALL);
    expect(first).toEqual({ values: [], next: ids[24] });
    expect(counts).toEqual({ QueryCommand: 26 });
    expect(places((await page(ALL, { marker: first.next })).values)).toEqual([[last, 1]]);
    expect(places((await follow({ eventId: eventId(1) }, 1)).values)).toEqual([[last, 1]]);
  });

  it('ends a request without time, and each request makes progress', async () => {
    const { create, write, follow } = setUp();
    const ids = [await create(), await create(), await create()];
    for (const id of ids) await write(id, [1, 2]);
    const { values, pages } = await follow(ALL, 50, 9_999);
    expect(places(values)).toEqual(ids.flatMap((id) => [2, 1].map((time) => [id, time])));
    // The default notification has a page, too.
    expect(pages).toBe(4);
  });

  it('costs at most 256 read units and one per notification, whatever these have, and each request makes progress', async () => {
    const { tenant, createLarge, write, follow } = setUp();
    const ids: string[] = [];
    for (let index = 0; index < 5; index++) ids.push(await createLarge());
    const attempt = { timestamp_ms: RECORD_TIME_MS, result: 'transient', duration_ms: 1 } as const;
    const attempts = Array(9).fill({ ...attempt, response_text: 'x'.repeat(1_000) });
    const times = Array.from({ length: 60 }, (_, index) => 60 - index);
    for (const id of ids) await write(id, times, { attempts, status: 'failed' });
    const database = connect();
    const { page } = setUp(database);
    const read = countQueryUnits(database);
    const failed: DeliverySelection = { filter: { statuses: ['failed'] } };
    const first = await page(failed, { limit: 1_000 }, tenant);
    expect(first.values.length).toBeGreaterThan(0);
    expect(read.units).toBeGreaterThan(200);
    expect(read.units).toBeLessThanOrEqual(256 + 25);
    const { values } = await follow(failed, 1_000);
    expect(places(values)).toEqual(ids.flatMap((id) => times.map((time) => [id, time])));
  });

  it.each(['ntOperators', `${DEFAULT_ID}-x`, `${DEFAULT_ID}-${DEFAULT_ID}`, `${DEFAULT_ID}#victim`, '\ud800'])(
    'rejects a marker that no response had',
    async (marker) => {
      const { page } = setUp();
      const error = { type: 'badRequest', details: 'marker: must be the next_marker of a response' };
      await expect(page(ALL, { marker })).rejects.toMatchObject(error);
    },
  );
});

describe('the deliveries of an event', () => {
  const EVENT: DeliverySelection = { eventId: eventId(1) };

  it('are found by their keys, with one read per 25 notifications, by notification', async () => {
    const database = connect();
    const { create, write, page, follow, advance } = setUp(database);
    const ids = [await create(), await create(), await create()];
    for (const id of [...ids.slice(1), DEFAULT_ID]) await write(id, [0, 1, 2]);
    const expected = [...ids.slice(1), DEFAULT_ID].map((id) => [id, 1]);
    const counts = countRequests(database);
    expect(places((await page(EVENT)).values)).toEqual(expected);
    expect(counts).toEqual({ QueryCommand: 1, GetItemCommand: 1, BatchGetItemCommand: 1 });
    for (const limit of [1, 2, 3, 4]) expect(places((await follow(EVENT, limit)).values)).toEqual(expected);
    expect(await page({ eventId: 'unknown' })).toEqual({ values: [], next: null });
    expect(await page(EVENT, {}, 'another')).toEqual({ values: [], next: null });
    advance(31 * DAY_MS);
    expect(await page(EVENT)).toEqual({ values: [], next: null });
  });

  it('include those of deleted notifications that a record of the event lists, without type and label', async () => {
    const { create, remove, write, follow } = setUp();
    const [email, unrelated, deleted] = [await create(), await create(), await create()];
    const never = newNotificationId();
    await write(email, [1], { siblings: [deleted, never, 'x#victim'] });
    for (const id of [unrelated, deleted]) await write(id, [1]);
    await remove(deleted);
    for (const limit of [1, 2, 50]) {
      const { values } = await follow(EVENT, limit);
      expect(places(values)).toEqual([email, unrelated, deleted].map((id) => [id, 1]));
      expect(values[2]).toMatchObject({ notification_label: null, type: null });
    }
  });

  it('include those of deleted notifications in the stored list of its destinations, at most 25 per page', async () => {
    const { tenant, write, follow, page } = setUp();
    const ids = Array.from({ length: 40 }, () => newNotificationId());
    const event = { tenant_id: tenant, event_id: eventId(1) };
    await createDestinationListWriter(client, 'deliveries')(event, ids, RECORD_TIME_MS);
    for (const id of ids.slice(10)) await write(id, [1]);
    const expected = ids.slice(10).map((id) => [id, 1]);
    expect((await page(EVENT, { limit: 1_000 })).values).toHaveLength(15);
    for (const limit of [7, 1_000]) expect(places((await follow(EVENT, limit)).values)).toEqual(expected);
  });

  it.each([`${DEFAULT_ID}-${'0'.repeat(13)}-${'0'.repeat(64)}`, `${DEFAULT_ID}-ntOperators`, 'x'])(
    'reject a marker that no response had: %s',
    async (marker) => {
      await expect(setUp().page(EVENT, { marker })).rejects.toMatchObject({ type: 'badRequest' });
    },
  );
});
