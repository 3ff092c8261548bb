import type { PauseReason } from '../../contracts/email-pause.ts';
import type { Notice } from '../../domain/delivery-message.ts';
import type { EmailPause } from '../../domain/email-reputation.ts';
import { contentOf } from './notice-content.ts';

const reasonTexts: Record<PauseReason, { subject: string; what: string }> = {
  bounces: { subject: 'too many bounced', what: 'bounced' },
  complaints: { subject: 'too many were reported as spam', what: 'were reported as spam' },
};

/** Returns the event ID of the notice about a pause. */
export const pauseNoticeId = (tenant: string, { since_ms }: EmailPause): string => `${tenant}:email:${since_ms}:paused`;

/** Returns the notice that the emails of a tenant are paused: one per pause. */
export const pauseNotice = (tenant: string, pause: EmailPause): Notice => {
  const { since_ms, reason, count, emails } = pause;
  const { subject: cause, what } = reasonTexts[reason];
  const subject = `Email is paused: ${cause}`;
  const event_id = pauseNoticeId(tenant, pause);
  return {
    event: {
      event_id,
      tenant_id: tenant,
      details: { state: 'WARNING', status: subject },
      entity: { id: tenant },
      alarm: { id: 'paused' },
    },
    content: contentOf(
      'paused',
      subject,
      [
        `Of the emails of the tenant ${tenant}, ${count} of ${emails} in 24 hours ${what}. AWS stops the email of all tenants if too many do. So the service sends none of this tenant, and its alerts by email fail with the reason email_paused.`,
        'Correct or delete the addresses that fail: GET /failures lists their notifications. Then operators end the pause, and the alerts can be redelivered.',
      ],
      [
        ['Paused since', since_ms],
        ['Event', event_id],
      ],
      [['End the pause', `npm run -s ops -- account resume-email ${tenant} --why REASON --stack STACK`]],
    ),
  };
};
