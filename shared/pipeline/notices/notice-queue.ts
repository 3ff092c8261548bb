import { lru } from 'tiny-lru';
import type { Queues } from '../../adapters/queues.ts';
import type { Origin } from '../../contracts/messages.ts';
import type { NotificationTypeId } from '../../contracts/notification-types.ts';
import type { Clock } from '../../domain/clock.ts';
import { type Notice, noticeBody } from '../../domain/delivery-message.ts';
import { DEFAULT_NOTIFICATION_ID, OPERATORS_NOTIFICATION_ID } from '../../domain/notification-id.ts';

/** The maximum number of event IDs of queued notices in the cache of an execution environment. */
const CACHE_SIZE = 1_000;

/** Who receives a notice, the technical contacts by default, and when, in ms since the epoch: by default at once. */
type Recipients = { toContacts?: boolean; toOperators: boolean; dueAtMs?: number };

/**
 * Creates the queueing of notices as deliveries of their own. The delivery record of a notice makes a repeated notice a
 * duplicate. The cache only saves messages: each alert to a failing destination causes the same notice.
 */
export const createNoticeQueue = (
  queues: Pick<Queues, 'sendDelayed'>,
  urls: Pick<Record<NotificationTypeId, string>, 'technicalContactsEmail' | 'managed'>,
  clock: Clock,
) => {
  const queuedIds = lru<true>(CACHE_SIZE);
  const pending = new Map<string, Promise<void>>();

  const send = (
    notificationId: string,
    url: string,
    notice: Notice,
    origin: Origin,
    { dueAtMs = 0 }: Recipients,
  ): Promise<void> => {
    const nowMs = clock();
    const body = noticeBody(notificationId, notice, origin, Math.max(nowMs, dueAtMs));
    return queues.sendDelayed(url, { body, messageGroupId: notice.event.tenant_id }, Math.max(0, dueAtMs - nowMs));
  };

  const sendAll = async (notice: Notice, origin: Origin, recipients: Recipients): Promise<void> => {
    const { toContacts = true, toOperators } = recipients;
    await Promise.all([
      toContacts && send(DEFAULT_NOTIFICATION_ID, urls.technicalContactsEmail, notice, origin, recipients),
      toOperators && send(OPERATORS_NOTIFICATION_ID, urls.managed, notice, origin, recipients),
    ]);
    queuedIds.set(notice.event.event_id, true);
  };

  return {
    /** Returns whether this execution environment has queued the notice with this event ID. */
    isQueued: (eventId: string): boolean => queuedIds.get(eventId) === true,

    /**
     * Queues a notice, unless this execution environment has queued it.
     *
     * @param origin that of the alert that causes the notice
     * @throws the SDK's error
     */
    async queue(notice: Notice, origin: Origin, recipients: Recipients): Promise<void> {
      const id = notice.event.event_id;
      if (queuedIds.get(id)) return;
      const sent = pending.get(id) ?? sendAll(notice, origin, recipients).finally(() => pending.delete(id));
      pending.set(id, sent);
      await sent;
    },
  };
};

/** Queues notices. */
export type NoticeQueue = ReturnType<typeof createNoticeQueue>;
