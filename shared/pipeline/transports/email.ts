import type { AccountRepository } from '../../adapters/accounts/account-repository.ts';
import type { OptOutKeys } from '../../adapters/accounts/opt-out-keys.ts';
import type { OptOuts } from '../../adapters/accounts/opt-outs.ts';
import { createSesClient } from '../../adapters/ses.ts';
import { type AttemptOutcome, type Failure, failed } from '../../domain/attempt-outcome.ts';
import { awsFailure } from '../../domain/aws-outcome.ts';
import type { Clock } from '../../domain/clock.ts';
import { recipientHash } from '../../domain/delivery-key.ts';
import { emailTags, tenantTag } from '../../domain/email-event.ts';
import { failureText } from '../../domain/failure-text.ts';
import { optOutUrl } from '../../domain/opt-out.ts';
import { type Alert, sendTimeoutMs, type Transport } from '../../domain/transport.ts';
import type { ParsedEnvironment } from '../../environment.ts';
import { limitOfAlert, type MessageLimits } from '../daily-limit.ts';
import type { RefusalOf } from '../sender/sender-dependencies.ts';
import { logAccepted } from './accepted-log.ts';
import { type EmailMessage, emailMessage } from './email-message.ts';
import { withFooter } from './email-page.ts';
import { summaryEmail } from './summary-message.ts';

/** The environment variables of the senders that use SES, parsed. */
export type EmailEnvironment = Pick<
  ParsedEnvironment<'send-email'>,
  'EMAIL_FROM' | 'EMAIL_REPLY_TO' | 'CONFIGURATION_SET' | 'API_URL'
>;

/** An email with the headers for one recipient. */
type AddressedEmail = EmailMessage & { headers: Readonly<Record<string, string>> };

/** Sends an email to one recipient, because SES rejects a whole call if it rejects one of its addresses. */
type SendToRecipient = (alert: Alert, recipient: string, message: EmailMessage) => Promise<AttemptOutcome>;

const accepted: AttemptOutcome = { result: 'delivered', explanation: 'Success: Email accepted for delivery' };

/** The accounts whose time zones emails have. */
type TimeZones = Pick<AccountRepository, 'timeZone'>;

/** Returns the email of an alert. @param nowMs when the attempt started, ms since the epoch */
const messageOf = async (
  { event, notice, summary, acceptedAtMs }: Alert,
  accounts: TimeZones,
  nowMs: number,
): Promise<EmailMessage> => {
  const timeZone = await accounts.timeZone(event.tenant_id);
  if (notice && summary) return summaryEmail(summary, notice, timeZone);
  return emailMessage(event, notice, acceptedAtMs === undefined ? 0 : nowMs - acceptedAtMs, timeZone);
};

const isFailure = (outcome: AttemptOutcome): outcome is Failure => outcome.result !== 'delivered';

/** Returns the tags that identify the delivery in SES events. Tests have only the tenant. */
const tagsOf = ({ event, notificationId }: Alert): Record<string, string> =>
  notificationId === undefined ? { tenant: tenantTag(event.tenant_id) } : emailTags(event, notificationId);

/** Returns an email with the ways to stop the emails of its tenant: a footer, and headers (RFC 8058). */
const withOptOut = (message: EmailMessage, tenant: string, url: string): AddressedEmail => {
  const { subject, text, html } = message;
  const explanation = `This email is from the account ${tenant}.`;
  const link = 'Stop emails from this account to you';
  return {
    subject,
    text: `${text}\n-- \n${explanation} ${link}: ${url}\n`,
    html: withFooter(html, explanation, { text: link, url }),
    headers: { 'List-Unsubscribe': `<${url}>`, 'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click' },
  };
};

const createSendToRecipient = (
  environment: EmailEnvironment,
  limits: MessageLimits,
  optOutKeys: Pick<OptOutKeys, 'current'>,
): SendToRecipient => {
  const { EMAIL_FROM, EMAIL_REPLY_TO, CONFIGURATION_SET, API_URL } = environment;
  const { sendEmail } = createSesClient();
  const send = async (alert: Alert, recipient: string, message: AddressedEmail): Promise<AttemptOutcome> => {
    try {
      await sendEmail(
        {
          ...message,
          from: EMAIL_FROM,
          replyTo: EMAIL_REPLY_TO,
          to: recipient,
          configurationSet: CONFIGURATION_SET,
          tags: tagsOf(alert),
        },
        sendTimeoutMs(alert.timeLeft),
      );
      logAccepted('email accepted', alert);
      return accepted;
    } catch (error) {
      return awsFailure('ses', error);
    }
  };
  return async (alert, recipient, message) => {
    const { tenant_id: tenant } = alert.event;
    const url = optOutUrl(API_URL, await optOutKeys.current(), 'opt-out', { tenant, address: recipient });
    const email = withOptOut(message, tenant, url);
    return limitOfAlert(limits, alert)(tenant, () => send(alert, recipient, email));
  };
};

