import { type AwsService, xmlFault, xmlResult } from './aws-service.ts';
import { findSizeError, findTagError, type SesError } from './ses-limits.ts';

/** An email that SES sent. */
export type SentEmail = { from: string; to: string[]; subject: string; text: string; html: string };

/** Creates Amazon SES v1 with its query protocol: `SendEmail`, with the checks of SES. */
export const sesService =
  (onEmail: (email: SentEmail) => void): AwsService =>
  ({ action, body }) => {
    const form = new URLSearchParams(body.toString());
    const text = (name: string) => form.get(name) ?? '';
    const email: SentEmail = {
      from: text('Source'),
      to: [...form].filter(([name]) => /^Destination\..*\.member\./.test(name)).map(([, address]) => address),
      subject: text('Message.Subject.Data'),
      text: text('Message.Body.Text.Data'),
      html: text('Message.Body.Html.Data'),
    };
    const error =
      action === 'SendEmail'
        ? (findMissing(email) ??
          findRecipientError(email) ??
          findTagError(form) ??
          findSizeError(email.subject, email.text, email.html))
        : { type: 'InvalidAction', message: `The local SES does not support the action ${action}.` };
    if (error) return xmlFault({ status: 400, ...error });
    onEmail(email);
    return xmlResult('SendEmail', 'http://ses.amazonaws.com/doc/2010-12-01/');
  };

const findMissing = ({ from, to, subject, text, html }: SentEmail): SesError | undefined => {
  const values = { source: from, 'message.subject.data': subject, 'message.body': text || html, destination: to[0] };
  const missing = Object.entries(values).find(([, value]) => !value)?.[0];
  return missing === undefined
    ? undefined
    : { type: 'ValidationError', message: `Value null at '${missing}' is not allowed.` };
};

const findRecipientError = ({ to }: SentEmail): SesError | undefined => {
  if (to.length > 50) return { type: 'InvalidParameterValue', message: 'Recipient count exceeds 50.' };
  return to.every((address) => /@[^@\s]+$/.test(address.replace(/>$/, '')))
    ? undefined
    : { type: 'InvalidParameterValue', message: "Missing final '@domain'" };
};
