import { parseAccountChanges } from '../../../shared/contracts/account.ts';
import { type AccountRecord, account, newSecret } from '../../../shared/contracts/responses/account.ts';
import { unconfirmedChange, unknownFallbacks } from '../../../shared/domain/errors.ts';
import { EXAMPLE_ID, exampleCredentials, exampleSecret } from '../examples.ts';
import { type Resource, rejectedBody } from '../operation.ts';

const exampleLimits: AccountRecord['limits'] = {
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
const { webhook_token, summaries } = account.shape;
const accountChanges = account
  .pick({
    technical_contacts: true,
    escalation_notifications: true,
    summaries: true,
    time_zone: true,
    webhook_token: true,
  })
  .partial()
  .extend({
    summaries: summaries.unwrap().partial().optional().describe('The new summaries as a whole; `{}` turns them off'),
    webhook_token: webhook_token.describe(
      'The value of the header `x-monitoring-webhook-token` of each webhook: printable ASCII, without spaces',
    ),
  })
  .meta({ id: 'AccountChanges', description: 'The attributes to change. The others keep their values' });

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
