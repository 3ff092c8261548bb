import type { AlarmEvent } from '../../contracts/alarm-event.ts';
import { headline } from '../../domain/alert-text.ts';
import { DAY_MS } from '../../domain/day.ts';
import type { Notice } from '../../domain/delivery-message.ts';
import { contentOf, startOf } from './notice-content.ts';

/** Returns the event ID of the notice about a tenant in shadow mode: one per tenant and UTC day. */
export const shadowNoticeId = (tenant: string, atMs: number): string =>
  `${tenant}:shadow:${startOf(DAY_MS, atMs)}:shadow`;

/** Returns the notice that alerts of a tenant are not sent, with the first alert of the day. */
export const shadowNotice = (event: AlarmEvent, atMs: number): Notice => {
  const { tenant_id: tenant } = event;
  const subject = 'Alerts are not sent: the tenant is in shadow mode';
  return {
    event: {
      event_id: shadowNoticeId(tenant, atMs),
      tenant_id: tenant,
      details: { state: 'WARNING', status: subject },
      entity: { id: tenant },
      alarm: { id: 'shadow' },
    },
    content: contentOf(
      'shadow',
      subject,
      [
        `The service records the alerts of the tenant ${tenant} as cancelled, for the reason shadow. If no other system sends them, end shadow mode: ops account shadow ${tenant} off.`,
        'The service sends this notice with the first alert of each UTC day that it does not send.',
      ],
      [
        ['Alert', headline(event)],
        ['Event', event.event_id],
      ],
    ),
  };
};
