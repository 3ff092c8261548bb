import { beforeEach, describe, expect, it, vi } from 'vitest';
import { createAccountRepository } from '../../../shared/adapters/accounts/account-repository.ts';
import { createEscalationLimit } from '../../../shared/adapters/accounts/escalation-limit.ts';
import { createDeliveryRepository } from '../../../shared/adapters/deliveries/delivery-repository.ts';
import {
  createDestinationListReader,
  createDestinationListWriter,
} from '../../../shared/adapters/deliveries/destination-list.ts';
import { UnprocessedKeyError } from '../../../shared/adapters/dynamodb/errors.ts';
import { logger } from '../../../shared/adapters/logger.ts';
import { UnreadableNotificationError } from '../../../shared/adapters/notifications/notification-items.ts';
import { createNotificationRepository } from '../../../shared/adapters/notifications/notification-repository.ts';
import type { AlarmState } from '../../../shared/contracts/alarm-event.ts';
import { stopReasons } from '../../../shared/contracts/outcomes.ts';
import type { NotificationRecord } from '../../../shared/contracts/responses/notifications.ts';
import { deliveryKey, parseDeliveryPartition } from '../../../shared/domain/delivery-key.ts';
import {
  claimedRecord,
  type DeliveryRecord,
  withFailure,
  withSummary,
} from '../../../shared/domain/delivery-record.ts';
import type { NotificationKey } from '../../../shared/domain/notification.ts';
import {
  DEFAULT_NOTIFICATION_ID,
  newNotificationId,
  OPERATORS_NOTIFICATION_ID,
} from '../../../shared/domain/notification-id.ts';
import { accountWindow, summaryNotice } from '../../../shared/domain/summary.ts';
import {
  createDeliveryReports,
  type ReportDependencies,
  type ReportEnvironment,
} from '../../../shared/pipeline/notices/delivery-reports.ts';
import { escalationCounter, MAX_ESCALATIONS_PER_DAY } from '../../../shared/pipeline/notices/unreached-notice.ts';
import { audit } from '../../support/audit.ts';
import { writeRecords } from '../../support/delivery-records.ts';
import { useDatabase } from '../../support/dynamodb.ts';
import { countRequests, withThrottling } from '../../support/dynamodb-faults.ts';
import { alarmHeader, headerOf, readDelivery } from '../../support/events.ts';
import { webhookNotification } from '../../support/notifications.ts';
import { reportEnvironment } from '../../support/report-environment.ts';

const { client, connect } = useDatabase();

beforeEach(() => {
  vi.spyOn(logger, 'warn').mockImplementation(() => undefined);
  return () => vi.restoreAllMocks();
});

const NOW_MS = Date.UTC(2026, 0, 1, 6);
const event = alarmHeader();
const tenant = event.tenant_id;
const stored = createNotificationRepository(client, 'notifications');
const deliveries = createDeliveryRepository(client, 'deliveries');
const writeDestinationList = createDestinationListWriter(client, 'deliveries');
const readDestinationList = createDestinationListReader(client, 'deliveries');

/** The account has no fallback notifications. */
const accounts = { fallbackNotifications: async (): Promise<string[]> => [] };

/** Sets up the reports of one execution environment. */
const setUp = (changes: Partial<ReportDependencies> = {}, settings: Partial<ReportEnvironment> = {}) => {
  const queued: { url: string; kind: string | undefined; subject: string | undefined }[] = [];
  /** The IDs of the notifications that get the notices. */
  const recipients: string[] = [];
  const queues = {
    sendDelayed: async (url: string, { body }: { body: string }) => {
      const { notice, notification_id: id } = readDelivery(body);
      recipients.push(id);
      queued.push({ url: url.split('/').at(-1) ?? '', kind: notice?.kind, subject: notice?.subject });
    },
  };
  const repositories = { notifications: stored, deliveries, readDestinationList, accounts };
  const reports = createDeliveryReports(
    { client, queues, ...repositories, clock: () => NOW_MS, ...changes },
    { ...reportEnvironment, ...settings },
  );
  return { reports, queued, recipients };
};

/** Sets up reports that read labels so. */
const setUpLabels = (listByIds: typeof stored.listByIds) => setUp({ notifications: { ...stored, listByIds } });

/** Returns reads that fail. */
const failingTargets =
  (errorOf: (key: NotificationKey) => Error): typeof stored.targets =>
  () => ({ find: (key) => Promise.reject(errorOf(key)) });

