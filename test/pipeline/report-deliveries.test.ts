import { PutCommand } from '@aws-sdk/lib-dynamodb';
import type { SQSRecord } from 'aws-lambda';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { logger } from '../../shared/adapters/logger.ts';
import type { OutcomeTopic, PublishResult, TopicMessage } from '../../shared/adapters/outcome-topic.ts';
import type { DeliveryHappening, DeliveryReport } from '../../shared/contracts/delivery-report.ts';
import { changeOf } from '../../shared/domain/delivery-change.ts';
import { deliveryPartition, parseDeliveryPartition } from '../../shared/domain/delivery-key.ts';
import {
  claimedRecord,
  type DeliveryRecord,
  withFailure,
  withNextAttempt,
  withReportedAlert,
  withStatus,
} from '../../shared/domain/delivery-record.ts';
import { newNotificationId } from '../../shared/domain/notification-id.ts';
import { createDeliveryReporter } from '../../shared/pipeline/report-deliveries.ts';
import { writeRecords } from '../support/delivery-records.ts';
import { useDatabase } from '../support/dynamodb.ts';
import { alarmHeader, readDelivery } from '../support/events.ts';
import { recordMetrics } from '../support/printed-metrics.ts';
import { reportEnvironment } from '../support/report-environment.ts';
import { sqsMessage } from '../support/sqs-message.ts';

const { client } = useDatabase();
const putItem = (Item: object) => client.send(new PutCommand({ TableName: 'deliveries', Item: { ...Item } }));

let metrics: ReturnType<typeof recordMetrics>;
beforeEach(() => {
  metrics = recordMetrics();
  for (const level of ['warn', 'error'] as const) vi.spyOn(logger, level).mockImplementation(() => undefined);
  return () => vi.restoreAllMocks();
});

const NOW_MS = Date.UTC(2026, 0, 1, 6);
const HOUR_MS = 3_600_000;

let events = 0;
/** Returns the record of a delivery of a new event, which another one may have failed. */
const pendingRecord = (changes: Partial<DeliveryRecord> = {}, siblings: string[] = []): DeliveryRecord => {
  const event = alarmHeader({ event_id: `acme:en:al${events++}:ch:${NOW_MS}:CRITICAL`, alarm: { id: `al${events}` } });
  const body = { event, notification_id: newNotificationId(), siblings, accepted_at_ms: NOW_MS, content_hash: 'hash' };
  const failing = withNextAttempt(
    { ...claimedRecord(body, 'claim', NOW_MS, 'webhook'), last_cause: 'destination' },
    NOW_MS + HOUR_MS,
  );
  return { ...withReportedAlert(failing, body, 1), last_reason: 'timeout', siblings, ...changes };
};
const failedRecord = (changes: Partial<DeliveryRecord> = {}, siblings?: string[]): DeliveryRecord =>
  withFailure(pendingRecord(changes, siblings), 'http_status', NOW_MS);

const eventReport = (record: DeliveryRecord, happened: DeliveryHappening, outcomes: DeliveryRecord[] = []) => {
  const { tenant, id: notificationId } = parseDeliveryPartition(record.pk);
  return {
    kind: 'event',
    tenant_id: tenant,
    sk: record.sk,
    deliveries: [{ notification_id: notificationId, happened }],
    outcomes: outcomes.flatMap((after) => changeOf({ ...after, status: 'pending' }, after, 1)?.outcome ?? []),
  } satisfies DeliveryReport;
};

