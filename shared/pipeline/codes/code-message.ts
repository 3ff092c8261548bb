import type { EmailMessage } from '../transports/email-message.ts';
import { emailPage, paragraph } from '../transports/email-page.ts';
import { smsPart } from '../transports/sms-message.ts';

const IGNORE = 'If you expect no alerts from this account, ignore this message: without the code, none arrive here.';

/** Returns the email with the code of a recipient. */
export const codeEmail = (tenant: string, code: string): EmailMessage => {
  const subject = `${code} is your verification code`;
  const lines = [
    `The account ${tenant} wants to send alerts to this address. To agree, give it the code ${code}, which is valid for 24 hours.`,
    IGNORE,
  ];
  return {
    subject,
    text: `${[subject, ...lines].join('\n\n')}\n`,
    html: emailPage('OK', 'Verification', subject, lines.map(paragraph)),
  };
};

/** Returns the SMS with the code of a recipient. */
export const codeSms = (tenant: string, code: string): string =>
  smsPart(`${code} is your code for alerts. Valid for 24 hours. If you expect none, ignore it. Account: ${tenant}`);
