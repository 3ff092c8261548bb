import type { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import type { AccountRepository } from '../../adapters/accounts/account-repository.ts';
import { createCounters, dailyCounter } from '../../adapters/dynamodb/counters.ts';
import type { NotificationRepository } from '../../adapters/notifications/notification-repository.ts';
import { omitUnreadable } from '../../adapters/notifications/notification-targets.ts';
import type { EventHeader } from '../../contracts/event-header.ts';
import type { Correlation } from '../../contracts/messages.ts';
import type { Notice } from '../../domain/notice.ts';
import { type DeliveryTarget, defaultNotification, operatorsNotification } from '../../domain/notification.ts';
import type { ParsedEnvironment } from '../../environment.ts';
import type { NoticeQueue } from './notice-queue.ts';
import {
  escalationCounter,
  escalationLimitNoticeId,
  MAX_ESCALATIONS_PER_DAY,
  noticeTable,
  type UnreachedAlert,
  unreachedNoticeId,
} from './notice-table.ts';

/** The maximum number of notices that are recorded as sent: more than a day can have. */
const MAX_SENT_PER_DAY = 1_000;

/** Returns the counters of a day: of its escalations, and of the notices that were queued for all of their recipients. */
const countersOf = ({ tenant_id: tenant, state }: EventHeader, atMs: number) => {
  const name = escalationCounter(state);
  return { counted: dailyCounter(name, tenant, atMs), sent: dailyCounter(`sent_${name}`, tenant, atMs) };
};

export type EscalationDependencies = {
  client: DynamoDBDocumentClient;
  notices: NoticeQueue;
  accounts: Pick<AccountRepository, 'fallbackNotifications'>;
  notifications: Pick<NotificationRepository, 'targets'>;
};

export type EscalationEnvironment = Pick<
  ParsedEnvironment<'report-deliveries'>,
  'ACCOUNTS_TABLE' | 'ESCALATE_UNREACHED'
>;

/**
 * Escalates alerts that reached nobody, once per alarm, state and hour and 20 times per tenant and day, OK apart from
 * other states, then sends one notice per state (docs/decisions/notices.md#nobody-reached).
 */
export const createEscalation = (
  { client, notices, accounts, notifications }: EscalationDependencies,
  { ACCOUNTS_TABLE, ESCALATE_UNREACHED: mode }: EscalationEnvironment,
) => {
  const toOperators = mode === 'contacts+managed';
  const notifiedTypes = [defaultNotification, ...(toOperators ? [operatorsNotification] : [])].map(({ type }) => type);
  const counters = createCounters(client, ACCOUNTS_TABLE);

  /**
   * The fallback notifications of an account (docs/decisions/notices.md#fallback-notifications), without unreadable
   * ones, destinations of the event, and types whose recipients get every escalation.
   */
  const readFallback = async (
    { tenant_id: tenant, state }: EventHeader,
    destinationIds: readonly string[],
  ): Promise<Promise<DeliveryTarget | undefined>[]> => {
    if (state === 'OK') return [];
    const keys = (await accounts.fallbackNotifications(tenant)).map((id) => ({ tenant, id }));
    const targets = notifications.targets(keys);
    return keys.map(async (key) => {
      const target = await targets.find(key).catch(omitUnreadable);
      const isNotified = target && (destinationIds.includes(target.id) || notifiedTypes.includes(target.type));
      return isNotified ? undefined : target;
    });
  };

  /** Identifies a notice with its recipients: the operators may get it later than the others. */
  const sentKey = (noticeId: string, isToOperators: boolean): string =>
    `${noticeId}${isToOperators ? ' operators' : ''}`;

  return {
    /** Whether escalations are enabled, and this one or the limit of the day was not sent yet, to the operators too. */
    async isDue(event: EventHeader, atMs: number): Promise<boolean> {
      const id = unreachedNoticeId(event, atMs);
      if (mode === 'off' || notices.isQueued(id, toOperators)) return false;
      const { counted, sent } = countersOf(event, atMs);
      const taken = await counters.read([counted, sent]);
      const { ids } = taken(counted);
      const isAboveLimit = ids.size >= MAX_ESCALATIONS_PER_DAY && !ids.has(id);
      return !taken(sent).ids.has(sentKey(isAboveLimit ? escalationLimitNoticeId(event, atMs) : id, toOperators));
    },

    /**
     * Queues the escalation of an event, or the notice of the limit, and records that. The operators have an alarm if
     * the service is at fault. @throws the first error of a read or a send, after all others have ended
     */
    async escalate(
      { event, atMs }: Pick<UnreachedAlert, 'event' | 'atMs'>,
      correlation: Correlation,
      destinationIds: readonly string[],
      createNotice: () => Notice | Promise<Notice>,
      isOfService = false,
    ): Promise<void> {
      const { counted, sent } = countersOf(event, atMs);
      const recipients = {
        toOperators: toOperators && !isOfService,
        toOthers: () => readFallback(event, destinationIds),
      };
      const isWithinLimit = await counters.takeOnce(counted, unreachedNoticeId(event, atMs), MAX_ESCALATIONS_PER_DAY);
      const notice = isWithinLimit ? await createNotice() : noticeTable.escalationLimit(event, atMs);
      await notices.queue(notice, correlation, recipients);
      await counters.takeOnce(sent, sentKey(notice.event.event_id, recipients.toOperators), MAX_SENT_PER_DAY);
    },
  };
};
export type Escalation = ReturnType<typeof createEscalation>;