/** Sets up the reporter of one execution environment. */
const setUp = (
  publish: (messages: readonly TopicMessage[]) => Promise<PublishResult[]> = async (messages) =>
    messages.map(() => 'published'),
  environment = reportEnvironment,
) => {
  const queued: string[] = [];
  const noticeTexts: string[] = [];
  const published: TopicMessage[] = [];
  const returned: string[] = [];
  const queues = {
    changeVisibility: async (_url: string, { messageId }: SQSRecord) => void returned.push(messageId),
    sendDelayed: async (url: string, { body }: { body: string }) => {
      if (state.isQueueFailing) throw new Error('unavailable');
      const { notice, event } = readDelivery(body);
      noticeTexts.push(
        [...(notice?.paragraphs ?? []), ...(notice?.facts ?? []).map((fact) => fact.join(': '))].join('\n'),
      );
      queued.push(`${url.split('/').at(-1)} ${notice?.kind}: ${notice?.subject} ${event.event_id.split(':')[2]}`);
    },
  };
  const topic: OutcomeTopic = {
    publish: (messages) => {
      published.push(...messages);
      return publish(messages);
    },
  };
  const clock = { nowMs: NOW_MS };
  const state = { isQueueFailing: false };
  const handler = createDeliveryReporter(client, queues, topic, environment, () => clock.nowMs);
  const report = async (...reports: (DeliveryReport | string)[]) => {
    const messages = reports.map((each, index) =>
      sqsMessage({
        messageId: `m${index}`,
        body: typeof each === 'string' ? each : JSON.stringify(each),
        attributes: { ...sqsMessage().attributes, SentTimestamp: String(NOW_MS) },
      }),
    );
    const { batchItemFailures } = await handler({ Records: messages });
    return batchItemFailures.map(({ itemIdentifier }) => itemIdentifier);
  };
  return { report, queued, noticeTexts, published, returned, clock, state };
};

const kindsOf = ({ queued }: ReturnType<typeof setUp>) => queued.map((text) => text.split(':')[0]).toSorted();
const unreached = ['contacts unreached'];
const escalated = [...unreached, 'managed unreached'];

describe('a delivery that does not arrive', () => {
  const undelivered = ['contacts undelivered', ...escalated];
  const ended = (
    status: Exclude<DeliveryRecord['status'], 'pending'>,
    changes: Partial<DeliveryRecord> = { type: 'email' },
  ) => withStatus(pendingRecord(changes), status, NOW_MS);
  const stopped = withFailure(pendingRecord(), 'opted_out', NOW_MS);
  it.each<[string, DeliveryHappening, DeliveryRecord, string[]]>([
    ['to contacts, and as unreached, if it is late', 'late', pendingRecord(), ['contacts failing', ...escalated]],
    ['to contacts if its destination fails after the service', 'failing', pendingRecord(), ['contacts failing']],
    ['to contacts as unreached if the service fails', 'late', pendingRecord({ last_cause: 'service' }), unreached],
    ['only as unreached if it failed for a stop', 'failed', stopped, escalated],
    ['to contacts, and as unreached, if it failed', 'failed', failedRecord(), undelivered],
    ['only as unreached if it was cancelled', 'cancelled', ended('cancelled'), escalated],
    ['only as unreached if it is to contacts', 'failed', failedRecord({ type: 'technicalContactsEmail' }), escalated],
    ['only as unreached if it bounced', 'bounced', ended('bounced'), escalated],
    ['to nobody after a complaint: the stop has a notice of its own', 'complaint', ended('delivered'), []],
    ['to contacts after a reject', 'reject', ended('delivered'), ['contacts failing']],
    ['to nobody after a temporary bounce', 'temporary_bounce', ended('delivered'), []],
    ['to contacts above a daily limit', 'above_limit', ended('summarized', { type: 'sms' }), ['contacts limit']],
    ['by its record if its stream record is unreadable', 'unreadable', failedRecord(), undelivered],
    ['to nobody if it has arrived since', 'late', ended('delivered'), []],
    ['to nobody if it is redelivered', 'failed', pendingRecord({ last_cause: undefined, round: 2 }), []],
  ])('is reported: %s', async (_, happened, record, expected) => {
    await writeRecords(client, 'deliveries', [record]);
    const reporter = setUp();
    expect(await reporter.report(eventReport(record, happened))).toEqual([]);
    expect(kindsOf(reporter)).toEqual(expected.toSorted());
    await reporter.report(eventReport(record, happened));
    expect(reporter.queued).toHaveLength(expected.length);
  });

  it.each([
    [true, true, 'undelivered'],
    [true, false, 'undelivered'],
    [false, true, 'failing'],
    [false, false, undefined],
  ])('is a notice with deadLetterEmail %s and failingNotices %s: %s', async (email, notices, kind) => {
    const environment = {
      ...reportEnvironment,
      ESCALATE_UNREACHED: 'off',
      DEAD_LETTER_EMAIL: email,
      FAILING_NOTICES: notices,
    } as const;
    const record = failedRecord();
    await writeRecords(client, 'deliveries', [record]);
    const reporter = setUp(undefined, environment);
    await reporter.report(eventReport(record, 'failed'));
    expect(kindsOf(reporter)).toEqual(kind === undefined ? [] : [`contacts ${kind}`]);
  });

  it('is reported although a record of its event, or the event of another message, cannot be read', async () => {
    const [record, unreadable] = [failedRecord(), failedRecord()];
    const siblingId = newNotificationId();
    const sibling = { ...record, pk: record.pk.replace(/nt\w+/, siblingId), status: 'unknown' };
    await writeRecords(client, 'deliveries', [{ ...record, siblings: [siblingId] }]);
    await putItem({ ...unreadable, attempts: 'none' });
    await putItem(sibling);
    const reporter = setUp();
    const { deliveries } = eventReport(record, 'failed');
    const both = [...deliveries, { notification_id: siblingId, happened: 'failed' as const }];
    const reports = [{ ...eventReport(record, 'failed'), deliveries: both }, eventReport(unreadable, 'failed')];
    expect(await reporter.report(...reports)).toEqual([]);
    expect(kindsOf(reporter)).toEqual(['contacts undelivered', ...escalated].toSorted());
  });

  it('returns to its queue if a notice cannot be queued, and the others of its batch do not', async () => {
    const [record, other] = [failedRecord(), failedRecord()];
    await writeRecords(client, 'deliveries', [record, other]);
    const reporter = setUp(undefined, { ...reportEnvironment, ACCOUNTS_TABLE: 'no-table' });
    const failures = {
      kind: 'failures',
      tenant_id: 'acme',
      notification_id: 'ntA',
      failed_ids: ['one'],
      first_failed_at_ms: 1,
      last_failed_at_ms: 1,
      last_reason: 'timeout',
    } satisfies DeliveryReport;
    reporter.clock.nowMs += 300_000;
    expect(await reporter.report(eventReport(record, 'failed'), failures)).toEqual(['m0']);
    expect(reporter.returned).toEqual(['m0']);
    expect(kindsOf(reporter)).toEqual(['contacts undelivered']);
    expect(metrics()).toMatchObject([
      { function: 'report-deliveries', internal_errors: 1, oldest_unprocessed_seconds: 300 },
    ]);
  });
});

