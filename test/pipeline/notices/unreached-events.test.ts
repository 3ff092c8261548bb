import { beforeEach, describe, expect, it, vi } from 'vitest';
import { createAccountRepository } from '../../../shared/adapters/accounts/account-repository.ts';
import { createDeliveryReader } from '../../../shared/adapters/deliveries/delivery-reader.ts';
import {
  createDestinationListReader,
  createDestinationListWriter,
} from '../../../shared/adapters/deliveries/destination-list.ts';
import { createCounters, dailyCounter } from '../../../shared/adapters/dynamodb/counters.ts';
import { UnprocessedKeyError } from '../../../shared/adapters/dynamodb/errors.ts';
import { logger } from '../../../shared/adapters/logger.ts';
import { createNotificationRepository } from '../../../shared/adapters/notifications/notification-repository.ts';
import { UnreadableNotificationError } from '../../../shared/adapters/notifications/notification-targets.ts';
import type { AlarmState } from '../../../shared/contracts/alarm-event.ts';
import { deliveryKey, parseDeliveryPartition } from '../../../shared/domain/delivery-key.ts';
import {
  claimedRecord,
  type DeliveryRecord,
  withFailure,
  withReportedAlert,
  withStatus,
} from '../../../shared/domain/delivery-record.ts';
import type { NotificationKey } from '../../../shared/domain/notification.ts';
import {
  DEFAULT_NOTIFICATION_ID,
  newNotificationId,
  OPERATORS_NOTIFICATION_ID,
} from '../../../shared/domain/notification-id.ts';
import { accountWindow, summaryNotice } from '../../../shared/domain/summary.ts';
import { createNameReader } from '../../../shared/pipeline/notices/delivery-notices.ts';
import { createEscalation, type EscalationEnvironment } from '../../../shared/pipeline/notices/escalation.ts';
import { createNoticeQueue } from '../../../shared/pipeline/notices/notice-queue.ts';
import { escalationCounter, MAX_ESCALATIONS_PER_DAY } from '../../../shared/pipeline/notices/notice-table.ts';
import { createUnreachedEvents } from '../../../shared/pipeline/notices/unreached-events.ts';
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
const stored = createNotificationRepository(client, 'notifications');
const deliveries = createDeliveryReader(client, 'deliveries');
const writeDestinationList = createDestinationListWriter(client, 'deliveries');
const readDestinationList = createDestinationListReader(client, 'deliveries');

/** The account has no fallback notifications. */
const accounts = { fallbackNotifications: async (): Promise<string[]> => [] };

/** What the escalations of a test read. */
type Reads = {
  notifications: Pick<typeof stored, 'listByIds' | 'targets'>;
  deliveries: Pick<typeof deliveries, 'readReadable' | 'listPage'>;
  accounts: { fallbackNotifications: (tenant: string) => Promise<string[]> };
  random: () => number;
};

/** Sets up the escalations of one execution environment. */
const setUp = (changes: Partial<Reads> = {}, settings: Partial<EscalationEnvironment> = {}) => {
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
  const reads: Reads = { notifications: stored, deliveries, accounts, random: Math.random, ...changes };
  const environment = { ...reportEnvironment, ...settings };
  const notices = createNoticeQueue(queues, environment.SENDER_QUEUES, () => NOW_MS);
  const unreached = createUnreachedEvents({
    ...reads,
    readDestinationList,
    escalation: createEscalation({ client, notices, ...reads }, environment),
    readNames: createNameReader(reads.notifications),
    scale: 1,
  });
  return { ...unreached, queued, recipients };
};

/** Returns reads that fail. */
const failingTargets =
  (errorOf: (key: NotificationKey) => Error): typeof stored.targets =>
  () => ({ find: (key) => Promise.reject(errorOf(key)) });

let events = 0;
/** Returns an event of an alarm of its own. */
const newEvent = (state: AlarmState = 'CRITICAL', tenant = 'acme') =>
  alarmHeader({
    tenant_id: tenant,
    event_id: `${tenant}:en:al${events++}:ch:${NOW_MS}:${state}`,
    alarm: { id: `al${events}`, label: 'Disk space' },
    details: { state },
  });

