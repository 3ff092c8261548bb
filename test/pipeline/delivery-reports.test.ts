import { beforeEach, describe, expect, it, vi } from 'vitest';
import { createDeliveryRepository } from '../../shared/adapters/deliveries/delivery-repository.ts';
import { logger } from '../../shared/adapters/logger.ts';
import { createNotificationRepository } from '../../shared/adapters/notifications/notification-repository.ts';
import { delivery } from '../../shared/contracts/messages.ts';
import type { NotificationRecord } from '../../shared/contracts/notification.ts';
import { claimedRecord, type DeliveryRecord, withFailure } from '../../shared/domain/delivery-record.ts';
import { newNotificationId } from '../../shared/domain/notification-id.ts';
import { createDeliveryReports } from '../../shared/pipeline/notices/delivery-reports.ts';
import { useDatabase } from '../support/dynamodb.ts';
import { alarmEvent } from '../support/events.ts';
import { webhookNotification } from '../support/notifications.ts';
import { reportEnvironment } from '../support/report-environment.ts';

const { client } = useDatabase();

beforeEach(() => {
  vi.spyOn(logger, 'warn').mockImplementation(() => undefined);
  return () => vi.restoreAllMocks();
});

const NOW_MS = Date.UTC(2026, 0, 1, 6);
const event = alarmEvent();
const tenant = event.tenant_id;
const stored = createNotificationRepository(client, 'notifications');
const deliveries = createDeliveryRepository(client, 'deliveries');

/** Sets up the reports of one execution environment. */
const setUp = (listByIds = stored.listByIds, settings: Partial<Parameters<typeof createDeliveryReports>[1]> = {}) => {
  const queued: { url: string; kind: string | undefined; subject: string | undefined }[] = [];
  const queues = {
    sendDelayed: async (url: string, { body }: { body: string }) => {
      const { notice } = delivery.parse(JSON.parse(body));
      queued.push({ url: url.split('/').at(-1) ?? '', kind: notice?.kind, subject: notice?.subject });
    },
  };
  const notifications = { ...stored, listByIds };
  const reports = createDeliveryReports(
    { client, queues, notifications, deliveries, clock: () => NOW_MS },
    { ...reportEnvironment, ...settings },
  );
  return { reports, queued };
};

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

const record: NotificationRecord = { ...webhookNotification(), id: newNotificationId() };

describe('a notice', () => {
  it('reads one notification at a time, however many alerts fail together: a notification may have several MB', async () => {
    let [concurrent, maxConcurrent] = [0, 0];
    const { reports, queued } = setUp(async function* () {
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

  it('is queued without labels if reading them takes longer than a second', async () => {
    const { reports, queued } = setUp(async function* () {
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
      const { reports, queued } = setUp(undefined, { DEAD_LETTER_EMAIL: email, FAILING_NOTICES: notices });
      await reports.reportFailure(event, failedRecord());
      expect(queued.map((notice) => notice.kind)).toEqual(kind === undefined ? [] : [kind]);
    },
  );
});

describe('an escalation', () => {
  const escalated = async (
    own: Partial<DeliveryRecord>,
    siblings: readonly string[] | undefined,
    settings: Parameters<typeof setUp>[1] = {},
  ) => {
    const { reports, queued } = setUp(undefined, settings);
    const alarm = alarmEvent({ alarm: { id: newNotificationId() } });
    await reports.escalateUnreached(alarm, failedRecord(undefined, own), siblings);
    return queued.map(({ url }) => url);
  };

  it('is queued for the contacts and the operators, only for the contacts, or for nobody', async () => {
    expect(await escalated({}, [])).toEqual(['contacts', 'managed']);
    expect(await escalated({}, [], { ESCALATE_UNREACHED: 'contacts' })).toEqual(['contacts']);
    expect(await escalated({}, [], { ESCALATE_UNREACHED: 'off' })).toEqual([]);
  });

  it('is not queued if the delivery has reached one of several recipients', async () => {
    expect(await escalated({ reached_recipient_hashes: ['a'] }, [])).toEqual([]);
    expect(await escalated({ reached_recipient_hashes: ['a'], status: 'bounced' }, [])).toEqual([
      'contacts',
      'managed',
    ]);
  });

  it('is not queued if the event has more than 26 notifications', async () => {
    expect(await escalated({}, undefined)).toEqual([]);
  });

  it('is not queued while another notification of the event has not been attempted, unless it was deleted', async () => {
    const id = await stored.create(tenant, webhookNotification());
    expect(await escalated({}, [id])).toEqual([]);
    await stored.delete({ tenant, id });
    expect(await escalated({}, [id])).toEqual(['contacts', 'managed']);
  });
});
