import type { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import { createEscalationLimit } from '../../adapters/accounts/escalation-limit.ts';
import type { AlarmEvent } from '../../contracts/alarm-event.ts';
import type { Origin } from '../../contracts/messages.ts';
import type { Notice } from '../../domain/delivery-message.ts';
import type { ParsedEnvironment } from '../../environment.ts';
import type { NoticeQueue } from './notice-queue.ts';
import {
  escalationCounter,
  MAX_ESCALATIONS_PER_DAY,
  unreachedNoticeId,
  unreachedSummary,
  unreachedSummaryId,
} from './unreached-notice.ts';

/** The environment variables of escalations, parsed. */
export type EscalationEnvironment = Pick<
  ParsedEnvironment<'dispatch-alarm-events'>,
  'ACCOUNTS_TABLE' | 'ESCALATE_UNREACHED'
>;

/**
 * Creates the escalation of alerts that reached nobody: at most one per alarm, state and hour, and 20 per
 * tenant and day, OK apart from the other states, then one summary for each state
 * (docs/decisions/notices.md#nobody-reached).
 */
export const createEscalation = (
  client: DynamoDBDocumentClient,
  notices: NoticeQueue,
  { ACCOUNTS_TABLE, ESCALATE_UNREACHED: mode }: EscalationEnvironment,
) => {
  const isWithinLimit = createEscalationLimit(client, ACCOUNTS_TABLE, MAX_ESCALATIONS_PER_DAY);
  const recipients = { toOperators: mode === 'contacts+managed' };

  return {
    /**
     * Returns whether escalations are enabled and this execution environment has not escalated the alarm and state this
     * hour.
     */
    isDue: (event: AlarmEvent, atMs: number): boolean =>
      mode !== 'off' && !notices.isQueued(unreachedNoticeId(event, atMs)),

    /**
     * Queues the escalation of an event, or the summary if the tenant has reached its daily limit.
     *
     * @param origin that of the event
     * @param atMs when the event was found to have reached nobody, ms since the epoch; the same if it is found again
     * @throws the SDK's error
     */
    async escalate(
      event: AlarmEvent,
      origin: Origin,
      atMs: number,
      createNotice: () => Notice | Promise<Notice>,
    ): Promise<void> {
      const { tenant_id: tenant, details } = event;
      const counter = escalationCounter(details.state);
      if (await isWithinLimit(counter, tenant, unreachedNoticeId(event, atMs), atMs)) {
        await notices.queue(await createNotice(), origin, recipients);
      } else if (!notices.isQueued(unreachedSummaryId(event, atMs))) {
        await notices.queue(unreachedSummary(event, atMs), origin, recipients);
      }
    },
  };
};

/** Escalates alerts that reached nobody. */
export type Escalation = ReturnType<typeof createEscalation>;
