import type { SQSRecord } from 'aws-lambda';
import { lru } from 'tiny-lru';
import { createSummarizedAlerts, type SummarizedAlerts } from '../../adapters/deliveries/summarized-alerts.ts';
import { createCounters } from '../../adapters/dynamodb/counters.ts';
import { type NotificationTypeId, notificationTypes } from '../../contracts/notification-types.ts';
import type { FailureReason } from '../../contracts/outcomes.ts';
import type { StringMap } from '../../contracts/text.ts';
import type { DeliveryResult } from '../../domain/attempt-outcome.ts';
import { correlationOf, withStatus } from '../../domain/delivery-record.ts';
import {
  accountWindow,
  alarmCount,
  limitWindow,
  type Summary,
  type SummaryWindow,
  summarizedAlarm,
  summaryDueAtMs,
  summaryId,
  summaryNotice,
  withSummaryOf,
} from '../../domain/summary.ts';
import { MIN_TIME_TO_SEND_MS } from '../../domain/timeouts.ts';
import type { Transport } from '../../domain/transport.ts';
import { parseEnvironment, senderName } from '../../environment.ts';
import { createMessageLimits } from '../daily-limit.ts';
import { createNoticeQueue } from '../notices/notice-queue.ts';
import { createSharedRate } from '../shared-rate.ts';
import type { ClaimedDelivery, Decision } from './claimed-delivery.ts';
import { deleted, typeChanged, usualDecisions } from './decisions.ts';
import { type DeliveryJob, type SenderDependencies, sqsTimeMs } from './delivery-job.ts';
import { senderFunction } from './sender.ts';

const CACHE_SIZE = 1_000;

const MIN_TIME_TO_SUMMARIZE_MS = MIN_TIME_TO_SEND_MS + 3_000;

export type RefusalOf = (tenant: string, details: StringMap) => Promise<FailureReason | undefined>;

/** Its times may be long ago. */
const isReceivedAgain = ({ attributes }: SQSRecord): boolean => attributes.ApproximateReceiveCount !== '1';

const hasSummaries = (type: NotificationTypeId): boolean => notificationTypes[type].summarizedAfter !== null;