/** Returns the record of a delivery that failed permanently. */
const failedRecord = (
  siblings: string[] | undefined = [],
  changes: Partial<DeliveryRecord> = {},
  event = newEvent(),
  notification_id = newNotificationId(),
): DeliveryRecord => {
  const body = { event, notification_id, siblings, accepted_at_ms: NOW_MS, content_hash: 'hash' };
  const failed = withFailure(claimedRecord(body, 'claim', NOW_MS, 'webhook'), 'http_status', NOW_MS);
  return { ...withReportedAlert(failed, body, 1), ...changes };
};

/** Counts the batches of records that are read. */
const countedReads = () => {
  const sizes: number[] = [];
  const readReadable: typeof deliveries.readReadable = async (keys) => {
    if (keys.length > 0) sizes.push(keys.length);
    return deliveries.readReadable(keys);
  };
  return { sizes, deliveries: { ...deliveries, readReadable } };
};

const idOf = ({ pk }: DeliveryRecord): string => parseDeliveryPartition(pk).id;

describe('an escalation', () => {
  it.each([
    ['contacts+managed', ['contacts', 'managed']],
    ['contacts', ['contacts']],
    ['off', []],
  ] as const)('with escalateUnreached %s is queued for %s', async (mode, recipients) => {
    const { escalate, queued } = setUp({}, { ESCALATE_UNREACHED: mode });
    await escalate(failedRecord());
    expect(queued.map(({ url }) => url)).toEqual(recipients);
  });

  it('is queued once if its last destinations fail in different hours, and both are then reported', async () => {
    const event = newEvent();
    const ids = [newNotificationId(), newNotificationId()];
    const endOfHourMs = NOW_MS + 3_600_000;
    const records = ids.map((id, index) =>
      failedRecord([ids[1 - index] ?? ''], { updated_at_ms: endOfHourMs + (index === 0 ? -2_000 : 1_000) }, event, id),
    );
    await writeRecords(client, 'deliveries', records);
    const all = [setUp(), setUp()];
    for (const [index, { escalate }] of all.entries()) {
      const record = records[index];
      if (record) await escalate(record);
    }
    expect(all.map(({ queued }) => queued.length)).toEqual([2, 0]);
  });

  it('belongs to the hour of a bounce that made a failed alert one that reached nobody', async () => {
    const event = newEvent();
    const { escalate, queued } = setUp();
    await escalate(failedRecord([], {}, event));
    await escalate(failedRecord([], { email_report: 'bounce', email_reported_at_ms: NOW_MS + 7_200_000 }, event));
    expect(queued).toHaveLength(4);
  });

  it('has the labels and the status of the alert, as the record stores them', async () => {
    const { escalate, queued } = setUp();
    await escalate(failedRecord());
    expect(queued[0]?.subject).toBe('CRITICAL on web-1, Disk space: its only destination could not be reached');
  });

  it('goes to the operators only if a destination is to blame: for causes of the service, they have an alarm', async () => {
    const { escalate, queued } = setUp();
    const event = newEvent();
    const rejecting = failedRecord([], {}, event);
    await writeRecords(client, 'deliveries', [rejecting]);
    const throttled = failedRecord([], { last_cause: 'service' }, event);
    await escalate(throttled);
    expect(queued.map(({ url }) => url)).toEqual(['contacts']);
    await escalate(throttled);
    expect(queued).toHaveLength(1);
    await escalate({ ...throttled, siblings: [idOf(rejecting)] });
    expect(queued.map(({ url }) => url)).toEqual(['contacts', 'contacts', 'managed']);
  });

  it('is queued if another notification cannot be read, and so has not received the alert, unless its read is throttled', async () => {
    const [unreadable, throttled] = [newNotificationId(), newNotificationId()];
    const targets = failingTargets(({ tenant, id }) =>
      id === throttled ? new UnprocessedKeyError() : new UnreadableNotificationError({ tenant, id }),
    );
    const { escalate, queued } = setUp({ notifications: { ...stored, targets } });
    const record = failedRecord();
    await expect(escalate({ ...record, siblings: [unreadable, throttled] })).rejects.toThrow(UnprocessedKeyError);
    expect(queued).toEqual([]);
    await escalate({ ...record, siblings: [unreadable] });
    expect(queued.map(({ url }) => url)).toEqual(['contacts', 'managed']);
  });

  it('is not queued while another destination has not been attempted', async () => {
    const other = await stored.create({ tenant: 'acme', attributes: webhookNotification(), audit });
    const { escalate, queued } = setUp();
    await escalate(failedRecord([other]));
    expect(queued).toEqual([]);
  });
});

