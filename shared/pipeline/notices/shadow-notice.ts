import type { EventHeader } from '../../contracts/event-header.ts';
import { headline } from '../../domain/alert-text.ts';
import { DAY_MS } from '../../domain/day.ts';
import type { Notice } from '../../domain/delivery-message.ts';
import { contentOf, startOf } from './notice-content.ts';

/** Returns the event ID of the notice about a tenant in shadow mode: one per tenant and UTC day. */
export const shadowNoticeId = (tenant: string, atMs: number): string =>
  `${tenant}:shadow:${startOf(DAY_MS, atMs)}:shadow`;

/** Returns when the notice is due again: at the start of the next UTC day, in ms since the epoch. */
export const nextShadowNoticeMs = (atMs: number): number => startOf(DAY_MS, atMs) + DAY_MS;

/** Returns the notice that a tenant is in shadow mode. @param withheld an alert that was not sent */
export const shadowNotice = (tenant: string, atMs: number, withheld?: EventHeader): Notice => {
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
        `The service records the alerts of the tenant ${tenant} as cancelled, for the reason shadow. If no other system sends them, end shadow mode.`,
        'The service sends this notice on each UTC day until shadow mode ends.',
      ],
      withheld
        ? [
            ['Alert', headline(withheld)],
            ['Event', withheld.event_id],
          ]
        : [],
      [['End shadow mode', `npm run -s ops -- account shadow ${tenant} off --stack STACK`]],
    ),
  };
};
