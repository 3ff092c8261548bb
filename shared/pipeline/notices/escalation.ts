import type { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import type { AccountRepository } from '../../adapters/accounts/account-repository.ts';
import { createEscalationLimit } from '../../adapters/accounts/escalation-limit.ts';
import { omitUnreadable } from '../../adapters/notifications/notification-items.ts';
import type { NotificationRepository } from '../../adapters/notifications/notification-repository.ts';
import type { EventHeader } from '../../contracts/event-header.ts';
import type { Correlation } from '../../contracts/messages.ts';
import type { Notice } from '../../domain/delivery-message.ts';
import { type DeliveryTarget, defaultNotification, operatorsNotification } from '../../domain/notification.ts';
import type { ParsedEnvironment } from '../../environment.ts';
import type { NoticeQueue } from './notice-queue.ts';
import {
  escalationCounter,
  escalationLimitNotice,
  escalationLimitNoticeId,
  MAX_ESCALATIONS_PER_DAY,
  type UnreachedAlert,
  unreachedNoticeId,
} from './unreached-notice.ts';

/** What escalations use. */
export type EscalationDependencies = {
  client: DynamoDBDocumentClient;
  notices: NoticeQueue;
  accounts: Pick<AccountRepository, 'fallbackNotifications'>;
  notifications: Pick<NotificationRepository, 'targets'>;
};

/** The environment variables of escalations, parsed. */
export type EscalationEnvironment = Pick<
  ParsedEnvironment<'dispatch-alarm-events'>,
  'ACCOUNTS_TABLE' | 'ESCALATE_UNREACHED'
>;

/**
 * Creates the escalation of alerts that reached nobody: at most one per alarm, state and hour, and 20 per
 * tenant and day, OK apart from the other states, then one notice for each state that the limit is reached
 * (docs/decisions/notices.md#nobody-reached).
 */
export const createEscalation = (
  { client, notices, accounts, notifications }: EscalationDependencies,
  { ACCOUNTS_TABLE, ESCALATE_UNREACHED: mode }: EscalationEnvironment,
) => {
  const toOperators = mode === 'contacts+managed';
  const notifiedTypes = [defaultNotification, ...(toOperators ? [operatorsNotification] : [])].map(({ type }) => type);
  const isWithinLimit = createEscalationLimit(client, ACCOUNTS_TABLE, MAX_ESCALATIONS_PER_DAY);

  /**
   * Starts to read the fallback notifications of an account (docs/decisions/notices.md#fallback-notifications), without
   * unreadable ones, destinations of the event, and those of types whose recipients get every escalation.
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

  return {
    /**
     * Returns whether escalations are enabled and this execution environment has not escalated the alarm and state this
     * hour.
     */
    isDue: (event: EventHeader, atMs: number): boolean =>
      mode !== 'off' && !notices.isQueued(unreachedNoticeId(event, atMs), toOperators),

    /**
     * Queues the escalation of an event, or the notice of the limit if the tenant has reached it. The operators have an
     * alarm if the service is at fault.
     *
     * @param correlation that of the event
     * @param destinationIds the IDs of the event's notifications
     * @throws the first error of a read or a send, after all others have ended
     */
    async escalate(
      { event, atMs }: Pick<UnreachedAlert, 'event' | 'atMs'>,
      correlation: Correlation,
      destinationIds: readonly string[],
      createNotice: () => Notice | Promise<Notice>,
      isOfService = false,
    ): Promise<void> {
      const { tenant_id: tenant, state } = event;
      const counter = escalationCounter(state);
      const recipients = {
        toOperators: toOperators && !isOfService,
        toOthers: () => readFallback(event, destinationIds),
      };
      if (await isWithinLimit(counter, tenant, unreachedNoticeId(event, atMs), atMs)) {
        await notices.queue(await createNotice(), correlation, recipients);
      } else if (!notices.isQueued(escalationLimitNoticeId(event, atMs), recipients.toOperators)) {
        await notices.queue(escalationLimitNotice(event, atMs), correlation, recipients);
      }
    },
  };
};

/** Escalates alerts that reached nobody. */
export type Escalation = ReturnType<typeof createEscalation>;
