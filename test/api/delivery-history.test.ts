import { DeleteCommand, type DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { DeliveryFilter } from '../../shared/adapters/deliveries/delivery-reader.ts';
import { createIncidentLocks } from '../../shared/adapters/deliveries/incident-locks.ts';
import { createNotificationRepository } from '../../shared/adapters/notifications/notification-repository.ts';
import { createDeliveryHistory } from '../../shared/api/delivery-lists.ts';
import type { DeliverySelection } from '../../shared/api/request.ts';
import { deliveryStatuses } from '../../shared/contracts/outcomes.ts';
import { historyMarker, shortenedId } from '../../shared/domain/delivery-key.ts';
import type { DeliveryRecord } from '../../shared/domain/delivery-record.ts';
import { claimedLock } from '../../shared/domain/incident.ts';
import { newNotificationId } from '../../shared/domain/notification-id.ts';
import { audit } from '../support/audit.ts';
import { createDeliveries, deliveryRecord, RECORD_TIME_MS, writeRecords } from '../support/delivery-records.ts';
import { useDatabase } from '../support/dynamodb.ts';
import { countRequests } from '../support/dynamodb-faults.ts';
import { alarmHeader } from '../support/events.ts';
import { webhookNotification } from '../support/notifications.ts';
import { runs } from '../support/quick-run.ts';
import { testClock } from '../support/test-clock.ts';

const { client, connect } = useDatabase();

const DAY_MS = 86_400_000;
let tenants = 0;

const setUp = (database: DynamoDBDocumentClient = client) => {
  const notification = { tenant: `tenant${tenants++}`, id: newNotificationId() };
  const { clock, wait: advance } = testClock(RECORD_TIME_MS);
  const list = createDeliveryHistory(
    createDeliveries(database),
    createNotificationRepository(database, 'notifications'),
    clock,
  );
  return {
    notification,
    list: (filter: DeliveryFilter = {}, limit = 50, marker: string | null = null) =>
      list(notification, { limit, marker }, { filter }, false),
    select: (selection: DeliverySelection, marker: string | null = null) =>
      list(notification, { limit: 50, marker }, selection, false),
    listOf: (id: string, tenant = notification.tenant) =>
      list({ tenant, id }, { limit: 50, marker: null }, { filter: {} }, false),
    record: (timeMs: number | string, changes: Partial<DeliveryRecord> = {}) =>
      deliveryRecord(notification, `acme:en:al:ch:${timeMs}:CRITICAL`, changes),
    write: (records: readonly DeliveryRecord[]) => writeRecords(client, 'deliveries', records),
    advance,
  };
};

/** Records the limits of the queries, which must be strongly consistent. */
const watchQueries = (database: DynamoDBDocumentClient) => {
  const limits: unknown[] = [];
  database.middlewareStack.add(
    (next, { commandName }) =>
      (args) => {
        if (commandName === 'QueryCommand') {
          expect(args.input).toMatchObject({ ConsistentRead: true });
          limits.push(Object(args.input).Limit);
        }
        return next(args);
      },
    { step: 'initialize' },
  );
  return limits;
};

describe('the history of a notification', () => {
  it('lists each delivery with its attempts, times and reason', async () => {
    const { list, write, record } = setUp();
    const failed = record(RECORD_TIME_MS, {
      status: 'failed',
      attempts: [
        { timestamp_ms: 5, result: 'transient', status: 500, reason: 'http_status', duration_ms: 7 },
        { timestamp_ms: 15, result: 'transient', reason: 'timeout', duration_ms: 9 },
      ],
      last_cause: 'destination',
      last_reason: 'expired',
      entity_label: 'web-1',
    });
    await write([failed]);
    expect(await list()).toEqual({
      values: [
        {
          event_id: failed.event_id,
          entity_id: 'enWeb',
          alarm_id: 'alDisk',
          entity_label: 'web-1',
          alarm_label: 'alDisk',
          state: 'CRITICAL',
          status: 'failed',
          reason: 'expired',
          attempts: [
            { timestamp: 5, result: 'transient', status_code: 500, reason: 'http_status', duration_ms: 7 },
            { timestamp: 15, result: 'transient', status_code: null, reason: 'timeout', duration_ms: 9 },
          ],
          next_attempt_at: null,
          created_at: RECORD_TIME_MS,
          updated_at: RECORD_TIME_MS + 120,
        },
      ],
      next: null,
    });
  });

  it('contains the times of a superseded event and of the newer one only if these are the reason', async () => {
    const { list, write, record } = setUp();
    const [older, other] = [1, 2].map((ms) => record(RECORD_TIME_MS + ms, { status: 'superseded' }));
    if (!older || !other) throw new Error('There are no records.');
    await write([{ ...older, event_at_ms: RECORD_TIME_MS + 1, newer_event_at_ms: RECORD_TIME_MS + 9 }, other]);
    const [listedOther, listed] = (await list()).values;
    expect(listed).toEqual({
      ...listedOther,
      event_id: older.event_id,
      reason: 'older_timestamp',
      event_timestamp: RECORD_TIME_MS + 1,
      newer_event_timestamp: RECORD_TIME_MS + 9,
    });
    expect(listedOther).toMatchObject({ reason: null });
    expect(listedOther?.event_timestamp).toBeUndefined();
  });

  it('contains the time of the next attempt of pending deliveries only', async () => {
    const { list, write, record } = setUp();
    await write(deliveryStatuses.map((status, index) => record(RECORD_TIME_MS + index, { status })));
    const times = (await list()).values.map(({ status, next_attempt_at }) => [status, next_attempt_at]);
    expect(times.filter(([, time]) => time !== null)).toEqual([['pending', RECORD_TIME_MS]]);
    expect(times).toHaveLength(deliveryStatuses.length);
  });

  it('is sorted by the time in the event ID, newest first, and IDs without a time are last', async () => {
    const { list, write, record } = setUp();
    const times = [3, 'none', 1, 2].map((time) => (typeof time === 'number' ? RECORD_TIME_MS + time : time));
    await write(times.map((time) => record(time)));
    const ids = (await list()).values.map(({ event_id }) => event_id.split(':')[4]);
    expect(ids).toEqual([3, 2, 1].map((time) => String(RECORD_TIME_MS + time)).concat('none'));
  });

  it('contains neither expired records, conflicts nor incident locks', async () => {
    const { list, write, record, advance, notification } = setUp();
    const [old, current] = [record(1_700_000_000_000), record(RECORD_TIME_MS, { ttl: 9_999_999_999 })];
    await write([old, current]);
    const repository = createDeliveries(client);
    await repository.recordConflict(current, RECORD_TIME_MS);
    const event = alarmHeader({ tenant_id: notification.tenant });
    await createIncidentLocks(client, 'deliveries').claim(
      claimedLock(event, notification.id, 'claim', RECORD_TIME_MS, {
        producedAtMs: undefined,
        acceptedAtMs: RECORD_TIME_MS,
      }),
      RECORD_TIME_MS,
    );
    for (const marker of [null, `9999999999999-${'f'.repeat(64)}`]) {
      expect((await list({}, 50, marker)).values).toHaveLength(2);
    }
    advance(31 * DAY_MS);
    expect((await list()).values.map(({ event_id }) => event_id)).toEqual([current.event_id]);
  });

  it('filters by statuses, alarm, entity, and when the event was accepted, inclusive', async () => {
    const { list, write, record } = setUp();
    const longId = 'a'.repeat(500);
    await write([
      record(RECORD_TIME_MS + 1, { status: 'failed', accepted_at_ms: RECORD_TIME_MS + 9 }),
      record(RECORD_TIME_MS + 2, { status: 'pending', accepted_at_ms: RECORD_TIME_MS + 8, entity_id: 'enDb' }),
      record(RECORD_TIME_MS + 3, { accepted_at_ms: RECORD_TIME_MS + 7, alarm_id: 'alCpu' }),
      // The record stores a long ID shortened.
      record(RECORD_TIME_MS + 4, { accepted_at_ms: RECORD_TIME_MS + 6, alarm_id: shortenedId(longId) }),
    ]);
    const found = async (filter: DeliveryFilter) =>
      (await list(filter)).values.map(({ event_id }) => Number(event_id.split(':')[4]) - RECORD_TIME_MS);
    const filters: [DeliveryFilter, number[]][] = [
      [{ statuses: ['failed', 'pending'] }, [2, 1]],
      [{ statuses: ['bounced'] }, []],
      [{ alarmId: 'alCpu' }, [3]],
      [{ alarmId: longId }, [4]],
      [{ entityId: 'enDb' }, [2]],
      [{ statuses: ['failed'], alarmId: 'alCpu' }, []],
      [{ fromMs: RECORD_TIME_MS + 8 }, [2, 1]],
      [{ toMs: RECORD_TIME_MS + 7 }, [4, 3]],
      [{ fromMs: RECORD_TIME_MS + 8, toMs: RECORD_TIME_MS + 8, statuses: ['pending'] }, [2]],
      [{ fromMs: RECORD_TIME_MS + 9, toMs: RECORD_TIME_MS + 7 }, []],
    ];
    for (const [filter, expected] of filters) expect([filter, await found(filter)]).toEqual([filter, expected]);
  });

  it('finds the delivery of one event, by its key', async () => {
    const { select, write, record, advance } = setUp();
    const wanted = record(RECORD_TIME_MS + 2);
    await write([1, 2, 3].map((time) => record(RECORD_TIME_MS + time)));
    const selection = { eventId: wanted.event_id };
    expect(await select(selection)).toMatchObject({ values: [{ event_id: wanted.event_id }], next: null });
    expect((await select({ eventId: 'unknown' })).values).toEqual([]);
    expect((await select(selection, historyMarker(wanted.sk))).values).toEqual([]);
    advance(31 * DAY_MS);
    expect((await select(selection)).values).toEqual([]);
  });

  it('rejects a marker that no response had, and starts below any other', async () => {
    const { list, write, record } = setUp();
    await write([1, 2, 3].map((time) => record(RECORD_TIME_MS + time)));
    const below = await list({}, 50, `${RECORD_TIME_MS + 3}-${'0'.repeat(64)}`);
    expect(below.values).toHaveLength(2);
    for (const marker of ['zzz', 'incident#', '!', '\0', '\ud800', '😀'.repeat(5_000), `${RECORD_TIME_MS + 3}-`]) {
      await expect(list({}, 50, marker)).rejects.toMatchObject({
        type: 'badRequest',
        details: 'marker: must be the next_marker of a response',
      });
    }
  });
});

describe('a notification without deliveries', () => {
  it('has an empty history, and is 404 once it is deleted; the default notification always exists', async () => {
    const { listOf, notification } = setUp();
    expect(await listOf('ntTechnicalContactsEmail')).toEqual({ values: [], next: null });
    await expect(listOf(newNotificationId())).rejects.toMatchObject({ type: 'notFoundError' });
    const notifications = createNotificationRepository(client, 'notifications');
    const id = await notifications.create({ tenant: notification.tenant, attributes: webhookNotification(), audit });
    expect(await listOf(id)).toEqual({ values: [], next: null });
    await notifications.delete({ tenant: notification.tenant, id }, audit);
    await expect(listOf(id)).rejects.toMatchObject({ type: 'notFoundError' });
  });

  it('is 404 for another tenant, also if an ID would name the partition of a tenant with a # in its name', async () => {
    const { listOf, write, record, notification } = setUp();
    await write([record(RECORD_TIME_MS)]);
    const { tenant, id } = notification;
    await expect(listOf(id, 'other')).rejects.toMatchObject({ type: 'notFoundError' });
    const victim = { tenant: `victim#${tenant}`, id };
    await write([deliveryRecord(victim, 'event')]);
    await expect(listOf(`${id}#victim`)).rejects.toMatchObject({ type: 'notFoundError' });
  });

  it('is 200 if it is deleted and a filter matches none of its records', async () => {
    const { list, write, record } = setUp();
    await write([record(RECORD_TIME_MS)]);
    expect(await list({ statuses: ['bounced'] })).toEqual({ values: [], next: null });
    expect(await list({}, 50, `${'0'.repeat(13)}-${'0'.repeat(64)}`)).toEqual({ values: [], next: null });
  });
});

describe('a page of a long history', () => {
  /** DynamoDB evaluates at most 1 MB per query (AWS limit), so one query is enough to bound the read. */
  it('reads at most 1 MB: one query of a page, or one without a limit if there is a filter', async () => {
    const database = connect();
    const [counts, limits] = [countRequests(database), watchQueries(database)];
    const { list, write, record } = setUp(database);
    const attempts = Array(6).fill({
      timestamp_ms: RECORD_TIME_MS,
      result: 'delivered',
      status: 200,
      duration_ms: 100,
    });
    await write(Array.from({ length: 3_000 }, (_, index) => record(RECORD_TIME_MS + index, { attempts })));

    expect((await list()).values).toHaveLength(50);
    expect(counts).toEqual({ QueryCommand: 1 });
    expect(limits).toEqual([51]);

    const filtered = await list({ statuses: ['failed'] }, 1_000);
    expect(filtered.values).toEqual([]);
    expect(filtered.next).not.toBeNull();
    expect((await list({ statuses: ['delivered'] }, 1_000)).values).toHaveLength(1_000);
    expect(counts).toEqual({ QueryCommand: 3 });
    expect(limits).toEqual([51, undefined, undefined]);
  });

  it('never skips or repeats a record that existed the whole time, whatever is added or deleted meanwhile', async () => {
    /** Ten records exceed the 1 MB that a query evaluates. */
    const padding = ['x'.repeat(110_000)];
    const status = fc.constantFrom('delivered' as const, 'failed' as const);
    const alarm = fc.constantFrom('alA', 'alB');
    const entry = fc.record({ time: fc.nat(40), status, alarm, isKept: fc.boolean() });
    const change = fc.record({ time: fc.nat(40), status, alarm, deletions: fc.nat(2) });
    const filter = fc.record({
      status: fc.option(status, { nil: undefined }),
      alarmId: fc.option(alarm, { nil: undefined }),
    });
    await fc.assert(
      fc.asyncProperty(
        fc.array(entry, { maxLength: 30 }),
        fc.array(change, { maxLength: 10 }),
        filter,
        fc.integer({ min: 1, max: 7 }),
        async (entries, changes, wanted, limit) => {
          const { list, write, notification } = setUp();
          let sequence = 0;
          const create = (entryOf: { time: number; status: 'delivered' | 'failed'; alarm: string }) =>
            deliveryRecord(notification, `e${sequence++}:${RECORD_TIME_MS + entryOf.time}:OK`, {
              status: entryOf.status,
              alarm_id: entryOf.alarm,
              reached_recipient_hashes: padding,
            });
          const initial = entries.map((each) => ({ record: create(each), isKept: each.isKept }));
          // The history exists even if no record is kept.
          await write([...initial.map(({ record }) => record), create({ time: 0, status: 'failed', alarm: 'alC' })]);
          const temporary = initial.filter(({ isKept }) => !isKept).map(({ record }) => record);
          const pending = [...changes];
          const visited: string[] = [];
          for (let marker: string | null = null; ; ) {
            const { values, next } = await list(
              { ...wanted, statuses: wanted.status && [wanted.status] },
              limit,
              marker,
            );
            expect(values.length).toBeLessThanOrEqual(limit);
            visited.push(...values.map(({ event_id }) => event_id));
            if (next === null) break;
            marker = next;
            const { deletions, ...added } = pending.pop() ?? { deletions: 0 };
            if ('time' in added) await write([create(added)]);
            for (const { pk, sk } of temporary.splice(0, deletions)) {
              await client.send(new DeleteCommand({ TableName: 'deliveries', Key: { pk, sk } }));
            }
          }
          const matching = initial
            .filter(({ isKept, record }) => {
              const hasStatus = wanted.status === undefined || record.status === wanted.status;
              return isKept && hasStatus && (wanted.alarmId === undefined || record.alarm_id === wanted.alarmId);
            })
            .map(({ record }) => record.event_id);
          expect(new Set(visited).size).toBe(visited.length);
          expect(matching.filter((id) => !visited.includes(id))).toEqual([]);
          const times = visited.map((id) => Number(id.split(':')[1]));
          expect(times).toEqual(times.toSorted((left, right) => right - left));
        },
      ),
      { numRuns: runs(40) },
    );
  });
});
