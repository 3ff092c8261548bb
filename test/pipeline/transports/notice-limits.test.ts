import { expect, it } from 'vitest';
import { noticeContent } from '../../../shared/contracts/notice.ts';
import { failed } from '../../../shared/domain/attempt-outcome.ts';
import { createEmailTransport, createTechnicalContactsTransport } from '../../../shared/pipeline/transports/email.ts';
import { createManagedTransport } from '../../../shared/pipeline/transports/managed.ts';
import { createSmsTransport } from '../../../shared/pipeline/transports/sms.ts';
import { alert } from '../../support/alert.ts';
import { noOptOuts, optOutKeys } from '../../support/opt-outs.ts';

const reached = (explanation: string) => async () => failed('permanent', 'tenant_limit_exceeded', explanation);
const limits = {
  alerts: reached('limit of alerts'),
  notices: reached('limit of notices'),
  summaries: reached('limit of summaries'),
};

const email = {
  EMAIL_FROM: 'a@example.com',
  EMAIL_REPLY_TO: undefined,
  CONFIGURATION_SET: 'set',
  API_URL: 'https://api.example.org',
};
const sms = {
  SMS_COUNTRIES: [],
  SMS_SENDER_ID: undefined,
  SMS_ORIGINATION_NUMBER: undefined,
  SMS_MAX_PRICE_USD: undefined,
};
const timeZone = async () => 'UTC';
const contacts = { timeZone, technicalContacts: async () => ['oncall@example.com'] };

const notice = noticeContent.parse({ kind: 'unreached', subject: 's', paragraphs: [], facts: [] });
it.each([
  ['an email', createEmailTransport(email, limits, contacts, optOutKeys)],
  ['an email to the contacts', createTechnicalContactsTransport(email, limits, contacts, optOutKeys, noOptOuts)],
  ['an SMS', createSmsTransport(sms, limits)],
  ['a message to the operators', createManagedTransport('arn', limits.alerts, limits.notices)],
])('a notice as %s has another daily limit than alerts', async (_, transport) => {
  expect(await transport(alert, {})).toMatchObject({ explanation: 'limit of alerts' });
  expect(await transport({ ...alert, notice }, {})).toMatchObject({ explanation: 'limit of notices' });
});

it.each([
  ['an email', createEmailTransport(email, limits, contacts, optOutKeys)],
  ['an email to the contacts', createTechnicalContactsTransport(email, limits, contacts, optOutKeys, noOptOuts)],
  ['an SMS', createSmsTransport(sms, limits)],
])('a summary as %s has a daily limit of its own', async (_, transport) => {
  const summary = { ...notice, kind: 'summary' as const };
  expect(await transport({ ...alert, notice: summary }, {})).toMatchObject({ explanation: 'limit of summaries' });
});

it('an alert to contacts of whom one is above the daily limit is summarized, although another fails permanently', async () => {
  const failures = [
    failed('permanent', 'rejected', ''),
    failed('permanent', 'tenant_limit_exceeded', '', { canBeSummarized: true }),
  ];
  const twoContacts = { timeZone, technicalContacts: async () => ['a@example.com', 'b@example.com'] };
  const transport = createTechnicalContactsTransport(
    email,
    { ...limits, alerts: async () => failures.shift() ?? expect.fail() },
    twoContacts,
    optOutKeys,
    noOptOuts,
  );
  expect(await transport(alert, {})).toMatchObject({ canBeSummarized: true });
});
