import type { AccountRepository } from '../adapters/accounts/account-repository.ts';
import { createEmailStops, type EmailStops } from '../adapters/accounts/email-stops.ts';
import { createOptOutKeys, type OptOutKeys } from '../adapters/accounts/opt-out-keys.ts';
import { errorTrace, logger } from '../adapters/logger.ts';
import { createSesClient } from '../adapters/ses.ts';
import type { StopReason } from '../contracts/outcomes.ts';
import { plainLine } from '../domain/alert-text.ts';
import { type AttemptOutcome, failed } from '../domain/attempt-outcome.ts';
import { emailTags, tenantTag } from '../domain/email-event.ts';
import { type EmailStop, optOutUrl, type Recipient } from '../domain/email-stop.ts';
import { failureText } from '../domain/failure-text.ts';
import type { Clock } from '../domain/time.ts';
import type { Alert, Transport } from '../domain/transport.ts';
import { type ParsedEnvironment, parseEnvironment, senderName } from '../environment.ts';
import { limitOfAlert, type MessageLimits } from './daily-limit.ts';
import { createStopReports, type ReportStop } from './report-messages.ts';
import { type RefusalOf, summarizingFunction } from './sender/summarize.ts';
import type { SharedRate } from './shared-rate.ts';
import { logAccepted, sendWithAws } from './transports/aws-call.ts';
import { type EmailMessage, withFooter } from './transports/email-message.ts';

export type EmailEnvironment = Pick<
  ParsedEnvironment<'send-email'>,
  'EMAIL_FROM' | 'EMAIL_REPLY_TO' | 'CONFIGURATION_SET' | 'API_URL'
>;

export type EmailSenderDependencies = {
  limits: MessageLimits;
  optOutKeys: Pick<OptOutKeys, 'current'>;
  stops: Pick<EmailStops, 'find' | 'claimTest' | 'giveBackTest' | 'bounce'>;
  accounts: Pick<AccountRepository, 'isEmailOff'>;
  sharedRate: Pick<SharedRate, 'send'>;
  reportStop: ReportStop;
};

/** To one recipient: SES rejects a whole call for one address. `label`: of the notification, absent in a test. */
export type SendEmail = (
  alert: Alert,
  address: string,
  message: EmailMessage,
  label?: string,
) => Promise<AttemptOutcome>;

const kindOf = ({ notice, notificationId }: Alert): 'alert' | 'summary' | 'notice' | 'test' => {
  if (notificationId === undefined) return 'test';
  if (!notice) return 'alert';
  return notice.kind === 'summary' ? 'summary' : 'notice';
};

/** A test has no delivery, but the start of the stop in spite of which it is sent. */
const tagsOf = (alert: Alert, stop: EmailStop | undefined): Record<string, string> => ({
  kind: kindOf(alert),
  ...(alert.notificationId === undefined
    ? { tenant: tenantTag(alert.event.tenant_id) }
    : emailTags(alert.event, alert.notificationId)),
  ...(stop && { stop: String(stop.sinceMs) }),
});

const notSent = (reason: StopReason | 'email_off'): AttemptOutcome =>
  failed('permanent', reason, `Not sent: ${failureText(reason, undefined)}`, {
    nothingSent: true,
    countsAsAttempt: false,
  });

/** Returns an email with the ways to stop the emails of its tenant: a footer, and headers (RFC 8058). */
const withOptOut = ({ subject, text, html }: EmailMessage, tenant: string, label: string, url: string) => {
  const sender = plainLine(label);
  const explanation = `This email is from ${sender === '' ? '' : `"${sender}" of `}the account ${tenant}.`;
  const link = 'Stop emails from this account to you';
  return {
    subject,
    text: `${text}\n-- \n${explanation} ${link}: ${url}\n`,
    html: withFooter(html, explanation, { text: link, url }),
    headers: {
      'List-Unsubscribe': `<${url}>`,
      'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click',
      'Auto-Submitted': 'auto-generated',
      'X-Auto-Response-Suppress': 'All',
    },
  };
};

/**
 * The only function that sends emails: none to a stopped mailbox (docs/decisions/opt-out.md) or while a tenant's emails
 * are off. It counts each toward the limit of its kind, and stops a mailbox that SES rejects.
 */