describe('an escalation of an event whose plan lists notifications that do not exist', () => {
  const planOf = (event = newEvent(), notification_ids = [newNotificationId()]) =>
    ({ kind: 'plan', event, notification_ids, accepted_at_ms: NOW_MS }) as const;

  it('is queued once if none of them has a delivery', async () => {
    const { escalatePlan, queued } = setUp();
    const plan = planOf();
    await escalatePlan(plan);
    await setUp().escalatePlan(plan);
    const subject = 'CRITICAL on web-1, Disk space: its notification plan lists only notifications that do not exist';
    expect(queued).toEqual(['contacts', 'managed'].map((url) => ({ url, kind: 'unreached', subject })));
  });

  it('is queued if the others have failed, and not again if that is known', async () => {
    const event = newEvent();
    const failed = failedRecord([newNotificationId()], {}, event);
    await writeRecords(client, 'deliveries', [failed]);
    const { escalate, escalatePlan, queued } = setUp();
    await escalatePlan(planOf(event, [idOf(failed), newNotificationId()]));
    expect(queued[0]?.subject).toContain('none of its 2 destinations could be reached');
    await escalate(failed);
    await setUp().escalate(failed);
    expect(queued).toHaveLength(2);
  });

  it.each([
    ['another one was reached', { status: 'delivered' }],
    ['a summary that was cancelled listed it', { status: 'cancelled', notice: 'summary' }],
  ] as const)('is not queued if %s', async (_, changes) => {
    const event = newEvent();
    const other = failedRecord([], changes, event);
    await writeRecords(client, 'deliveries', [other]);
    const { escalatePlan, queued } = setUp();
    await escalatePlan(planOf(event, [idOf(other), newNotificationId()]));
    expect(queued).toEqual([]);
  });
});

describe('an escalation of an event that a summary lists for another notification', () => {
  /** Creates an alert that failed, and was summarized for another notification. */
  const setUpAlert = async () => {
    const id = newNotificationId();
    const event = newEvent();
    const summaryEvent = headerOf(summaryNotice({ tenant: 'acme', id }, accountWindow(NOW_MS, 5)).event);
    const write = (...written: DeliveryRecord[]) => writeRecords(client, 'deliveries', written);
    const failed = failedRecord([id], {}, event);
    const own = failedRecord([idOf(failed)], {}, event, id);
    const summarized = withStatus(own, 'summarized', NOW_MS, { summary_id: summaryEvent.event_id });
    const summary = (status: DeliveryRecord['status'], others: Partial<DeliveryRecord> = {}): DeliveryRecord => ({
      ...failedRecord([], { notice: 'summary', alarm_count: 2 }, summaryEvent, id),
      status,
      ...others,
    });
    await write(summarized);
    return { id, write, event, failed, summarized, summary };
  };
  const toContacts = ({ queued }: ReturnType<typeof setUp>) =>
    queued.filter(({ url }) => url === 'contacts').map(({ subject }) => subject);

  it('reads the summaries of all notifications at once', async () => {
    const alerts = [await setUpAlert(), await setUpAlert(), await setUpAlert()];
    const { id: ownId, event, failed } = await setUpAlert();
    for (const { id, write, summarized, summary } of alerts) {
      await write({ ...summarized, ...deliveryKey(event, id) }, summary('failed'));
    }
    const reads = countedReads();
    const { escalate } = setUp({ deliveries: reads.deliveries });
    await escalate({ ...failed, siblings: [ownId, ...alerts.map(({ id }) => id)] });
    expect(reads.sizes).toEqual([4, 4]);
  });

  it('is queued when the summary is cancelled if its other notification cannot be read', async () => {
    const { summary } = await setUpAlert();
    const targets = failingTargets(({ tenant, id }) => new UnreadableNotificationError({ tenant, id }));
    const started = setUp({ notifications: { ...stored, targets } });
    await started.escalate(summary('cancelled'));
    expect(toContacts(started)).toHaveLength(1);
  });
});

