import type { AccountRepository } from '../../adapters/accounts/account-repository.ts';
import { isStopReason, stopReasons } from '../../contracts/outcomes.ts';
import { type AttemptOutcome, type Failure, failed } from '../../domain/attempt-outcome.ts';
import { addressHash } from '../../domain/email-stop.ts';
import type { Alert, Transport } from '../../domain/transport.ts';
import type { SendEmail } from '../email-sender.ts';
import { type EmailMessage, emailMessage, summaryEmail } from './email-message.ts';

type TimeZones = Pick<AccountRepository, 'timeZone'>;

const messageOf = async (alert: Alert, accounts: TimeZones): Promise<EmailMessage> => {
  const { event, notice, summary } = alert;
  const timeZone = await accounts.timeZone(event.tenant_id);
  return notice && summary ? summaryEmail(summary, notice, timeZone) : emailMessage(alert, timeZone);
};

const isFailure = (outcome: AttemptOutcome): outcome is Failure => outcome.result !== 'delivered';

/** Creates the transport of `email` notifications. Delivered means accepted by SES. */
export const createEmailTransport =
  (sendEmail: SendEmail, accounts: TimeZones): Transport =>
  async (alert, { address = '' }, { label } = {}) => {
    const { deliveryId, reachedRecipientHashes } = alert;
    const outcome = await sendEmail(alert, address, await messageOf(alert, accounts), label);
    if (isFailure(outcome)) return outcome;
    const reached = new Set([...reachedRecipientHashes, addressHash(deliveryId, address)]);
    return { ...outcome, reachedRecipientHashes: [...reached] };
  };

/** For a contact whose email could not be counted. Throwing would lose the hashes of the reached contacts. */
const notCounted = (): Failure =>
  failed('transient', 'network_error', 'The message could not be counted', {
    cause: 'service',
    countsAsAttempt: false,
    retryAfterMs: 5_000,
  });

/** Each technical contact gets an email, a stopped one none. A retry goes to those that were not reached. */
export const createTechnicalContactsTransport =
  (sendEmail: SendEmail, accounts: TimeZones & Pick<AccountRepository, 'technicalContacts'>): Transport =>
  async (alert, _details, { label } = {}) => {
    const { event, deliveryId, reachedRecipientHashes } = alert;
    const message = await messageOf(alert, accounts);
    const contacts = await accounts.technicalContacts(event.tenant_id);
    if (contacts.length === 0) return failed('permanent', 'no_contacts', 'The account has no technical contacts');
    const unreached = contacts
      .map((contact) => ({ contact, hash: addressHash(deliveryId, contact) }))
      .filter(({ hash }) => !reachedRecipientHashes.includes(hash));
    const results = await Promise.all(
      unreached.map(async ({ contact, hash }) => ({
        hash,
        outcome: await sendEmail(alert, contact, message, label).catch(notCounted),
      })),
    );
    const reached = [
      ...reachedRecipientHashes,
      ...results.flatMap(({ hash, outcome }) => (isFailure(outcome) ? [] : [hash])),
    ];
    const all = results.map(({ outcome }) => outcome).filter(isFailure);
    const failures = all.filter(({ reason }) => !isStopReason(reason));
    const [stop] = stopReasons.flatMap((stopReason) => all.filter(({ reason }) => reason === stopReason));
    // A retryable failure takes precedence: a permanent failure of one contact must not prevent the retry for another.
    // A summary reaches the contacts above the daily limit.
    const combined =
      failures.find(({ result }) => result !== 'permanent') ??
      failures.find(({ canBeSummarized }) => canBeSummarized) ??
      failures[0] ??
      (reached.length === 0 ? stop : undefined) ??
      ({ result: 'delivered', explanation: 'Success: Email accepted for delivery' } as const);
    return { ...combined, reachedRecipientHashes: reached };
  };
