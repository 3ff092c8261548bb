import type { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import type { Context, SQSBatchResponse, SQSEvent } from 'aws-lambda';
import { type AccountRepository, createAccountRepository } from '../adapters/accounts/account-repository.ts';
import { createEmailStops, type EmailStops } from '../adapters/accounts/email-stops.ts';
import { createDeliveryReader } from '../adapters/deliveries/delivery-reader.ts';
import { createDestinationListReader } from '../adapters/deliveries/destination-list.ts';
import { createFailureWriter } from '../adapters/deliveries/notification-failures.ts';
import { createOutages } from '../adapters/deliveries/notification-outages.ts';
import { createCounters, dailyCounter } from '../adapters/dynamodb/counters.ts';
import { errorTrace, logger } from '../adapters/logger.ts';
import { count } from '../adapters/metrics.ts';
import { createNotificationReader } from '../adapters/notifications/notification-reader.ts';
import { createTargetReader } from '../adapters/notifications/notification-targets.ts';
import { MAX_PUBLISHED, type OutcomeTopic, type PublishResult } from '../adapters/outcome-topic.ts';
import type { Queues } from '../adapters/queues.ts';
import { allSettled, withTimeout } from '../adapters/waiting.ts';
import {
  type DeliveryHappening,
  type DeliveryOutcome,
  type DeliveryReport,
  deliveryReport,
  type EventReport,
  type FailuresReport,
} from '../contracts/delivery-report.ts';
import { jsonOrUndefined } from '../contracts/json.ts';
import { serializeBody } from '../contracts/messages.ts';
import { outcomeOf } from '../domain/delivery-change.ts';
import { deliveryPartition } from '../domain/delivery-key.ts';
import type { DeliveryRecord } from '../domain/delivery-record.ts';
import { isUnreached } from '../domain/delivery-status.ts';
import type { EmailStop, Recipient } from '../domain/email-stop.ts';
import { inBatches } from '../domain/in-batches.ts';
import { type Clock, DAY_MS } from '../domain/time.ts';
import type { ParsedEnvironment } from '../environment.ts';
import type { Received } from './batch-consumer.ts';
import { createDeliveryNotices, createNameReader } from './notices/delivery-notices.ts';
import { createEscalation } from './notices/escalation.ts';
import { createNoticeQueue, type NoticeQueue } from './notices/notice-queue.ts';
import { MAX_STOP_NOTICES_PER_DAY, noticeTable } from './notices/notice-table.ts';
import { createUnreachedEvents } from './notices/unreached-events.ts';
import { createQueueConsumer } from './queue-consumer.ts';
import { tenantOfReport } from './report-messages.ts';

export type StopNoticeDependencies = {
  client: DynamoDBDocumentClient;
  notices: NoticeQueue;
  accounts: Pick<AccountRepository, 'technicalContacts' | 'isEmailOff'>;
  stops: Pick<EmailStops, 'find'>;
};

/**
 * Queues the notice of a stop (docs/decisions/notices.md#stops): to the technical contacts that are not stopped, or to
 * the operators if none remains. The caller has written the stop: if the last contacts are stopped at the same time,
 * one of the calls finds none.
 */
export const createStopNotices = (
  { client, notices, accounts, stops }: StopNoticeDependencies,
  { ACCOUNTS_TABLE }: Pick<ParsedEnvironment<'report-deliveries'>, 'ACCOUNTS_TABLE'>,
) => {
  const counters = createCounters(client, ACCOUNTS_TABLE);

  const hasReachableContact = async (tenant: string): Promise<boolean> => {
    if (await accounts.isEmailOff(tenant)) return false;
    for (const address of await accounts.technicalContacts(tenant))
      if (!(await stops.find({ tenant, address }))) return true;
    return false;
  };

  /** Repeating it within a day of the start has no effect. The message that SQS accepted may wait longer. */
  return async (recipient: Recipient, stop: EmailStop, reportedAtMs: number): Promise<void> => {
    const { tenant } = recipient;
    const { sinceMs } = stop;
    const notice = noticeTable.stopped(recipient, stop);
    const id = notice.event.event_id;
    // A record of the notice makes a repetition a duplicate, but is not kept as long as a stop.
    if (reportedAtMs - sinceMs > DAY_MS || notices.isQueued(id)) return;
    const isListed = await counters.takeOnce(dailyCounter('stops', tenant, sinceMs), id, MAX_STOP_NOTICES_PER_DAY);
    const queued = isListed ? notice : noticeTable.stopLimit(tenant, sinceMs);
    if (notices.isQueued(queued.event.event_id)) return;
    const toContacts = await hasReachableContact(tenant);
    await notices.queue(queued, {}, { toContacts, toOperators: !toContacts });
  };
};

/** The maximum time to publish the outcomes of a batch, whose acknowledgment waits for it. */
const MAX_PUBLISH_MS = 2_000;

/** How long nothing is published after the topic failed or was late. The messages return to their queue. */
const PUBLISH_PAUSE_MS = 10_000;

/** After these, the event may have reached nobody. A delivery that is `failing` was late before. */
const unreachedHappenings: readonly DeliveryHappening[] = [
  'late',
  'failed',
  'cancelled',
  'bounced',
  'bounce',
  'temporary_bounce',
  'reject',
  'unreadable',
];

const topicMessageOf = (outcome: DeliveryOutcome) => {
  const { tenant_id, type, status } = outcome;
  return { body: serializeBody(outcome), attributes: { tenant_id, type, status } };
};

/** The handler of the queue of reports (docs/decisions/notices.md#reports). The records as it reads them decide. */
export const createDeliveryReporter = (
  client: DynamoDBDocumentClient,
  queues: Pick<Queues, 'changeVisibility' | 'sendDelayed'>,
  topic: OutcomeTopic | undefined,
  environment: ParsedEnvironment<'report-deliveries'>,
  clock: Clock = Date.now,
  random: () => number = Math.random,
): ((event: SQSEvent, context?: Context) => Promise<SQSBatchResponse>) => {
  const { DELIVERIES_TABLE, RETRY_DELAY_SCALE: scale } = environment;
  const deliveries = createDeliveryReader(client, DELIVERIES_TABLE);
  const notifications = {
    ...createNotificationReader(client, environment.NOTIFICATIONS_TABLE),
    ...createTargetReader(client, environment.NOTIFICATIONS_TABLE),
  };
  const accounts = createAccountRepository(client, environment.ACCOUNTS_TABLE, clock);
  const notices = createNoticeQueue(queues, environment.SENDER_QUEUES, clock);
  const readNames = createNameReader(notifications);
  const outages = createOutages(client, DELIVERIES_TABLE);
  const notify = createDeliveryNotices({ notices, outages, deliveries, readNames, clock }, environment);
  const unreachedEvents = createUnreachedEvents({
    deliveries,
    notifications,
    readDestinationList: createDestinationListReader(client, DELIVERIES_TABLE),
    escalation: createEscalation({ client, notices, accounts, notifications }, environment),
    readNames,
    scale,
    random,
  });
  const stops = createEmailStops(client, environment.ACCOUNTS_TABLE, clock);
  const notifyOfStop = createStopNotices({ client, notices, accounts, stops }, environment);
  const addFailures = createFailureWriter(client, DELIVERIES_TABLE);

  let publishAfterMs = 0;

  const publishBatch = async (outcomes: readonly DeliveryOutcome[]): Promise<PublishResult[]> => {
    if (!topic) return [];
    if (clock() < publishAfterMs) return outcomes.map(() => 'failed');
    try {
      return await withTimeout(topic.publish(outcomes.map(topicMessageOf)), MAX_PUBLISH_MS);
    } catch (error) {
      publishAfterMs = clock() + PUBLISH_PAUSE_MS;
      logger.error('outcomes not published', { outcomes: outcomes.length, ...errorTrace(error) });
      return outcomes.map(() => 'failed');
    }
  };

  /** Publishes outcomes. @returns those to publish again */
  const publish = async (outcomes: readonly DeliveryOutcome[]): Promise<ReadonlySet<DeliveryOutcome>> => {
    const results = (await Promise.all(inBatches(outcomes, MAX_PUBLISHED).map(publishBatch))).flat();
    const withResult = (wanted: PublishResult) => outcomes.filter((_, index) => results[index] === wanted);
    const rejected = withResult('rejected');
    for (const { tenant_id, notification_id, event_id, status } of rejected) {
      logger.error('outcome rejected', { tenant_id, notification_id, event_id, status });
    }
    count({ outcomes_rejected: rejected.length });
    return new Set(withResult('failed'));
  };

  const publishUnread = async (outcomes: readonly DeliveryOutcome[]): Promise<void> => {
    if ((await publish(outcomes)).size > 0) throw new Error('An outcome was not published.');
  };

  /** The last of several deliveries of an event that fail at the same time finds the records of all others. */
  const escalate = async (records: readonly DeliveryRecord[]): Promise<void> => {
    const [newest] = records
      .filter((record) => isUnreached(record, scale))
      .toSorted((one, other) => other.updated_at_ms - one.updated_at_ms);
    if (newest) await unreachedEvents.escalate(newest);
  };

  const reportEvent = async ({ tenant_id: tenant, sk, deliveries: reported }: EventReport): Promise<void> => {
    const ids = [...new Set(reported.map(({ notification_id }) => notification_id))];
    const keys = ids.map((notificationId) => ({ pk: deliveryPartition({ tenant, id: notificationId }), sk }));
    const records = new Map((await deliveries.readReadable(keys)).records.map((record) => [record.pk, record]));
    const found = reported.flatMap(({ notification_id: notificationId, happened }) => {
      const record = records.get(deliveryPartition({ tenant, id: notificationId }));
      return record ? [{ happened, record }] : [];
    });
    const unreached = found.filter(({ happened }) => unreachedHappenings.includes(happened));
    const unread = found.filter(({ happened }) => happened === 'unreadable');
    await allSettled([
      publishUnread(unread.flatMap(({ record }) => outcomeOf(record, record.status) ?? [])),
      ...found.map(({ happened, record }) => notify(happened, record)),
      escalate(unreached.map(({ record }) => record)),
    ]);
  };

  const reportFailures = async (report: FailuresReport): Promise<void> => {
    const { tenant_id: tenant, notification_id: notificationId, last_reason: lastReason } = report;
    if (!lastReason) return;
    await addFailures(
      { tenant, id: notificationId },
      {
        failedIds: report.failed_ids,
        firstFailedAtMs: report.first_failed_at_ms,
        lastFailedAtMs: report.last_failed_at_ms,
        lastReason,
      },
    );
  };

  const reportOne = async ({ message, body: report }: Received<DeliveryReport>): Promise<void> => {
    if (report.kind === 'event') return reportEvent(report);
    if (report.kind === 'failures') return reportFailures(report);
    if (report.kind === 'plan') return unreachedEvents.escalatePlan(report);
    const { tenant_id: tenant, address, reason, since_ms: sinceMs } = report;
    return notifyOfStop({ tenant, address }, { reason, sinceMs }, Number(message.attributes.SentTimestamp));
  };

  return createQueueConsumer<DeliveryReport>({
    name: 'report-deliveries',
    queueUrl: environment.REPORTS_QUEUE,
    queues,
    clock,
    parse: (body) => deliveryReport.safeParse(jsonOrUndefined(body)).data,
    invalidMetric: 'internal_errors',
    idsOf: (report) => ({ kind: report.kind, tenant_id: tenantOfReport(report) }),
    async process(received) {
      await reportOne(received);
      return {};
    },
    /** Outcomes come last: a topic that fails must not delay escalations. */
    async finish(received) {
      const outcomesOf = ({ body }: Received<DeliveryReport>) => (body.kind === 'event' ? body.outcomes : []);
      const unpublished = await publish(received.flatMap(outcomesOf));
      return new Set(received.filter((each) => outcomesOf(each).some((outcome) => unpublished.has(outcome))));
    },
  });
};
