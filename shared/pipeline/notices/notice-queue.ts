import { lru } from 'tiny-lru';
import type { Queues } from '../../adapters/queues.ts';
import { allSettled } from '../../adapters/waiting.ts';
import type { Correlation } from '../../contracts/messages.ts';
import type { NotificationTypeId } from '../../contracts/notification-types.ts';
import { noticeBody } from '../../domain/new-delivery-message.ts';
import type { Notice } from '../../domain/notice.ts';
import { type DeliveryTarget, defaultNotification, operatorsNotification } from '../../domain/notification.ts';
import type { Clock } from '../../domain/time.ts';

const CACHE_SIZE = 1_000;

/** Who receives a notice, the technical contacts by default, and when, in ms since the epoch: by default at once. */
type Recipients = {
  toContacts?: boolean;
  toOperators: boolean;
  /** Returns reads of the targets of other notifications, undefined for those that do not exist. */
  toOthers?: () => Promise<readonly Promise<DeliveryTarget | undefined>[]>;
  dueAtMs?: number;
};

/**
 * Queues notices as deliveries of their own, whose records make repetitions duplicates. The cache only saves messages:
 * each alert to a failing destination causes the same notice.
 */
export const createNoticeQueue = (
  queues: Pick<Queues, 'sendDelayed'>,
  urls: Readonly<Record<NotificationTypeId, string>>,
  clock: Clock,
) => {
  const queuedIds = lru<boolean>(CACHE_SIZE);
  const pending = new Map<string, Promise<void>>();

  const sendAll = async (
    notice: Notice,
    correlation: Correlation,
    { toContacts = true, toOperators, toOthers = async () => [], dueAtMs = 0 }: Recipients,
  ): Promise<void> => {
    const send = (target: Pick<DeliveryTarget, 'id' | 'type' | 'ordered'>): Promise<void> => {
      const nowMs = clock();
      const body = noticeBody(target, notice, correlation, Math.max(nowMs, dueAtMs));
      const letter = { body, messageGroupId: notice.event.tenant_id };
      return queues.sendDelayed(urls[target.type], letter, Math.max(0, dueAtMs - nowMs));
    };
    const sendToOthers = async (): Promise<void> => {
      const reads = await toOthers();
      await allSettled(reads.map((read) => read.then((target) => target && send(target))));
    };
    await allSettled([
      ...(toContacts ? [send(defaultNotification)] : []),
      ...(toOperators ? [send(operatorsNotification)] : []),
      sendToOthers(),
    ]);
    queuedIds.set(notice.event.event_id, toOperators || queuedIds.get(notice.event.event_id) === true);
  };

  const isQueued = (eventId: string, toOperators = false): boolean => {
    const wasToOperators = queuedIds.get(eventId);
    return toOperators ? wasToOperators === true : wasToOperators !== undefined;
  };

  return {
    isQueued,

    /** Queues a notice, unless this execution environment has. `correlation`: that of the alert that causes it. */
    async queue(notice: Notice, correlation: Correlation, recipients: Recipients): Promise<void> {
      const id = notice.event.event_id;
      if (isQueued(id, recipients.toOperators)) return;
      const key = `${recipients.toOperators} ${id}`;
      const sent = pending.get(key) ?? sendAll(notice, correlation, recipients).finally(() => pending.delete(key));
      pending.set(key, sent);
      await sent;
    },
  };
};
export type NoticeQueue = ReturnType<typeof createNoticeQueue>;
