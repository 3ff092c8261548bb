import { lru } from 'tiny-lru';
import { notificationTypes } from '../../contracts/notification-types.ts';
import { type DeliveryRecord, originOf, withSummary } from '../../domain/delivery-record.ts';
import type { DeliveryTarget } from '../../domain/notification.ts';
import {
  accountWindow,
  limitWindow,
  type SummaryWindow,
  summarizedAlarm,
  summaryDueAtMs,
  summaryId,
  summaryNotice,
} from '../../domain/summary.ts';
import { createNoticeQueue } from '../notices/notice-queue.ts';
import type { DeliveryJob, SettledMessage } from './delivery-job.ts';
import { persist } from './persist.ts';
import { isReceivedAgain, sqsTimeMs } from './read-message.ts';
import type { SenderDependencies } from './sender-dependencies.ts';

/** The maximum number of windows in the cache of an execution environment. */
const CACHE_SIZE = 1_000;

/** The delivery of a claimed alert to an existing notification. */
type ClaimedAlert = { job: DeliveryJob; record: DeliveryRecord; target: DeliveryTarget };

/**
 * Creates the summarizing of alerts (docs/decisions/deliveries.md#summaries): an alert is sent at once, or listed in the
 * summary of its window.
 *
 * @param sendAgain releases the claim of an alert and sends its message again
 */
export const createSummarizer = (
  { type, accounts, summarizedAlerts, queues, delayedQueueUrls, clock, isNearLimit }: SenderDependencies,
  sendAgain: (job: DeliveryJob, record: DeliveryRecord) => Promise<SettledMessage>,
) => {
  const notices = createNoticeQueue(queues, delayedQueueUrls, clock);
  /** The windows that have had their first alerts. */
  const fullWindows = lru<true>(CACHE_SIZE);
  const { summarizedAfter: setting } = notificationTypes[type];

  /** Returns the time that determines the window of an alert: if the own clock is slow, the time of SQS. */
  const windowTimeMs = ({ message }: DeliveryJob): number => Math.max(clock(), sqsTimeMs(message));

  /**
   * Lists an alert in the summary of a window: (1) queue the summary, (2) store the alarm, (3) record the alert. A crash
   * loses nothing, because the message is received again until (3). After (1), the summary may be empty and is cancelled.
   * After (2), the alert may be listed twice. In the order (2), (1), a crash between them could list it twice, too: in this
   * summary, if another alert queues it, and in that of a later window.
   */
  const summarize = async ({ job, record, target }: ClaimedAlert, window: SummaryWindow): Promise<SettledMessage> => {
    // The times of the message may be long ago, and if the own clock is slow, the summary of the window may be sent.
    if (isReceivedAgain(job.message)) return sendAgain(job, record);
    const { event, accepted_at_ms } = job.body;
    const notice = summaryNotice({ tenant: event.tenant_id, notificationId: target.id }, window);
    await notices.queue(notice, originOf(record), {
      toContacts: false,
      toOperators: false,
      toOthers: async () => [Promise.resolve(target)],
      dueAtMs: summaryDueAtMs(window),
    });
    await summarizedAlerts.put(notice.event, summarizedAlarm(event, record.accepted_at_ms ?? accepted_at_ms), clock());
    const summarized = withSummary({ ...record, siblings: job.body.siblings }, notice.event.event_id, clock());
    await persist(job, () => job.writes.update(record, summarized));
    return { outcome: 'summarized' };
  };

  const summaryKey = ({ job, target }: ClaimedAlert, window: SummaryWindow) => {
    const { tenant_id } = job.body.event;
    return { tenant_id, event_id: summaryId({ tenant: tenant_id, notificationId: target.id }, window) };
  };

  return {
    /**
     * Lists an alert in the summary of its window if the account summarizes and the window has had its first alerts. An
     * alert is counted once, at its first attempt.
     *
     * @returns the result of the message, or undefined if the alert must be sent
     */
    async unlessFirst(alert: ClaimedAlert): Promise<SettledMessage | undefined> {
      const { job, record } = alert;
      const isAttempted = record.attempt_count > 0 || record.last_cause !== undefined;
      if (setting === null || job.body.notice || isAttempted) return undefined;
      const settings = await accounts.summaries(job.body.event.tenant_id);
      if (!settings) return undefined;
      const after = settings[setting];
      const timeMs = windowTimeMs(job);
      const isNear = await isNearLimit(job.body.event.tenant_id);
      const window = accountWindow(timeMs, settings.window_minutes, isNear);
      const summary = summaryKey(alert, window);
      // A larger number has room again.
      const full = `${summary.event_id} ${after}`;
      // One that was received before may be among the first, although it was not sent.
      if (isReceivedAgain(job.message) || !fullWindows.get(full)) {
        if (await summarizedAlerts.addFirst(summary, job.deliveryId, after, clock())) return undefined;
        fullWindows.set(full, true);
      }
      return summarize(alert, window);
    },

    /** Lists an alert above the daily limit in the summary of the hour. */
    aboveLimit: (alert: ClaimedAlert): Promise<SettledMessage> =>
      summarize(alert, limitWindow(windowTimeMs(alert.job))),
  };
};
