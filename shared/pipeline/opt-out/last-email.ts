import type { OptOutKeys } from '../../adapters/accounts/opt-out-keys.ts';
import type { createSesClient } from '../../adapters/ses.ts';
import { awsFailure } from '../../domain/aws-outcome.ts';
import { optOutUrl, type Recipient } from '../../domain/opt-out.ts';
import type { ParsedEnvironment } from '../../environment.ts';
import { emailPage, paragraph, withFooter } from '../transports/email-page.ts';

/** What became of the last email. `not_sent` is certain. */
export type LastEmail = 'sent' | 'unknown' | 'not_sent';

/** Less than the API function has left after its database writes. */
const SEND_TIMEOUT_MS = 15_000;

/** Creates the function that sends a recipient the last email after an opt-out, with the link to undo it. */
export const createLastEmail =
  (
    {
      API_URL,
      EMAIL_FROM: from,
      EMAIL_REPLY_TO: replyTo,
      CONFIGURATION_SET: configurationSet,
    }: Pick<ParsedEnvironment<'opt-out'>, 'API_URL' | 'EMAIL_FROM' | 'EMAIL_REPLY_TO' | 'CONFIGURATION_SET'>,
    optOutKeys: Pick<OptOutKeys, 'current'>,
    { sendEmail }: ReturnType<typeof createSesClient>,
  ) =>
  async (recipient: Recipient): Promise<LastEmail> => {
    const { tenant, address: to } = recipient;
    const url = optOutUrl(API_URL, await optOutKeys.current(), 'undo', recipient);
    const subject = `You stopped the emails of the account ${tenant}`;
    const text = 'This is the last email. Alerts of the account no longer reach you by email at this address.';
    const link = 'Resume the emails';
    const html = withFooter(emailPage('OK', 'Emails stopped', subject, [paragraph(text)]), '', { text: link, url });
    const message = { subject, text: `${subject}.\n\n${text}\n\n${link}: ${url}\n`, html };
    try {
      await sendEmail({ ...message, from, replyTo, to, configurationSet, tags: {} }, SEND_TIMEOUT_MS);
      return 'sent';
    } catch (error) {
      return awsFailure('ses', error).nothingSent ? 'not_sent' : 'unknown';
    }
  };

/** Sends the last email. */
export type SendLastEmail = ReturnType<typeof createLastEmail>;
