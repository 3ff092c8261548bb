import * as z from 'zod';
import {
  MAX_FALLBACK_NOTIFICATIONS,
  MAX_NOTIFICATION_ID_LENGTH,
  MAX_TECHNICAL_CONTACTS,
  summaries,
  summarySettings,
  WEBHOOK_TOKEN,
} from '../account.ts';
import { emailAddress } from '../notification-fields.ts';
import { stopReasons } from '../outcomes.ts';
import { MAX_TIME_ZONE_LENGTH } from '../time-zone.ts';
import { component, integer, string, text, timestamp } from './schemas.ts';

const summarySetting = (name: keyof typeof summarySettings, meaning: string) =>
  summaries.shape[name].check(z.describe(`${meaning}; ${summarySettings[name].default} if absent in an update`));

const limitsOf = (meaning: string) => ({
  notifications: integer.describe(`Notifications, without the default notification: ${meaning}`),
  tests_per_day: integer.describe(`Test operations in a UTC day: ${meaning}`),
  redeliveries_per_day: integer.describe(`Redelivered deliveries in a UTC day: ${meaning}`),
  emails_per_day: integer.describe(`Alerts by email in a UTC day, for each recipient: ${meaning}`),
  sms_per_day: integer.describe(`Alerts by SMS in a UTC day: ${meaning}`),
  managed_per_day: integer.describe(`Alerts to the operators in a UTC day: ${meaning}`),
  email_summaries_per_day: integer.describe(`Summaries by email in a UTC day, for each recipient: ${meaning}`),
  sms_summaries_per_day: integer.describe(`Summaries by SMS in a UTC day: ${meaning}`),
  tokens: integer.describe(`Unexpired API tokens: ${meaning}`),
});

const signingSecret = z.string().regex(/^whsec_/);

/** docs/api.md#account */
export const account = component('Account', 'The account of a tenant', {
  id: string('The tenant'),
  technical_contacts: z
    .array(emailAddress())
    .max(MAX_TECHNICAL_CONTACTS)
    .describe(
      'Email addresses that receive the alerts of type `technicalContactsEmail`, and the notices of the service',
    ),
  escalation_notifications: z
    .array(text(MAX_NOTIFICATION_ID_LENGTH))
    .max(MAX_FALLBACK_NOTIFICATIONS)
    .describe(
      'IDs of notifications to which escalations of CRITICAL and WARNING also go. They must exist. Those that are deleted later, and the destinations of the event itself, are skipped',
    )
    .optional(),
  summaries: z
    .strictObject({
      email_after: summarySetting('email_after', 'Alerts of a window that one email notification gets at once'),
      sms_after: summarySetting('sms_after', 'Alerts of a window that one SMS notification gets at once'),
      window_minutes: summarySetting('window_minutes', 'Length of a window in minutes'),
    })
    .describe('After how many alerts of a window the others are summarized in one message')
    .optional(),
  time_zone: text(MAX_TIME_ZONE_LENGTH).describe('The IANA time zone of the times in emails, such as `Europe/Berlin`'),
  webhook_token: z
    .string()
    .regex(WEBHOOK_TOKEN)
    .optional()
    .describe('For admins only. The token that each webhook carries'),
  webhook_signing_secrets: z
    .array(signingSecret)
    .optional()
    .describe('For admins only: the current secret first, then the replaced one while it signs'),
  shadow: z
    .object({
      from: timestamp('When it starts'),
      until: timestamp('When it ends'),
    })
    .optional()
    .describe(
      'Present only in shadow mode: alerts of events from `from` on are recorded as `cancelled`, and not sent. Operators set it',
    ),
  email_off: z
    .object({ since: timestamp('Since when') })
    .optional()
    .describe('Present only while the operators have turned off everything by email. Alerts by email fail'),
  stopped_contacts: z
    .array(
      z.object({
        address: emailAddress().check(z.describe('The contact')),
        reason: z.enum(stopReasons).describe('Why'),
        since: timestamp('Since when'),
      }),
    )
    .optional()
    .describe('Technical contacts to which nothing is sent by email. Present only if there are some'),
  unusable_escalations: z
    .array(
      z.object({
        id: text(MAX_NOTIFICATION_ID_LENGTH).describe('ID of the notification'),
        reason: z.enum([...stopReasons, 'muted', 'deleted']).describe('Why'),
      }),
    )
    .optional()
    .describe('The `escalation_notifications` that cannot be reached. Present only if there are some'),
  limits: z.object(limitsOf('the limit')).describe('The limits of the account'),
  usage: z
    .object({
      ...limitsOf('how many are used'),
      day_ends_at: timestamp('When the daily limits start again, at midnight UTC'),
    })
    .describe('How much of each limit is used'),
});
export type AccountRecord = z.infer<typeof account>;

export const newSecret = component('SigningSecret', 'The signing secret of webhooks after a rotation', {
  webhook_signing_secret: signingSecret.describe('The new secret'),
});
export type NewSecret = z.infer<typeof newSecret>;
