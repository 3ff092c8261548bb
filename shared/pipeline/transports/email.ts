import { createHash } from 'node:crypto';
import { SESClient, SendEmailCommand } from '@aws-sdk/client-ses';
import type { AccountRepository } from '../../adapters/accounts/account-repository.ts';
import { onceConfig } from '../../adapters/aws-client.ts';
import { type AttemptOutcome, type Failure, failed } from '../../domain/attempt-outcome.ts';
import { awsFailure } from '../../domain/aws-outcome.ts';
import { emailTags } from '../../domain/email-event.ts';
import { type EmailMessage, emailMessage } from '../../domain/email-message.ts';
import { type Alert, sendTimeoutMs, type Transport } from '../../domain/transport.ts';
import type { DailyLimit } from '../daily-limit.ts';

/** The part of a sender's environment that mail needs. */
export type EmailEnvironment = { EMAIL_FROM: string; EMAIL_REPLY_TO?: string | undefined; CONFIGURATION_SET: string };

/** Sends one message to one recipient: one bad address would reject the others of a call. */
type SendMail = (alert: Alert, recipient: string, message: EmailMessage) => Promise<AttemptOutcome>;

const accepted: AttemptOutcome = { result: 'delivered', explanation: 'Success: Email accepted for delivery' };

const utf8 = (Data: string) => ({ Data, Charset: 'UTF-8' });

/** By which a bounce finds the delivery; a test has none. */
const tagsOf = ({ event, notificationId }: Alert) =>
  notificationId === undefined
    ? []
    : Object.entries(emailTags(event, notificationId)).map(([Name, Value]) => ({ Name, Value }));

/** SES has no idempotency token: the record decides whether a call is repeated (wire-formats, SES). */
const createSendMail = (
  environment: EmailEnvironment,
  dailyLimit: DailyLimit,
  client = new SESClient(onceConfig),
): SendMail => {
  const { EMAIL_FROM, EMAIL_REPLY_TO, CONFIGURATION_SET } = environment;
  return async (alert, recipient, { subject, text, html }) => {
    const { event, timeLeft } = alert;
    const overLimit = await dailyLimit(event.tenant_id);
    if (overLimit) return overLimit;
    try {
      await client.send(
        new SendEmailCommand({
          Source: EMAIL_FROM,
          ...(EMAIL_REPLY_TO && { ReplyToAddresses: [EMAIL_REPLY_TO] }),
          ConfigurationSetName: CONFIGURATION_SET,
          Destination: { ToAddresses: [recipient] },
          Message: { Subject: utf8(subject), Body: { Text: utf8(text), Html: utf8(html) } },
          Tags: tagsOf(alert),
        }),
        { requestTimeout: sendTimeoutMs(timeLeft) },
      );
      return accepted;
    } catch (error) {
      return awsFailure('ses', error);
    }
  };
};

/** Delivers to an `email` notification. Delivered means that SES accepted the message. */
export const createEmailTransport = (environment: EmailEnvironment, dailyLimit: DailyLimit): Transport => {
  const sendMail = createSendMail(environment, dailyLimit);
  return (alert, { address = '' }) => sendMail(alert, address, emailMessage(alert.event));
};

/** Names a contact in the record without telling who it is: the delivery's id is the salt. */
const partOf = (deliveryId: string, contact: string): string =>
  createHash('sha256').update(`${deliveryId} ${contact}`).digest('base64url').slice(0, 16);

/** Where the limit cannot be counted for one contact, the others who were mailed must still be remembered. */
const notCounted = (): Failure =>
  failed('transient', 'network_error', 'The message could not be counted', {
    cause: 'service',
    countsAsAttempt: false,
    retryAfterMs: 5_000,
  });

const isFailure = (outcome: AttemptOutcome): outcome is Failure => outcome.result !== 'delivered';

/** Delivers to the account's technical contacts: each gets a message of its own, and a retry mails only the rest. */
export const createTechnicalContactsTransport = (
  environment: EmailEnvironment,
  dailyLimit: DailyLimit,
  accounts: Pick<AccountRepository, 'technicalContacts'>,
): Transport => {
  const sendMail = createSendMail(environment, dailyLimit);
  return async (alert) => {
    const { event, deliveryId, reachedRecipientHashes } = alert;
    const contacts = await accounts.technicalContacts(event.tenant_id);
    if (contacts.length === 0) return failed('permanent', 'no_contacts', 'The account has no technical contacts');
    const parts = contacts.map((contact) => ({ contact, part: partOf(deliveryId, contact) }));
    const message = emailMessage(event);
    const outcomes = await Promise.all(
      parts
        .filter(({ part }) => !reachedRecipientHashes.includes(part))
        .map(async ({ contact, part }) => ({
          part,
          outcome: await sendMail(alert, contact, message).catch(notCounted),
        })),
    );
    const arrived = outcomes.flatMap(({ part, outcome }) => (isFailure(outcome) ? [] : [part]));
    const failures = outcomes.map(({ outcome }) => outcome).filter(isFailure);
    // What can still arrive decides: a permanent failure of one contact must not keep another from a retry.
    const decisive = failures.find(({ result }) => result !== 'permanent') ?? failures[0] ?? accepted;
    return { ...decisive, reachedRecipientHashes: [...reachedRecipientHashes, ...arrived] };
  };
};
