import { lru } from 'tiny-lru';
import { notificationTypes } from '../../contracts/notification-types.ts';
import { correlationOf, withSummary } from '../../domain/delivery-record.ts';
import type { DeliveryResult } from '../../domain/delivery-result.ts';
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
import type { ClaimedDelivery } from './claimed-delivery.ts';
import type { DeliveryJob } from './delivery-job.ts';
import { isReceivedAgain, sqsTimeMs } from './received-message.ts';
import type { SenderDependencies } from './sender-dependencies.ts';

/** The maximum number of windows in the cache of an execution environment. */
const CACHE_SIZE = 1_000;

/**
 * Creates the summarizing of alerts (docs/decisions/deliveries.md#summaries): an alert is sent at once, or listed in the
 * summary of its window.
 *
 * @param sendAgain releases the claim of an alert and sends its message again
 */
export const createSummarizer = (
  { type, accounts, summarizedAlerts, queues, delayedQueueUrls, clock, isNearLimit }: SenderDependencies,
  sendAgain: (delivery: ClaimedDelivery) => Promise<DeliveryResult>,
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
  const summarize = async (
    delivery: ClaimedDelivery,
    target: DeliveryTarget,
    window: SummaryWindow,
  ): Promise<DeliveryResult> => {
    const { job, record } = delivery;
    // The times of the message may be long ago, and if the own clock is slow, the summary of the window may be sent.
    if (isReceivedAgain(job.message)) return sendAgain(delivery);
    const { event, accepted_at_ms } = job.body;
    const notice = summaryNotice({ tenant: event.tenant_id, notificationId: target.id }, window);
    await notices.queue(notice, correlationOf(record), {
      toContacts: false,
      toOperators: false,
      toOthers: async () => [Promise.resolve(target)],
      dueAtMs: summaryDueAtMs(window),
    });
    await summarizedAlerts.put(notice.event, summarizedAlarm(event, record.accepted_at_ms ?? accepted_at_ms), clock());
    await delivery.persist(withSummary(record, notice.event.event_id, clock()));
    return { kind: 'summarized' };
  };

  return {
    /**
     * Lists an alert in the summary of its window if the account summarizes and the window has had its first alerts. An
     * alert is counted once, at its first attempt.
     *
     * @param refuse ends the delivery of an alert that must not be listed, because nothing is sent to its destination
     * @returns the result of the message, or undefined if the alert must be sent
     */
    async unlessFirst(
      delivery: ClaimedDelivery,
      target: DeliveryTarget,
      refuse: () => Promise<DeliveryResult | undefined>,
    ): Promise<DeliveryResult | undefined> {
      const { job, record } = delivery;
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
      const summary = { tenant_id, event_id: summaryId({ tenant: tenant_id, notificationId: target.id }, window) };
      // A larger number has room again.
      const full = `${summary.event_id} ${after}`;
      // One that was received before may be among the first, although it was not sent.
      if (isReceivedAgain(job.message) || !fullWindows.get(full)) {
        if (await summarizedAlerts.addFirst(summary, job.deliveryId, after, clock())) return undefined;
        fullWindows.set(full, true);
      }
      return (await refuse()) ?? summarize(delivery, target, window);
    },

    /** Lists an alert above the daily limit in the summary of the hour. */
    aboveLimit: (delivery: ClaimedDelivery, target: DeliveryTarget): Promise<DeliveryResult> =>
      summarize(delivery, target, limitWindow(windowTimeMs(delivery.job))),
  };
};