/** Returns the record of a delivery that failed permanently. */
const failedRecord = (
  notification_id = newNotificationId(),
  changes: Partial<DeliveryRecord> = {},
): DeliveryRecord => ({
  ...withFailure(
    claimedRecord({ event, notification_id, accepted_at_ms: NOW_MS, content_hash: 'hash' }, 'claim', NOW_MS),
    'http_status',
    NOW_MS,
  ),
  ...changes,
});

/** Counts the batches of records that are read. */
const countedReads = () => {
  const sizes: number[] = [];
  const readAll: typeof deliveries.readAll = async (keys) => {
    if (keys.length > 0) sizes.push(keys.length);
    return deliveries.readAll(keys);
  };
  return { sizes, deliveries: { ...deliveries, readAll } };
};

const record: NotificationRecord = { ...webhookNotification(), id: newNotificationId() };

describe('a notice', () => {
  it('reads one notification at a time, however many alerts fail together: a notification may have several MB', async () => {
    let [concurrent, maxConcurrent] = [0, 0];
    const { reports, queued } = setUpLabels(async function* () {
      concurrent++;
      maxConcurrent = Math.max(maxConcurrent, concurrent);
      await new Promise((resolve) => setImmediate(resolve));
      yield record;
      concurrent--;
    });
    const records = Array.from({ length: 20 }, () => failedRecord());
    await Promise.all(records.map((failed) => reports.reportFailure(event, failed)));
    expect(maxConcurrent).toBe(1);
    expect(queued).toHaveLength(20);
  });

  it('is queued once by an execution environment, however many alerts of a notification fail together', async () => {
    const { reports, queued } = setUp();
    const failed = failedRecord();
    await Promise.all(Array.from({ length: 20 }, () => reports.reportFailure(event, failed)));
    expect(queued).toEqual([{ url: 'contacts', kind: 'undelivered', subject: expect.anything() }]);
  });

  it('of a daily limit names it to the contacts', async () => {
    const { reports, queued } = setUp();
    await reports.reportLimit(event, failedRecord(), 'sms');
    const subject = 'The daily limit of SMS is reached: alerts are summarized';
    expect(queued).toEqual([{ url: 'contacts', kind: 'limit', subject }]);
  });

  it('is queued without labels if reading them takes longer than a second', async () => {
    const { reports, queued } = setUpLabels(async function* () {
      yield record;
      await new Promise(() => undefined);
    });
    const failed = failedRecord();
    await reports.escalateUnreached(event, failed, []);
    await reports.reportFailure(event, failed);
    expect(queued.map(({ url, kind }) => [url, kind])).toEqual([
      ['contacts', 'unreached'],
      ['managed', 'unreached'],
      ['contacts', 'undelivered'],
    ]);
  });

  it.each([
    [true, true, 'undelivered'],
    [true, false, 'undelivered'],
    [false, true, 'failing'],
    [false, false, undefined],
  ])(
    'of a dead letter with deadLetterEmail %s and failingNotices %s is of the kind %s',
    async (...[email, notices, kind]) => {
      const { reports, queued } = setUp({}, { DEAD_LETTER_EMAIL: email, FAILING_NOTICES: notices });
      await reports.reportFailure(event, failedRecord());
      expect(queued.map((notice) => notice.kind)).toEqual(kind === undefined ? [] : [kind]);
    },
  );

  it.each(stopReasons)('is not queued for the reason %s, because the stop has one', async (last_reason) => {
    const { reports, queued } = setUp();
    await reports.reportFailure(event, failedRecord(newNotificationId(), { last_reason }));
    expect(queued).toEqual([]);
  });
});

