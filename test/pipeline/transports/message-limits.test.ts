import { describe, expect, it, vi } from 'vitest';
import type { HttpClient } from '../../../shared/adapters/outbound-http/http-client.ts';
import { noticeContent } from '../../../shared/contracts/notice.ts';
import type { StopReason } from '../../../shared/contracts/outcomes.ts';
import { type AttemptOutcome, failed } from '../../../shared/domain/attempt-outcome.ts';
import { addressHash } from '../../../shared/domain/email-stop.ts';
import { NoTimeLeftError } from '../../../shared/domain/timeouts.ts';
import type { DailyLimit, MessageLimits } from '../../../shared/pipeline/daily-limit.ts';
import type { EmailSenderDependencies } from '../../../shared/pipeline/email-sender.ts';
import { createSharedRate } from '../../../shared/pipeline/shared-rate.ts';
import { createFeedTransport } from '../../../shared/pipeline/transports/atomfeed.ts';
import { createEmailTransport, createTechnicalContactsTransport } from '../../../shared/pipeline/transports/email.ts';
import { createManagedTransport } from '../../../shared/pipeline/transports/managed.ts';
import { createSmsTransport } from '../../../shared/pipeline/transports/sms.ts';
import { alert } from '../../support/alert.ts';
import { emailSender, noStops } from '../../support/opt-outs.ts';
import { startHttp, stubAws } from '../../support/servers.ts';

const reached = (explanation: string) => async () => failed('permanent', 'tenant_limit_exceeded', explanation);
const limits = {
  alerts: reached('limit of alerts'),
  notices: reached('limit of notices'),
  summaries: reached('limit of summaries'),
};

const sms = {
  SMS_COUNTRIES: ['+1'],
  SMS_SENDER_ID: undefined,
  SMS_ORIGINATION_NUMBER: undefined,
  SMS_MAX_PRICE_USD: undefined,
};
const sharedRate = createSharedRate();
const phone = { phone_number: '+12025550123' };
const [ONE, OTHER] = ['one@example.com', 'other@example.com'] as const;
const accounts = { timeZone: async () => 'UTC', technicalContacts: async () => [ONE, OTHER] };

const contactsTransport = (alerts: DailyLimit, stopped: Readonly<Record<string, StopReason>> = {}) => {
  const stops: EmailSenderDependencies['stops'] = {
    ...noStops,
    find: async ({ address }) => {
      const reason = stopped[address];
      return reason && { reason, sinceMs: 1 };
    },
  };
  return createTechnicalContactsTransport(emailSender({ limits: { ...limits, alerts }, stops }), accounts);
};

const notice = noticeContent.parse({ kind: 'unreached', subject: 's', paragraphs: [], facts: [] });

const allowed: DailyLimit = (_, send) => send();

describe('with less than a second until the record must be written', () => {
  const unlimited = { alerts: allowed, notices: allowed, summaries: allowed };
  const post = vi.fn<HttpClient['post']>();

  it.each([
    ['email', createEmailTransport(emailSender(), accounts)],
    ['SMS', createSmsTransport(sms, unlimited, sharedRate)],
    ['message to the operators', createManagedTransport('arn', allowed, allowed)],
    ['entry of a feed', createFeedTransport({ post }, 'https://feed.example.org')],
  ])('no %s is sent', async (_, transport) => {
    await expect(transport({ ...alert, timeLeft: () => 2_999 }, phone)).rejects.toThrow(NoTimeLeftError);
    expect(post).not.toHaveBeenCalled();
  });
});

it('an SMS to a country that operators do not allow is rejected', async () => {
  const transport = createSmsTransport(sms, { ...limits, alerts: allowed }, sharedRate);
  const explanation = 'Texts to this country are not allowed';
  expect(await transport(alert, { phone_number: '+882161234567' })).toMatchObject({ result: 'permanent', explanation });
});

describe('an alert to contacts', () => {
  const hashOf = (contact: string): string => addressHash(alert.deliveryId, contact);
  const delivered: AttemptOutcome = { result: 'delivered', explanation: '' };
  const both = { [ONE]: 'bounced', [OTHER]: 'opted_out' } as const;

  it.each([
    [
      'fails with the first reason if all are stopped',
      both,
      [],
      0,
      { result: 'permanent', reason: 'opted_out', cause: 'destination', countsAsAttempt: false },
    ],
    [
      'that has reached one of them is delivered, although all have been stopped since',
      both,
      [hashOf(ONE)],
      0,
      { result: 'delivered', reachedRecipientHashes: [hashOf(ONE)] },
    ],
  ])('%s', async (_, contacts, reachedRecipientHashes, expectedCount, expected) => {
    let sentCount = 0;
    const send = async () => {
      sentCount++;
      return delivered;
    };
    const outcome = await contactsTransport(send, contacts)(
      { ...alert, notificationId: 'ntA', reachedRecipientHashes },
      {},
    );
    expect([outcome, sentCount]).toMatchObject([expected, expectedCount]);
  });

  it('is summarized if one of them is above the daily limit, although another fails permanently', async () => {
    const failures = [
      failed('permanent', 'rejected', ''),
      failed('permanent', 'tenant_limit_exceeded', '', { canBeSummarized: true }),
    ];
    const transport = contactsTransport(async () => failures.shift() ?? expect.fail());
    expect(await transport(alert, {})).toMatchObject({ canBeSummarized: true });
  });
});

describe('what AWS throttles', () => {
  const fault = (code: string) =>
    `<ErrorResponse><Error><Type>Sender</Type><Code>${code}</Code><Message>Maximum sending rate exceeded.</Message></Error></ErrorResponse>`;
  const accepted = (action: string) =>
    `<${action}Response><${action}Result><MessageId>m</MessageId></${action}Result></${action}Response>`;
  /** Sends by a local AWS that throttles the first call. @returns how often it was called */
  const send = async (
    faultCode: string,
    action: string,
    deliver: (counted: MessageLimits) => Promise<AttemptOutcome>,
  ) => {
    const responses = [fault(faultCode), accepted(action)];
    let [calls, counted] = [0, 0];
    const server = await startHttp(async (request, response) => {
      await request.toArray();
      response.writeHead(calls === 0 ? 400 : 200, { 'content-type': 'text/xml' }).end(responses[calls++]);
    });
    stubAws(server);
    const count: DailyLimit = async (_, once) => {
      counted++;
      return once();
    };
    const outcome = await deliver({ alerts: count, notices: count, summaries: count });
    vi.unstubAllEnvs();
    return { result: outcome.result, calls, counted };
  };
  const sentTwice = { result: 'delivered', calls: 2, counted: 1 };

  it('is sent again in place, and counted once: an email', async () => {
    const deliver = (counted: MessageLimits) => {
      const sendEmail = emailSender({ limits: counted, sharedRate: createSharedRate() });
      return createEmailTransport(sendEmail, accounts)(alert, { address: ONE });
    };
    expect(await send('Throttling', 'SendRawEmail', deliver)).toEqual(sentTwice);
  });

  it('is sent again in place, and counted once: an SMS', async () => {
    const deliver = (counted: MessageLimits) => createSmsTransport(sms, counted, createSharedRate())(alert, phone);
    expect(await send('Throttled', 'Publish', deliver)).toEqual(sentTwice);
  });
});

it('nothing is sent by email for an account whose emails operators have turned off, tests and notices included', async () => {
  const transport = createEmailTransport(emailSender({ limits, accounts: { isEmailOff: async () => true } }), accounts);
  for (const sent of [alert, { ...alert, notice }])
    expect(await transport(sent, { address: ONE })).toMatchObject({ result: 'permanent', reason: 'email_off' });
});
