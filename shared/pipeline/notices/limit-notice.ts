import type { EventHeader } from '../../contracts/event-header.ts';
import type { NotificationTypeId } from '../../contracts/notification-types.ts';
import { headline } from '../../domain/alert-text.ts';
import { DAY_MS } from '../../domain/day.ts';
import type { Notice } from '../../domain/delivery-message.ts';
import { contentOf, startOf } from './notice-content.ts';

/**
 * Returns the notice that alerts exceed a daily limit: one per limit and UTC day.
 *
 * @param event the alert
 * @param type the type of its notification
 */
export const limitNotice = (event: EventHeader, type: NotificationTypeId, atMs: number): Notice => {
  const { tenant_id: tenant } = event;
  const limit = type === 'sms' ? 'sms_per_day' : 'emails_per_day';
  const what = type === 'sms' ? 'SMS' : 'emails';
  const subject = `The daily limit of ${what} is reached: alerts are summarized`;
  const dayStartMs = startOf(DAY_MS, atMs);
  return {
    event: {
      event_id: `${tenant}:${limit}:${dayStartMs}:limit`,
      tenant_id: tenant,
      details: { state: 'WARNING', status: subject },
      entity: { id: tenant },
      alarm: { id: 'limit' },
    },
    content: contentOf(
      'limit',
      subject,
      [
        `The account has used its limit ${limit} of this day. Until it ends, each notification gets one summary an hour that lists the alerts above the limit.`,
        'As many summaries as alerts are sent a day. Further ones wait for the next day. GET /account shows the limits and how much of them is used. The operators of the service can raise them.',
      ],
      [
        ['First alert above the limit', headline(event)],
        ['The day ends', dayStartMs + DAY_MS],
        ['Event', event.event_id],
      ],
    ),
  };
};
