import { lru } from 'tiny-lru';
import { notificationTypes } from '../../contracts/notification-types.ts';
import { type DeliveryRecord, originOf, withSummary } from '../../domain/delivery-record.ts';
import type { DeliveryTarget } from '../../domain/notification.ts';
import {
  AFTER_DAILY_LIMIT,
  afterFirstAlerts,
  LIMIT_WINDOW_MINUTES,
  type SummaryWindow,
  summarizedAfter,
  summarizedAlert,
  summaryDueAtMs,
  summaryId,
  summaryNotice,
  windowAt,
} from '../../domain/summary.ts';
import { createNoticeQueue } from '../notices/notice-queue.ts';
import type { DeliveryJob, SettledMessage } from './delivery-job.ts';
import { persist } from './persist.ts';
import type { SenderDependencies } from './sender-dependencies.ts';

/** The maximum number of windows in the cache of an execution environment. */
const CACHE_SIZE = 1_000;

/** In hex digits: enough to distinguish the first alerts of a window. */
const DELIVERY_ID_LENGTH = 12;

/** The delivery of a claimed alert to an existing notification. */
type ClaimedAlert = { job: DeliveryJob; record: DeliveryRecord; target: DeliveryTarget };

/**
 * Creates the summarizing of alerts (docs/decisions/deliveries.md#summaries): an alert is sent at once, or listed in the
 * summary of its window.
 */
export const createSummarizer = ({
  type,
  accounts,
  summarizedAlerts,
  queues,
  delayedQueueUrls,
  clock,
}: SenderDependencies) => {
  const notices = createNoticeQueue(queues, delayedQueueUrls, clock);
  const fullWindows = lru<true>(CACHE_SIZE);
  const { summarizedAfter: setting } = notificationTypes[type];

  /**
   * Lists an alert in the summary of a window. The order prevents loss if the worker crashes: queue the summary, store
   * the alert, update the record.
   */
  const summarize = async (
    { job, record, target }: ClaimedAlert,
    window: SummaryWindow,
    why: string,
  ): Promise<SettledMessage> => {
    const { event, accepted_at_ms } = job.body;
    const notice = summaryNotice({ tenant: event.tenant_id, notificationId: target.id }, window, why);
    await notices.queue(notice, originOf(record), {
      toContacts: false,
      toOperators: false,
      toOthers: async () => [Promise.resolve(target)],
      dueAtMs: summaryDueAtMs(window),
    });
    await summarizedAlerts.put(notice.event, summarizedAlert(event, record.accepted_at_ms ?? accepted_at_ms), clock());
    await persist(job, () =>
      job.writes.end(record, withSummary({ ...record, siblings: job.body.siblings }, notice.event.event_id, clock())),
    );
    return { outcome: 'summarized' };
  };

  return {
    /**
     * Lists an alert in the summary of its window if the account summarizes and the window has had its first alerts. An
     * alert is counted once, at its first attempt.
     *
     * @returns the result of the message, or undefined if the alert must be sent
     */
    async unlessFirst(alert: ClaimedAlert): Promise<SettledMessage | undefined> {
      const { job, record, target } = alert;
      const isAttempted = record.attempt_count > 0 || record.last_cause !== undefined;
      if (setting === null || job.body.notice || isAttempted) return undefined;
      const tenant = job.body.event.tenant_id;
      const settings = await accounts.summaries(tenant);
      const after = summarizedAfter(setting, settings);
      if (!settings || after === 0) return undefined;
      const window = windowAt(clock(), settings.window_minutes);
      const event_id = summaryId({ tenant, notificationId: target.id }, window);
      if (!fullWindows.get(event_id)) {
        const id = job.deliveryId.slice(0, DELIVERY_ID_LENGTH);
        if (await summarizedAlerts.addFirst({ tenant_id: tenant, event_id }, id, after, clock())) return undefined;
        fullWindows.set(event_id, true);
      }
      return summarize(alert, window, afterFirstAlerts(after));
    },

    /** Lists an alert above the daily limit in the summary of the hour. */
    aboveLimit: (alert: ClaimedAlert): Promise<SettledMessage> =>
      summarize(alert, windowAt(clock(), LIMIT_WINDOW_MINUTES), AFTER_DAILY_LIMIT),
  };
};