describe('an escalation', () => {
  it.each([
    ['contacts+managed', ['contacts', 'managed']],
    ['contacts', ['contacts']],
    ['off', []],
  ] as const)('with escalateUnreached %s is queued for %s', async (mode, recipients) => {
    const { reports, queued } = setUp({}, { ESCALATE_UNREACHED: mode });
    await reports.escalateUnreached(alarmHeader({ alarm: { id: newNotificationId() } }), failedRecord(), []);
    expect(queued.map(({ url }) => url)).toEqual(recipients);
  });

  it('goes to the operators only if a destination is to blame: for causes of the service, they have an alarm', async () => {
    const { reports, queued } = setUp();
    const alarm = alarmHeader({ alarm: { id: newNotificationId() }, incident_key: newNotificationId() });
    const [throttled, rejecting] = [failedRecord(undefined, { last_cause: 'service' }), failedRecord()];
    await writeRecords(client, 'deliveries', [throttled, rejecting]);
    await reports.escalateUnreached(alarm, throttled, []);
    expect(queued.map(({ url }) => url)).toEqual(['contacts']);
    await reports.escalateUnreached(alarm, throttled, []);
    expect(queued).toHaveLength(1);
    await reports.escalateUnreached(alarm, throttled, [parseDeliveryPartition(rejecting.pk).notificationId]);
    expect(queued.map(({ url }) => url)).toEqual(['contacts', 'contacts', 'managed']);
  });

  it('is queued if another notification cannot be read, and so has not received the alert, unless its read is throttled', async () => {
    const [unreadable, throttled] = [newNotificationId(), newNotificationId()];
    const targets = failingTargets(({ id }) =>
      id === throttled ? new UnprocessedKeyError() : new UnreadableNotificationError({ tenant, id }),
    );
    const { reports, queued } = setUp({ notifications: { ...stored, targets } });
    const escalate = (...ids: string[]) => reports.escalateUnreached(event, failedRecord(), ids);
    await expect(escalate(unreadable, throttled)).rejects.toThrow(UnprocessedKeyError);
    expect(queued).toEqual([]);
    await escalate(unreadable);
    expect(queued.map(({ url }) => url)).toEqual(['contacts', 'managed']);
  });
});

describe('an escalation of an event that a summary lists for another notification', () => {
  /** Creates an alert that failed, and was summarized for another notification. */
  const setUpAlert = async () => {
    const [id, failedId] = [newNotificationId(), newNotificationId()];
    const alarm = alarmHeader({ event_id: newNotificationId(), alarm: { id: newNotificationId() } });
    const notice = summaryNotice({ tenant, notificationId: id }, accountWindow(NOW_MS, 5));
    const summaryEvent = headerOf(notice.event);
    const write = (...written: DeliveryRecord[]) => writeRecords(client, 'deliveries', written);
    const failed = { ...failedRecord(), alarm_id: alarm.alarm.id, ...deliveryKey(alarm, failedId) };
    const summarized = {
      ...withSummary({ ...failed, siblings: [failedId] }, summaryEvent.event_id, NOW_MS),
      ...deliveryKey(alarm, id),
    };
    const summary = (status: DeliveryRecord['status'], others: Partial<DeliveryRecord> = {}): DeliveryRecord => ({
      ...failedRecord(id, { event_id: summaryEvent.event_id, notice: 'summary', alarm_count: 2 }),
      ...deliveryKey(summaryEvent, id),
      status,
      ...others,
    });
    const reportSummary = async ({ reports }: ReturnType<typeof setUp>, record: DeliveryRecord) => {
      await write(record);
      await reports.escalateUnreached({ ...summaryEvent, state: record.state }, record, undefined);
    };
    await write(summarized);
    return { id, write, alarm, failed, summarized, summary, reportSummary };
  };
  const toContacts = ({ queued }: ReturnType<typeof setUp>) =>
    queued.filter(({ url }) => url === 'contacts').map(({ subject }) => subject);

  it('reads the summaries of all notifications at once', async () => {
    const alerts = [await setUpAlert(), await setUpAlert(), await setUpAlert()];
    const { id: ownId, alarm, failed } = await setUpAlert();
    for (const { id, write, summarized, summary } of alerts) {
      await write({ ...summarized, pk: deliveryKey(event, id).pk, sk: failed.sk }, summary('failed'));
    }
    const reads = countedReads();
    const { reports } = setUp({ deliveries: reads.deliveries });
    await reports.escalateUnreached(alarm, failed, [ownId, ...alerts.map(({ id }) => id)]);
    expect(reads.sizes).toEqual([4, 4]);
  });

  it('is queued when the summary is cancelled if its other notification cannot be read', async () => {
    const { summary, reportSummary } = await setUpAlert();
    const targets = failingTargets(({ id }) => new UnreadableNotificationError({ tenant, id }));
    const started = setUp({ notifications: { ...stored, targets } });
    await reportSummary(started, summary('cancelled'));
    expect(toContacts(started)).toHaveLength(1);
  });

  it('is queued once for a summary that waits for hours', async () => {
    const started = setUp();
    const { summary, reportSummary } = await setUpAlert();
    for (const hours of [0, 1, 2]) {
      const updated_at_ms = NOW_MS + hours * 3_600_000;
      const next_attempt_at_ms = updated_at_ms + 3_600_000;
      const waiting = { last_cause: 'destination', updated_at_ms, next_attempt_at_ms } as const;
      // Escalations of OK have a daily limit of their own.
      await reportSummary(started, summary('pending', { ...waiting, state: 'OK' }));
    }
    expect(toContacts(started)).toHaveLength(1);
  });
});