describe('an outage', () => {
  const MINUTE_MS = 60_000;
  /** Sets up a notification, whose alerts fail and arrive at times in minutes. */
  const setUpOutage = () => {
    const { id: notificationId } = parseDeliveryPartition(pendingRecord().pk);
    const of = (record: DeliveryRecord) => ({
      ...record,
      pk: deliveryPartition({ tenant: 'acme', id: notificationId }),
      siblings: [newNotificationId()],
    });
    const environment = { ...reportEnvironment, ESCALATE_UNREACHED: 'off' } as const;
    const reporters = [setUp(undefined, environment), setUp(undefined, environment)];
    const at = (minutes: number) => NOW_MS + minutes * MINUTE_MS;
    /** Writes a record, and reports it with one or all of the reporters. */
    const report = async (happened: DeliveryHappening, record: DeliveryRecord, all = false) => {
      await writeRecords(client, 'deliveries', [record]);
      const [first] = reporters;
      const used = all ? reporters : first ? [first] : [];
      for (const { clock } of used) clock.nowMs = record.updated_at_ms + 1_000;
      return (await Promise.all(used.map((each) => each.report(eventReport(record, happened))))).flat();
    };
    const failing = (minutes: number) => {
      const late = { late_at_ms: at(minutes), updated_at_ms: at(minutes), last_failed_at_ms: at(minutes) };
      return { ...of(pendingRecord()), ...late, next_attempt_at_ms: at(minutes) + HOUR_MS };
    };
    const arrived = (record: DeliveryRecord, minutes: number) => withStatus(record, 'delivered', at(minutes));
    const kinds = () => reporters.flatMap(kindsOf).map((text) => text?.replace('contacts ', ''));
    const texts = () => reporters.flatMap(({ queued }) => queued);
    const noticeTexts = () => reporters.flatMap((each) => each.noticeTexts);
    return { reporters, report, failing, arrived, kinds, texts, noticeTexts, of, at };
  };

  it('has one first notice, and one that it ended, with two reporters, and reports that are repeated in any order', async () => {
    const { report, failing, arrived, kinds, texts } = setUpOutage();
    const [first, second] = [failing(3), failing(4)];
    for (const record of [first, second, first]) await report('late', record, true);
    expect(new Set(texts()).size).toBe(1);
    await report('recovered', arrived(first, 10), true);
    for (const record of [arrived(second, 11), arrived(first, 10), arrived(second, 11)])
      await report('recovered', record, true);
    await report('late', arrived(first, 10));
    expect(new Set(texts()).size).toBe(2);
    expect(new Set(kinds())).toEqual(new Set(['failing', 'recovered']));
  });

  it.each([
    ['late', 'failing'],
    ['failed', 'undelivered'],
  ] as const)(
    'whose alert arrives before its first notice could be queued, as it was %s, has both notices',
    async (happened, kind) => {
      const { report, reporters, failing, arrived, kinds, of, at } = setUpOutage();
      const failed = of({ ...failedRecord(), updated_at_ms: at(3), last_failed_at_ms: at(3) });
      const first = happened === 'late' ? failing(3) : failed;
      const [reporter] = reporters;
      if (reporter) reporter.state.isQueueFailing = true;
      expect(await report(happened, first)).toEqual(['m0']);
      if (reporter) reporter.state.isQueueFailing = false;
      const redelivered = arrived({ ...first, round: 2 }, 4);
      expect(await report('recovered', redelivered)).toEqual([]);
      expect(await report(happened, redelivered)).toEqual([]);
      expect(kinds()).toEqual([kind, 'recovered'].toSorted());
    },
  );

  it('whose first notice could not be queued is announced with the alert that began it, whichever arrives first', async () => {
    const { report, reporters, failing, arrived, noticeTexts } = setUpOutage();
    const [reporter] = reporters;
    const [first, other] = [failing(3), failing(4)];
    if (reporter) reporter.state.isQueueFailing = true;
    expect(await report('late', first)).toEqual(['m0']);
    if (reporter) reporter.state.isQueueFailing = false;
    await report('recovered', arrived(other, 5));
    expect(noticeTexts()[0]).toContain(`Event: ${first.event_id}`);
  });

  it('ends if another alert arrives in place of one that had failed, and not if that was withheld', async () => {
    const { report, failing, arrived, kinds, at, noticeTexts } = setUpOutage();
    const first = failing(3);
    await report('late', first);
    await report('recovered', withStatus(first, 'superseded', at(10)));
    expect(kinds()).toEqual(['failing']);
    await writeRecords(client, 'deliveries', [{ ...arrived(failing(9), 9), last_failed_at_ms: undefined }]);
    await report('recovered', withStatus(failing(3.5), 'superseded', at(11)));
    expect(kinds()).toEqual(['failing', 'recovered']);
    expect(noticeTexts()[1]).toContain(
      'Of 2 alerts that failed in this outage, 0 were delivered since, and 0 are still',
    );
  });

  it('of which a redelivery arrives a day later has the numbers of its alerts, without unreadable ones', async () => {
    const { report, of, arrived, at, kinds, noticeTexts } = setUpOutage();
    const failed = of({ ...failedRecord(), updated_at_ms: at(1), last_failed_at_ms: at(1) });
    await report('failed', failed);
    await writeRecords(client, 'deliveries', [of({ ...failedRecord(), updated_at_ms: at(2) })]);
    await putItem({ ...of(failedRecord()), attempts: 'none' });
    await report('recovered', arrived({ ...failed, round: 2 }, 24 * 60));
    expect(kinds()).toEqual(['recovered', 'undelivered']);
    expect(noticeTexts()[1]).toContain(
      'Of 2 alerts that failed in this outage, 1 was delivered since, and 1 is still failed.',
    );
  });

  it('that lasts has the notice of an undelivered alert on each day, also right after midnight', async () => {
    const { report, of, at, kinds } = setUpOutage();
    for (const minutes of [16 * 60, 18 * 60 - 0.01, 18 * 60 + 0.002])
      await report('failed', of({ ...failedRecord(), updated_at_ms: at(minutes), last_failed_at_ms: at(minutes) }));
    expect(kinds()).toEqual(['undelivered', 'undelivered']);
  });

  it('of a content that SES rejects is none', async () => {
    const { report, of, arrived, kinds } = setUpOutage();
    const delivered = { ...of(pendingRecord({ type: 'email' })), last_failed_at_ms: NOW_MS - 1 };
    await report('reject', { ...withStatus(delivered, 'delivered', NOW_MS), email_report: 'reject' });
    await report('recovered', arrived(delivered, 1));
    expect(kinds()).toEqual(['failing']);
  });
});