describe('an escalation of an event with more than 26 notifications', () => {
  let tenants = 0;

  /** Creates an event whose list of destinations is stored, and the records of those that have failed. */
  const setUpEvent = async (count = 130) => {
    const event = newEvent('CRITICAL', `many${tenants++}`);
    const ids = Array.from({ length: count }, newNotificationId);
    await writeDestinationList(event, ids, NOW_MS);
    const recordOf = (id: string, changes: Partial<DeliveryRecord> = {}) => ({
      ...failedRecord(undefined, { siblings: undefined, ...changes }, event, id),
    });
    const write = (records: readonly DeliveryRecord[]) => writeRecords(client, 'deliveries', records);
    return { event, ids, recordOf, write };
  };

  it('says how many there are, after one read of their list and of their records', async () => {
    const { ids, recordOf, write } = await setUpEvent();
    const reads = countedReads();
    const { escalate, queued } = setUp({ deliveries: reads.deliveries });
    await write(ids.map((id) => recordOf(id)));
    await escalate(recordOf(ids[0] ?? ''));
    const subject = 'CRITICAL on web-1, Disk space: none of its 130 destinations could be reached';
    expect(queued).toMatchObject([
      { url: 'contacts', subject },
      { url: 'managed', subject },
    ]);
    expect(reads.sizes).toEqual([100, 29]);
  });

  it('is not queued while one may still arrive, and reads no more than the 100 after a random start', async () => {
    const { ids, recordOf, write } = await setUpEvent(1_000);
    await write(ids.map((id, index) => recordOf(id, index === 555 ? { status: 'delivered' } : {})));
    const sizesFrom = async (random: number) => {
      const reads = countedReads();
      const { escalate, queued } = setUp({ deliveries: reads.deliveries, random: () => random });
      await escalate(recordOf(ids[0] ?? ''));
      expect(queued).toEqual([]);
      return reads.sizes;
    };
    expect(await sizesFrom(0.5)).toEqual([100]);
    expect(await sizesFrom(0.3)).toEqual([100, 100, 100]);
  });

  it('fails if a read is throttled, and is given up with a log line if the list has expired', async () => {
    const { ids, recordOf } = await setUpEvent();
    const throttled = createDeliveryReader(
      withThrottling(connect({ maxAttempts: 1 }), 'BatchGetItemCommand'),
      'deliveries',
    );
    const { escalate, queued } = setUp({ deliveries: throttled });
    await expect(escalate(recordOf(ids[0] ?? ''))).rejects.toThrow('too fast');
    const logged = vi.spyOn(logger, 'error').mockImplementation(() => undefined);
    await escalate(failedRecord(undefined, { siblings: undefined }));
    expect(queued).toEqual([]);
    expect(logged).toHaveBeenCalledExactlyOnceWith('event not escalated', expect.anything());
  });
});