describe('an escalation of an event with more than 26 notifications', () => {
  let tenants = 0;

  /** Creates an event whose list of destinations is stored, and the records of those that have failed. */
  const setUpEvent = async (count = 130) => {
    const owner = `many${tenants++}`;
    const manyEvent = alarmHeader({ tenant_id: owner, event_id: `${owner}:en:al:ch:${NOW_MS}:CRITICAL` });
    const ids = Array.from({ length: count }, newNotificationId);
    await writeDestinationList(manyEvent, ids, NOW_MS);
    const recordOf = (id: string, changes: Partial<DeliveryRecord> = {}): DeliveryRecord => ({
      ...failedRecord(),
      ...deliveryKey(manyEvent, id),
      ...changes,
    });
    const write = (records: readonly DeliveryRecord[]) => writeRecords(client, 'deliveries', records);
    return { owner, manyEvent, ids, recordOf, write };
  };

  it('is queued once if all fail at the same moment, after one check', async () => {
    const { manyEvent, ids, recordOf, write } = await setUpEvent();
    const reads = countedReads();
    const { reports, queued } = setUp({ deliveries: reads.deliveries });
    const records = ids.map((id) => recordOf(id));
    await write(records);
    await Promise.all(records.map((failed) => reports.escalateUnreached(manyEvent, failed, undefined)));
    const subject = 'CRITICAL on web-1: none of its 130 destinations could be reached';
    expect(queued).toMatchObject([
      { url: 'contacts', subject },
      { url: 'managed', subject },
    ]);
    expect(reads.sizes).toEqual([100, 29]);
  });

  it('is not queued while one may still arrive, and reads no more than the 100 after a random start', async () => {
    const { manyEvent, ids, recordOf, write } = await setUpEvent(1_000);
    await write(ids.map((id, index) => recordOf(id, index === 555 ? { status: 'delivered' } : {})));
    const failed = recordOf(ids[0] ?? '');
    const sizesFrom = async (random: number) => {
      const reads = countedReads();
      const { reports, queued } = setUp({ deliveries: reads.deliveries, random: () => random });
      await reports.escalateUnreached(manyEvent, failed, undefined);
      expect(queued).toEqual([]);
      return reads.sizes;
    };
    expect(await sizesFrom(0.5)).toEqual([100]);
    expect(await sizesFrom(0.3)).toEqual([100, 100, 100]);
  });

  it('fails if a read is throttled, and is given up with a log line if the list has expired', async () => {
    const { manyEvent, ids, recordOf } = await setUpEvent();
    const throttled = createDeliveryRepository(
      withThrottling(connect({ maxAttempts: 1 }), 'BatchGetItemCommand'),
      'deliveries',
    );
    const failed = recordOf(ids[0] ?? '');
    const { reports, queued } = setUp({ deliveries: throttled });
    await expect(reports.escalateUnreached(manyEvent, failed, undefined)).rejects.toThrow('too fast');
    const other = alarmHeader({ event_id: 'not stored' });
    const unlisted = { ...failed, ...deliveryKey(other, ids[0] ?? '') };
    const logged = vi.spyOn(logger, 'error').mockImplementation(() => undefined);
    expect([await reports.escalateUnreached(other, unlisted, undefined), queued]).toEqual([true, []]);
    expect(logged).toHaveBeenCalledExactlyOnceWith('event not escalated', expect.anything());
  });
});