it('a stop is notified of once, although its message has waited for two days', async () => {
  const stop = {
    kind: 'stop',
    tenant_id: 'stops',
    address: 'a@example.com',
    reason: 'bounced',
    since_ms: NOW_MS,
  } as const;
  const reporters = [setUp(), setUp()];
  for (const { clock } of reporters) clock.nowMs += 48 * HOUR_MS;
  for (const { report } of [...reporters, ...reporters]) expect(await report(stop)).toEqual([]);
  const ids = reporters.flatMap(({ queued }) => queued);
  expect(new Set(ids)).toEqual(
    new Set([expect.stringMatching(/^managed stopped: Emails to a@example.com are stopped/)]),
  );
});

describe('outcomes', () => {
  const delivered = () => withStatus(pendingRecord(), 'delivered', NOW_MS);
  const reportOf = (record: DeliveryRecord) => ({ ...eventReport(record, 'late', [record]), deliveries: [] });

  it('are published with attributes to filter by, ten in a batch', async () => {
    const batches: number[] = [];
    const { report, published } = setUp(async (messages) => {
      batches.push(messages.length);
      return messages.map(() => 'published');
    });
    const reports = Array.from({ length: 12 }, () => reportOf(delivered()));
    expect(await report(...reports)).toEqual([]);
    expect(batches).toEqual([10, 2]);
    expect(published[0]?.attributes).toEqual({ tenant_id: 'acme', type: 'webhook', status: 'delivered' });
    expect(JSON.parse(published[0]?.body ?? '')).toEqual(reports[0]?.outcomes[0]);
  });

  it('of a topic that hangs wait for two seconds after the escalations, and then without calls for ten', async () => {
    const record = failedRecord();
    await writeRecords(client, 'deliveries', [record]);
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const queuedBefore: number[] = [];
    const { report, queued, published, clock } = setUp(() => {
      queuedBefore.push(queued.length);
      setImmediate(() => vi.advanceTimersByTime(2_000));
      return new Promise(() => undefined);
    });
    const reports = [reportOf(delivered()), eventReport(record, 'failed')];
    expect(await report(...reports)).toEqual(['m0']);
    expect(queuedBefore).toEqual([3]);
    clock.nowMs += 9_999;
    expect(await report(...reports)).toEqual(['m0']);
    expect(published).toHaveLength(1);
    clock.nowMs += 1;
    await report(...reports);
    expect(published).toHaveLength(2);
    vi.useRealTimers();
  });

  it('that SNS never accepts are counted, and not repeated', async () => {
    const { report } = setUp(async () => ['rejected']);
    expect(await report(reportOf(delivered()))).toEqual([]);
    expect(metrics()).toMatchObject([{ outcomes_rejected: 1 }]);
  });

  it('of an unreadable stream record are those of its record', async () => {
    const record = delivered();
    await writeRecords(client, 'deliveries', [record]);
    const { report, published } = setUp();
    await report(eventReport(record, 'unreadable'));
    expect(published.map(({ attributes }) => attributes.status)).toEqual(['delivered']);
  });
});

it.each(['', '{', '{"kind":"other"}', '{"kind":"event"}'])(
  'an invalid message is counted and acknowledged: %s',
  async (body) => {
    expect(await setUp().report(body)).toEqual([]);
    expect(metrics()).toMatchObject([{ internal_errors: 1 }]);
  },
);