describe('an escalation of an account with fallback notifications', () => {
  const SMS = { type: 'sms', label: 'Phone', details: { phone_number: '+12025550123' } } as const;
  const contactsAndOperators = [DEFAULT_NOTIFICATION_ID, OPERATORS_NOTIFICATION_ID];
  let tenants = 0;

  /** Creates an account with an SMS and a webhook as fallback notifications, and an alert that failed. */
  const setUpAccount = async (changes: Partial<Reads> = {}, settings: Partial<EscalationEnvironment> = {}) => {
    const owner = `fallback${tenants++}`;
    const [sms, webhook] = [
      await stored.create({ tenant: owner, attributes: SMS, audit }),
      await stored.create({ tenant: owner, attributes: webhookNotification(), audit }),
    ];
    const fallback = [sms, webhook];
    const event = newEvent('CRITICAL', owner);
    const failed = failedRecord([], {}, event);
    const reads = { accounts: { fallbackNotifications: async () => fallback }, ...changes };
    return { owner, sms, webhook, fallback, event, failed, ...setUp(reads, settings) };
  };

  it('costs one read of the account if there are none of these', async () => {
    const database = connect();
    const requests = countRequests(database);
    const repository = createAccountRepository(database, 'accounts', () => NOW_MS);
    const { failed, escalate, recipients } = await setUpAccount({ accounts: repository });
    await escalate(failed);
    expect(recipients.toSorted()).toEqual(contactsAndOperators.toSorted());
    expect(requests).toEqual({ GetItemCommand: 1 });
  });

  it('skips destinations of the event, notifications that do not exist, and the contacts, who get it anyway', async () => {
    const { owner, sms, webhook, fallback, event, failed, escalate, recipients } = await setUpAccount();
    await writeRecords(client, 'deliveries', [failedRecord([], {}, event, sms)]);
    await stored.delete({ tenant: owner, id: webhook }, audit);
    const foreign = await stored.create({ tenant: `${owner}#`, attributes: SMS, audit });
    fallback.push(DEFAULT_NOTIFICATION_ID, OPERATORS_NOTIFICATION_ID, newNotificationId(), foreign, 'no ID', '#');
    await escalate({ ...failed, siblings: [sms] });
    expect(recipients.toSorted()).toEqual(contactsAndOperators.toSorted());
  });

  it('skips those of the types whose recipients get it anyway: technical contacts, and operators if they get escalations', async () => {
    for (const [mode, isManagedSkipped] of [
      ['contacts+managed', true],
      ['contacts', false],
    ] as const) {
      const settings = { ESCALATE_UNREACHED: mode };
      const { owner, sms, webhook, fallback, failed, escalate, recipients } = await setUpAccount({}, settings);
      const contacts = await stored.create({
        tenant: owner,
        attributes: { type: 'technicalContactsEmail', label: 'C', details: {} },
        audit,
      });
      const managed = await stored.create({
        tenant: owner,
        attributes: { type: 'managed', label: 'M', details: {} },
        audit,
      });
      fallback.push(contacts, managed);
      await escalate(failed);
      const others = isManagedSkipped ? contactsAndOperators : [DEFAULT_NOTIFICATION_ID, managed];
      expect(recipients.toSorted()).toEqual([...others, sms, webhook].toSorted());
    }
  });

  it('skips the destination whose failure is reported, and destinations of an event with more than 26', async () => {
    const { owner, sms, webhook, event, escalate, recipients } = await setUpAccount();
    await escalate(failedRecord([], {}, event, sms));
    expect(recipients.toSorted()).toEqual([...contactsAndOperators, webhook].toSorted());
    const many = newEvent('CRITICAL', owner);
    await writeDestinationList(many, [...Array.from({ length: 30 }, newNotificationId), sms], NOW_MS);
    await writeRecords(client, 'deliveries', [failedRecord([], {}, many, sms)]);
    recipients.length = 0;
    await escalate(failedRecord(undefined, { siblings: undefined }, many));
    expect(recipients.toSorted()).toEqual([...contactsAndOperators, webhook].toSorted());
  });

  it('reaches contacts and operators although the account cannot be read, and is then not taken for sent', async () => {
    const { failed, escalate, recipients } = await setUpAccount({
      accounts: { fallbackNotifications: () => Promise.reject(new Error('no response')) },
    });
    await expect(escalate(failed)).rejects.toThrow('no response');
    expect(recipients.toSorted()).toEqual(contactsAndOperators.toSorted());
    const again = setUp();
    await again.escalate(failed);
    expect(again.recipients.toSorted()).toEqual(contactsAndOperators.toSorted());
  });

  it('above the daily limit is a summary, which goes to these, too, once', async () => {
    const { owner, sms, webhook, event, failed, escalate, recipients } = await setUpAccount();
    const counters = createCounters(client, 'accounts');
    for (let count = 0; count < MAX_ESCALATIONS_PER_DAY; count++) {
      const counter = dailyCounter(escalationCounter(event.state), owner, NOW_MS);
      await counters.takeOnce(counter, String(count), MAX_ESCALATIONS_PER_DAY);
    }
    await escalate(failed);
    expect(recipients.toSorted()).toEqual([...contactsAndOperators, sms, webhook].toSorted());
    const reads = countedReads();
    const again = setUp({ deliveries: reads.deliveries });
    await again.escalate(failedRecord([sms], {}, newEvent('CRITICAL', owner)));
    expect([again.queued, reads.sizes]).toEqual([[], []]);
  });
});