/** An alert is sent at once, or listed in the summary of its window (docs/decisions/deliveries.md#summaries). */
export const createSummaries = (
  { type, accounts, queues, queueUrls, retryQueueUrl, clock }: SenderDependencies,
  summarizedAlerts: SummarizedAlerts,
  isNearLimit: (tenant: string) => Promise<boolean>,
) => {
  // On the queue of the type, a notice that is due later would raise the age of the oldest message.
  const notices = createNoticeQueue(queues, { ...queueUrls, [type]: retryQueueUrl }, clock);
  const fullWindows = lru<true>(CACHE_SIZE);
  const { summarizedAfter: setting } = notificationTypes[type];

  /** Returns the time that determines the window of an alert: if the own clock is slow, the time of SQS. */
  const windowTimeMs = ({ message }: DeliveryJob): number => Math.max(clock(), sqsTimeMs(message));

  /**
   * Lists an alert: (1) queue the summary, (2) store the alarm, (3) record the alert. A crash loses nothing, because
   * the message is received again until (3). After (1), an empty summary is cancelled. After (2), the alert may be
   * listed twice; in the order (2), (1), also in that of a later window.
   */
  const summarize = async (delivery: ClaimedDelivery, window: SummaryWindow): Promise<DeliveryResult> => {
    const { job, record, target } = delivery;
    // The times of the message may be long ago, and if the own clock is slow, the summary of the window may be sent.
    if (isReceivedAgain(job.message)) return delivery.sendAgain();
    const { event, accepted_at_ms } = job.body;
    const notice = summaryNotice({ tenant: event.tenant_id, id: target.id }, window);
    await notices.queue(notice, correlationOf(record), {
      toContacts: false,
      toOperators: false,
      toOthers: async () => [Promise.resolve(target)],
      dueAtMs: summaryDueAtMs(window),
    });
    const alarm = summarizedAlarm(event, record.accepted_at_ms ?? accepted_at_ms);
    await summarizedAlerts.put(notice.event, alarm, clock());
    await delivery.persist(withStatus(record, 'summarized', clock(), { summary_id: notice.event.event_id }));
    return { kind: 'summarized' };
  };

  /** Also into its record. `late` without time to send it, `empty` if a worker crashed between (1) and (2). */
  const readSummary = async (delivery: ClaimedDelivery): Promise<Summary | 'late' | 'empty'> => {
    const { body, timeLeft } = delivery.job;
    const summary = await summarizedAlerts.read(body.event, () => timeLeft() >= MIN_TIME_TO_SUMMARIZE_MS);
    if (!summary) return 'late';
    if (alarmCount(summary) === 0) return 'empty';
    delivery.record = withSummaryOf(delivery.record, summary);
    return summary;
  };

  /** A type without summaries cannot read the alerts: the escalation says how many alarms there are. */
  const forwarded: Decision = async (delivery) => {
    const { isSummary, notification } = delivery;
    const isUnsent = isSummary && notification && !hasSummaries(notification.type);
    return isUnsent && (await readSummary(delivery)) === 'empty' ? delivery.cancel() : typeChanged(delivery);
  };

  /** If the account summarizes and the window has had its first alerts. One is counted at its first attempt. */
  const listed =
    (refusalOf?: RefusalOf): Decision =>
    async (delivery) => {
      const { job, record, target } = delivery;
      const { tenant_id } = job.body.event;
      const hasReached = (record.reached_recipient_hashes?.length ?? 0) > 0;
      const isAttempted = record.attempt_count > 0 || record.last_cause !== undefined || hasReached;
      if (setting === null || job.body.notice || isAttempted) return undefined;
      const settings = await accounts.summaries(tenant_id);
      if (!settings) return undefined;
      const after = settings[setting];
      const timeMs = windowTimeMs(job);
      const isNear = await isNearLimit(tenant_id);
      const window = accountWindow(timeMs, settings.window_minutes, isNear);
      const summary = { tenant_id, event_id: summaryId({ tenant: tenant_id, id: target.id }, window) };
      // A larger number has room again.
      const full = `${summary.event_id} ${after}`;
      // One that was received or claimed before may be among the first, although it was not sent.
      if (isReceivedAgain(job.message) || record.was_interrupted || !fullWindows.get(full)) {
        if (await summarizedAlerts.addFirst(summary, { deliveryId: job.deliveryId, limit: after }, clock()))
          return undefined;
        fullWindows.set(full, true);
      }
      const reason = await refusalOf?.(tenant_id, target.details);
      return reason ? delivery.deadLetter({ reason, cause: 'destination' }) : summarize(delivery, window);
    };

  const read: Decision = async (delivery) => {
    if (!delivery.isSummary) return undefined;
    const summary = await readSummary(delivery);
    if (summary === 'late') return delivery.sendAgain();
    if (summary === 'empty') return delivery.cancel();
    delivery.summary = summary;
    return undefined;
  };

  return {
    decisions: (refusalOf?: RefusalOf) => [forwarded, deleted, ...usualDecisions, listed(refusalOf), read],

    endAboveLimit: (delivery: ClaimedDelivery): Promise<DeliveryResult> =>
      summarize(delivery, limitWindow(windowTimeMs(delivery.job))),
  };
};

type SummarizedType = 'email' | 'technicalContactsEmail' | 'sms';

const limitNames = { email: 'emailsPerTenantPerDay', sms: 'smsPerTenantPerDay' } as const;

/** The `senderFunction` of a type that is summarized, with its daily limits and the shared rate of SES or SNS. */
export const summarizingFunction = <Type extends SummarizedType>(type: Type) => {
  const { environment, client, accounts, dependencies, sender } = senderFunction(type);
  const shared = parseEnvironment<`send-${SummarizedType}`>(senderName(type));
  const counter = type === 'sms' ? 'sms' : 'email';
  const limitOf = accounts.limit(limitNames[counter], shared.TENANT_LIMITS);
  const counters = createCounters(client, shared.ACCOUNTS_TABLE);
  const { limits, isNearLimit } = createMessageLimits(counters, counter, limitOf);
  const sharedRate = createSharedRate();
  const summarizedAlerts = createSummarizedAlerts(client, shared.DELIVERIES_TABLE);
  const { decisions, endAboveLimit } = createSummaries(dependencies, summarizedAlerts, isNearLimit);
  return {
    environment,
    client,
    accounts,
    queues: dependencies.queues,
    limits,
    sharedRate,
    sender: (transport: Transport, refusalOf?: RefusalOf) =>
      sender({ isSlow: sharedRate.isSlow, decisions: decisions(refusalOf), transport, endAboveLimit }),
  };
};