describe('an escalation of an account with fallback notifications', () => {
  const SMS = { type: 'sms', label: 'Phone', details: { phone_number: '+12025550123' } } as const;
  const contactsAndOperators = [DEFAULT_NOTIFICATION_ID, OPERATORS_NOTIFICATION_ID];
  let tenants = 0;

  /** Creates an account with an SMS and a webhook as fallback notifications, and an alert that failed. */
  const setUpAccount = async (state: AlarmState = 'CRITICAL', changes: Partial<ReportDependencies> = {}) => {
    const owner = `fallback${tenants++}`;
    const [sms, webhook] = [
      await stored.create(owner, SMS, audit),
      await stored.create(owner, webhookNotification(), audit),
    ];
    const fallback = [sms, webhook];
    const alarm = alarmHeader({
      tenant_id: owner,
      event_id: `${owner}:en:al:ch:${NOW_MS}:${state}`,
      details: { state },
    });
    const failed = { ...failedRecord(), ...deliveryKey(alarm, newNotificationId()) };
    const { reports, queued, recipients } = setUp({
      accounts: { fallbackNotifications: async () => fallback },
      ...changes,
    });
    const escalate = (siblings: readonly string[] = [], record = failed) =>
      reports.escalateUnreached(alarm, record, siblings);
    return { owner, sms, webhook, fallback, alarm, failed, reports, escalate, queued, recipients };
  };

  it('costs a sender, which has just read the account, no request if there are none of these', async () => {
    const database = connect();
    const requests = countRequests(database);
    const repository = createAccountRepository(database, 'accounts', () => NOW_MS);
    const { owner, escalate, recipients } = await setUpAccount('CRITICAL', { accounts: repository });
    await repository.isShadowed(owner, NOW_MS);
    await escalate();
    expect(recipients.toSorted()).toEqual(contactsAndOperators.toSorted());
    expect(requests).toEqual({ GetItemCommand: 1 });
  });

  it('skips destinations of the event, notifications that do not exist, and the contacts, who get it anyway', async () => {
    const { owner, sms, webhook, fallback, alarm, escalate, recipients } = await setUpAccount();
    await writeRecords(client, 'deliveries', [{ ...failedRecord(), ...deliveryKey(alarm, sms) }]);
    await stored.delete({ tenant: owner, id: webhook }, audit);
    const foreign = await stored.create(`${owner}#`, SMS, audit);
    fallback.push(DEFAULT_NOTIFICATION_ID, OPERATORS_NOTIFICATION_ID, newNotificationId(), foreign, 'no ID', '#');
    await escalate([sms]);
    expect(recipients.toSorted()).toEqual(contactsAndOperators.toSorted());
  });

  it('skips those of the types whose recipients get it anyway: technical contacts, and operators if they get escalations', async () => {
    for (const [mode, isManagedSkipped] of [
      ['contacts+managed', true],
      ['contacts', false],
    ] as const) {
      const { owner, sms, webhook, fallback, alarm } = await setUpAccount();
      const contacts = await stored.create(owner, { type: 'technicalContactsEmail', label: 'C', details: {} }, audit);
      const managed = await stored.create(owner, { type: 'managed', label: 'M', details: {} }, audit);
      const accounts = { fallbackNotifications: async () => [...fallback, contacts, managed] };
      const { reports, recipients } = setUp({ accounts }, { ESCALATE_UNREACHED: mode });
      await reports.escalateUnreached(alarm, failedRecord(), []);
      const others = isManagedSkipped ? contactsAndOperators : [DEFAULT_NOTIFICATION_ID, managed];
      expect(recipients.toSorted()).toEqual([...others, sms, webhook].toSorted());
    }
  });

  it('skips the destination whose failure is reported, and destinations of an event with more than 26', async () => {
    const { sms, webhook, alarm, failed, escalate, reports, recipients } = await setUpAccount();
    await escalate([], { ...failed, ...deliveryKey(alarm, sms) });
    expect(recipients.toSorted()).toEqual([...contactsAndOperators, webhook].toSorted());
    const many = { ...alarm, alarm: { id: newNotificationId() }, incident_key: newNotificationId() };
    await writeDestinationList(many, [...Array.from({ length: 30 }, newNotificationId), sms], NOW_MS);
    await writeRecords(client, 'deliveries', [{ ...failedRecord(), ...deliveryKey(many, sms) }]);
    recipients.length = 0;
    await reports.escalateUnreached(many, failed, undefined);
    expect(recipients.toSorted()).toEqual([...contactsAndOperators, webhook].toSorted());
  });

  it('reaches contacts and operators although the account cannot be read', async () => {
    const { escalate, recipients } = await setUpAccount('CRITICAL', {
      accounts: { fallbackNotifications: () => Promise.reject(new Error('no response')) },
    });
    await expect(escalate()).rejects.toThrow('no response');
    expect(recipients.toSorted()).toEqual(contactsAndOperators.toSorted());
  });

  it('above the daily limit is a summary, which goes to these, too', async () => {
    const { owner, sms, webhook, alarm, escalate, recipients } = await setUpAccount();
    const isWithinLimit = createEscalationLimit(client, 'accounts', MAX_ESCALATIONS_PER_DAY);
    for (let count = 0; count < MAX_ESCALATIONS_PER_DAY; count++) {
      await isWithinLimit(escalationCounter(alarm.state), owner, String(count), NOW_MS);
    }
    await escalate();
    expect(recipients.toSorted()).toEqual([...contactsAndOperators, sms, webhook].toSorted());
  });
});
