import * as z from 'zod';
import {
  type AccountLimits,
  MAX_FALLBACK_NOTIFICATIONS,
  MAX_NOTIFICATION_ID_LENGTH,
  MAX_TECHNICAL_CONTACTS,
  parseAccountChanges,
  summaries,
  summarySettings,
  WEBHOOK_TOKEN,
} from '../../../shared/contracts/account.ts';
import { pauseReasons } from '../../../shared/contracts/email-pause.ts';
import { emailAddress } from '../../../shared/contracts/notification-types.ts';
import { MAX_TIME_ZONE_LENGTH } from '../../../shared/contracts/time-zone.ts';
import { unconfirmedChange, unknownFallbacks } from '../../../shared/domain/errors.ts';
import { EXAMPLE_ID, type Resource, rejectedBody } from '../operation.ts';
import { component, integer, nullable, string, text, timestamp } from '../schemas.ts';

const technicalContacts = z
  .array(emailAddress())
  .max(MAX_TECHNICAL_CONTACTS)
  .describe('Email addresses that receive the alerts of type `technicalContactsEmail`, and the notices of the service');
const fallbackNotifications = z
  .array(text(MAX_NOTIFICATION_ID_LENGTH))
  .max(MAX_FALLBACK_NOTIFICATIONS)
  .describe(
    'IDs of notifications to which escalations of CRITICAL and WARNING also go. They must exist. Those that are deleted later, and the destinations of the event itself, are skipped',
  );
const summarySetting = (name: keyof typeof summarySettings, meaning: string) =>
  summaries.shape[name].check(z.describe(`${meaning}; ${summarySettings[name].default} if absent in an update`));
const describedSummaries = z
  .strictObject({
    email_after: summarySetting('email_after', 'Alerts of a window that one email notification gets at once'),
    sms_after: summarySetting('sms_after', 'Alerts of a window that one SMS notification gets at once'),
    window_minutes: summarySetting('window_minutes', 'Length of a window in minutes'),
  })
  .describe('After how many alerts of a window the others are summarized in one message');
const timeZone = text(MAX_TIME_ZONE_LENGTH).describe(
  'The IANA time zone of the times in emails, such as `Europe/Berlin`',
);
const webhookToken = z
  .string()
  .regex(WEBHOOK_TOKEN)
  .describe('The value of the header `x-monitoring-webhook-token` of each webhook: printable ASCII, without spaces');
const signingSecret = z.string().regex(/^whsec_/);

/** The limits of an account, each with a meaning that follows its name. */
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

const account = component('Account', 'The account of a tenant', {
  id: string('The tenant'),
  technical_contacts: technicalContacts,
  escalation_notifications: fallbackNotifications.optional(),
  summaries: describedSummaries.optional(),
  time_zone: timeZone,
  webhook_token: webhookToken.optional().describe('For admins only. The token that each webhook carries'),
  webhook_signing_secrets: z
    .array(signingSecret)
    .optional()
    .describe('For admins only: the current secret first, then the replaced one while it signs'),
  shadow: z
    .object({
      from: timestamp('When it starts'),
      until: nullable(integer, 'When it ends, in milliseconds since the Unix epoch; null if no end is set'),
    })
    .optional()
    .describe(
      'Present only in shadow mode: alerts of events from `from` on are recorded as `cancelled`, and not sent. Operators set it',
    ),
  email_paused: z
    .object({
      since: timestamp('When the pause began'),
      reason: z.enum(pauseReasons).describe('What there was too much of'),
    })
    .optional()
    .describe(
      'Present only while nothing is sent by email, because too many emails of the account bounced or were reported as spam. Operators end the pause',
    ),
  limits: z.object(limitsOf('the limit')).describe('The limits of the account'),
  usage: z
    .object({
      ...limitsOf('how many are used'),
      day_ends_at: timestamp('When the daily limits start again, at midnight UTC'),
    })
    .describe('How much of each limit is used'),
});

const exampleLimits: AccountLimits = {
  notifications: 1_000,
  tests_per_day: 200,
  redeliveries_per_day: 10_000,
  emails_per_day: 10_000,
  sms_per_day: 1_000,
  managed_per_day: 100,
  email_summaries_per_day: 10_000,
  sms_summaries_per_day: 1_000,
  tokens: 100,
};
const exampleAccount = {
  id: 'acme',
  technical_contacts: ['oncall@example.com', 'lead@example.com'],
  time_zone: 'Europe/Berlin',
  limits: exampleLimits,
  usage: { ...Object.fromEntries(Object.keys(exampleLimits).map((name) => [name, 1])), day_ends_at: 1_795_305_600_000 },
};
/** The signing secret of the examples. */
export const exampleSecret = 'whsec_bW9uaXRvcmluZy1ub3RpZmljYXRpb25zLWV4YW1wbGU=';
/** The webhook credentials in the examples. */
export const exampleCredentials = {
  webhook_token: 'zdPBWXFYshuXugqSApo0wi0ifLOtpe2IIphS4josALo',
  webhook_signing_secrets: [exampleSecret],
};

const accountChanges = component('AccountChanges', 'The attributes to change. The others keep their values', {
  technical_contacts: technicalContacts.optional(),
  escalation_notifications: fallbackNotifications.optional(),
  summaries: describedSummaries.partial().optional().describe('The new summaries as a whole; `{}` turns them off'),
  time_zone: timeZone.optional(),
  webhook_token: webhookToken.optional(),
});

const newSecret = component('SigningSecret', 'The signing secret of webhooks after a rotation', {
  webhook_signing_secret: signingSecret.describe('The new secret'),
});

/** The operations on the account. */
export const accountResource = {
  tag: {
    name: 'account',
    description: 'Limits and their usage, technical contacts, webhook token and signing secret.',
  },
  operations: {
    'get-account': {
      summary: 'Read the account, its limits and their usage',
      details: 'Only an admin sees the webhook token and the signing secrets.',
      response: {
        schema: account,
        examples: { 'For an admin': { ...exampleAccount, ...exampleCredentials } },
      },
    },
    'update-account': {
      summary: 'Update the account in part',
      details: 'Changes the attributes in the body. If one of them is invalid, nothing changes.',
      request: {
        schema: accountChanges,
        examples: {
          'Replaces the technical contacts': { technical_contacts: exampleAccount.technical_contacts },
          'Replaces the fallback notifications; `[]` removes them': { escalation_notifications: [EXAMPLE_ID] },
          'Summarizes the alerts after the tenth of five minutes; `{}` turns summaries off': {
            summaries: { email_after: 10 },
          },
          'Shows times in emails in this time zone; `UTC` is the default': { time_zone: 'Europe/Berlin' },
          'Replaces the webhook token': { webhook_token: 'a-token-of-your-own' },
        },
      },
      errors: [
        rejectedBody(parseAccountChanges({ webhook_token: 'short' })),
        unknownFallbacks([EXAMPLE_ID]),
        unconfirmedChange(),
      ],
    },
    'rotate-signing-secret': {
      summary: 'Replace the signing secret of webhooks',
      details:
        'The new secret signs within 60 seconds. For 24 hours the replaced one signs, too. At most two secrets sign, so a second rotation within that time ends the older secret at once.',
      response: { schema: newSecret, examples: { 'The new secret': { webhook_signing_secret: exampleSecret } } },
      errors: [unconfirmedChange()],
    },
  },
} as const satisfies Resource;