/**
 * Creates the function that returns why an email is not sent: its recipient has opted out. It reads the opt-out for each
 * email, strongly consistent, because an opt-out holds at once.
 */
export const createRecipientRefusal =
  (optOuts: Pick<OptOuts, 'remaining'>): RefusalOf =>
  async (tenant, { address = '' }) =>
    (await optOuts.remaining(tenant, [address])).length === 0 ? 'opted_out' : undefined;

/** Creates the transport of `email` notifications. Delivered means accepted by SES. */
export const createEmailTransport = (
  environment: EmailEnvironment,
  limits: MessageLimits,
  accounts: TimeZones,
  optOutKeys: Pick<OptOutKeys, 'current'>,
  clock: Clock = Date.now,
): Transport => {
  const sendToRecipient = createSendToRecipient(environment, limits, optOutKeys);
  return async (alert, { address = '' }) => {
    const { deliveryId, reachedRecipientHashes } = alert;
    const outcome = await sendToRecipient(alert, address, await messageOf(alert, accounts, clock()));
    if (isFailure(outcome)) return outcome;
    const reached = new Set([...reachedRecipientHashes, recipientHash(deliveryId, address)]);
    return { ...outcome, reachedRecipientHashes: [...reached] };
  };
};

/**
 * Returns the failure for a contact whose email could not be counted toward the daily limit. Throwing instead would
 * lose the hashes of the reached contacts.
 */
const notCounted = (): Failure =>
  failed('transient', 'network_error', 'The message could not be counted', {
    cause: 'service',
    countsAsAttempt: false,
    retryAfterMs: 5_000,
  });

/**
 * Creates the transport to the account's technical contacts, which sends each of them a separate email. A retry goes
 * only to the contacts that were not reached. Contacts who have opted out are skipped.
 */
export const createTechnicalContactsTransport = (
  environment: EmailEnvironment,
  limits: MessageLimits,
  accounts: TimeZones & Pick<AccountRepository, 'technicalContacts'>,
  optOutKeys: Pick<OptOutKeys, 'current'>,
  optOuts: Pick<OptOuts, 'remaining'>,
  clock: Clock = Date.now,
): Transport => {
  const sendToRecipient = createSendToRecipient(environment, limits, optOutKeys);
  return async (alert) => {
    const { event, deliveryId, reachedRecipientHashes } = alert;
    const message = await messageOf(alert, accounts, clock());
    const contacts = await accounts.technicalContacts(event.tenant_id);
    if (contacts.length === 0) return failed('permanent', 'no_contacts', 'The account has no technical contacts');
    const allowed = await optOuts.remaining(event.tenant_id, contacts);
    if (allowed.length === 0 && reachedRecipientHashes.length === 0)
      return failed('permanent', 'opted_out', `Not sent: ${failureText('opted_out', undefined)}`);
    const unreached = allowed
      .map((contact) => ({ contact, hash: recipientHash(deliveryId, contact) }))
      .filter(({ hash }) => !reachedRecipientHashes.includes(hash));
    const results = await Promise.all(
      unreached.map(async ({ contact, hash }) => ({
        hash,
        outcome: await sendToRecipient(alert, contact, message).catch(notCounted),
      })),
    );
    const newlyReached = results.flatMap(({ hash, outcome }) => (isFailure(outcome) ? [] : [hash]));
    const failures = results.map(({ outcome }) => outcome).filter(isFailure);
    // A retryable failure takes precedence: a permanent failure of one contact must not prevent the retry for another.
    // A summary reaches the contacts above the daily limit.
    const combined =
      failures.find(({ result }) => result !== 'permanent') ??
      failures.find(({ canBeSummarized }) => canBeSummarized) ??
      failures[0] ??
      accepted;
    return { ...combined, reachedRecipientHashes: [...reachedRecipientHashes, ...newlyReached] };
  };
};