export const createEmailSender = (
  { EMAIL_FROM: from, EMAIL_REPLY_TO: replyTo, CONFIGURATION_SET: configurationSet, API_URL }: EmailEnvironment,
  { limits, optOutKeys, stops, accounts, reportStop, sharedRate }: EmailSenderDependencies,
  clock: Clock = Date.now,
): SendEmail => {
  const { sendEmail } = createSesClient();

  /** Logs what fails without failing the email. */
  const orWarn = async (message: string, { tenant }: Recipient, action: () => Promise<void>): Promise<void> => {
    try {
      await action();
    } catch (error) {
      logger.warn(message, { tenant_id: tenant, ...errorTrace(error) });
    }
  };

  /** Reports a stop. If that fails, the next email to the mailbox reports it. */
  const report = (recipient: Recipient, stop: EmailStop): Promise<void> =>
    orWarn('stop not reported', recipient, () => reportStop(recipient, stop));

  /** Stops a mailbox that SES rejects. If that fails, the next email to it is rejected, too. */
  const stopRejected = (recipient: Recipient, sentAtMs: number): Promise<void> =>
    orWarn('mailbox not stopped', recipient, async () => {
      const stop = await stops.bounce(recipient, sentAtMs);
      if (stop) await report(recipient, stop);
    });

  /** A test that cannot be given back counts: the next one is sent an hour later. */
  const giveBackTest = (recipient: Recipient, testedAtMs: number): Promise<void> =>
    orWarn('test not given back', recipient, () => stops.giveBackTest(recipient, testedAtMs));

  return async (alert, address, message, label = '') => {
    const { tenant_id: tenant } = alert.event;
    const recipient = { tenant, address };
    if (await accounts.isEmailOff(tenant)) return notSent('email_off');
    const stop = await stops.find(recipient);
    // Whoever began the stop may have crashed before it was reported.
    if (stop) await report(recipient, stop);
    if (stop && !(kindOf(alert) === 'test' && stop.reason === 'bounced')) return notSent(stop.reason);
    const email = {
      ...withOptOut(message, tenant, label, optOutUrl(API_URL, await optOutKeys.current(), recipient)),
      from,
      replyTo,
      to: address,
      configurationSet,
      tags: tagsOf(alert, stop),
    };
    const sendOnce = async (): Promise<AttemptOutcome> => {
      const startedAtMs = clock();
      const failure = await sendWithAws('ses', alert, (timeoutMs) => sendEmail(email, timeoutMs));
      if (failure) {
        if (failure.cause === 'destination') await stopRejected(recipient, startedAtMs);
        return failure;
      }
      logAccepted('email accepted', alert);
      return { result: 'delivered', explanation: 'Success: Email accepted for delivery' };
    };
    const send = async (): Promise<AttemptOutcome> => {
      const testedAtMs = stop && (await stops.claimTest(recipient, stop.sinceMs));
      if (stop && testedAtMs === undefined) return notSent(stop.reason);
      const outcome = await sharedRate.send(alert, sendOnce);
      const isUnsent = outcome.result !== 'delivered' && outcome.nothingSent && outcome.cause !== 'destination';
      if (isUnsent && testedAtMs !== undefined) await giveBackTest(recipient, testedAtMs);
      return outcome;
    };
    return limitOfAlert(limits, alert)(tenant, send);
  };
};

export const emailFunction = <Type extends 'email' | 'technicalContactsEmail'>(type: Type) => {
  const { client, accounts, queues, limits, sharedRate, sender } = summarizingFunction(type);
  const environment = parseEnvironment<'send-email' | 'send-technicalContactsEmail'>(senderName(type));
  const stops = createEmailStops(client, environment.ACCOUNTS_TABLE);
  const optOutKeys = createOptOutKeys(client, environment.ACCOUNTS_TABLE);
  const reportStop = createStopReports(queues, environment.REPORTS_QUEUE);
  const sendEmail = createEmailSender(environment, { limits, optOutKeys, stops, accounts, reportStop, sharedRate });
  /** An alert that would not be sent is not listed in a summary. `email` notifications have one address. */
  const refusalOf: RefusalOf = async (tenant, { address }) => {
    if (await accounts.isEmailOff(tenant)) return 'email_off';
    return address === undefined ? undefined : (await stops.find({ tenant, address }))?.reason;
  };
  return { accounts, sendEmail, sender: (transport: Transport) => sender(transport, refusalOf) };
};
