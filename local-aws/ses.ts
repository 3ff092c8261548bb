import sesLocal from 'aws-ses-v2-local';
import { getStoreReadonly } from 'aws-ses-v2-local/dist/store.js';
import { type AwsService, xmlFault } from './aws-service.ts';
import { close, origin } from './http.ts';
import { findRawSizeError, findSizeError, findTagError, type SesError } from './ses-limits.ts';

/** An email that SES sent. */
export type SentEmail = { from: string; to: string[]; subject: string; text: string; html: string };

/** Amazon SES and its local port. */
export type Ses = {
  service: AwsService;
  close(): Promise<void>;
};

/**
 * Starts Amazon SES v1 (`SendEmail`, `SendRawEmail`) with aws-ses-v2-local, on a separate port behind the endpoint.
 * Passes each email to `onEmail` and removes it from the store, which would otherwise grow without limit. Rejects
 * invalid requests, as SES does, that aws-ses-v2-local would accept or never respond to.
 */
export const startSes = async (onEmail: (email: SentEmail) => void): Promise<Ses> => {
  const server = await sesLocal.default({ host: '127.0.0.1', port: 0 });
  const address = server.address();
  const url = origin(typeof address === 'object' && address ? address.port : 0);
  return {
    service: async ({ action, body, headers }) => {
      const form = new URLSearchParams(body.toString());
      const error = validationError(action, form);
      if (error) return xmlFault({ status: 400, ...error });
      const { authorization = 'AWS4-HMAC-SHA256', 'content-type': type = 'application/x-www-form-urlencoded' } =
        headers;
      const response = await fetch(url, { method: 'POST', headers: { authorization, 'content-type': type }, body });
      const responseBody = await response.text();
      const email = removeEmail(responseBody, recipientsOf(form));
      if (email) onEmail(email);
      return { status: response.status, headers: { 'content-type': 'text/xml' }, body: responseBody };
    },
    close: () => close(server),
  };
};

/**
 * Removes the email of a response from the store, which concurrent requests and all stacks of the process share. The
 * store has only the first recipient, so `recipients` come from the request; for a raw email they are empty.
 */
const removeEmail = (responseBody: string, recipients: string[]): SentEmail | undefined => {
  const id = /<MessageId>(.+)<\/MessageId>/.exec(responseBody)?.[1];
  const { emails } = getStoreReadonly();
  const index = emails.findIndex(({ messageId }) => messageId === id);
  const [email] = index < 0 ? [] : emails.splice(index, 1);
  if (!email) return undefined;
  const { from, destination, subject, body } = email;
  const to = recipients.length > 0 ? recipients : destination.to;
  return { from, to, subject, text: body.text ?? '', html: body.html ?? '' };
};

const recipientsOf = (form: URLSearchParams): string[] =>
  [...form].filter(([name]) => /^Destination\..*\.member\./.test(name)).map(([, address]) => address);

const validationError = (action: string, form: URLSearchParams): SesError | undefined => {
  const missing = (name: string) => ({ type: 'ValidationError', message: `Value null at '${name}' is not allowed.` });
  if (action === 'SendRawEmail') {
    const data = form.get('RawMessage.Data');
    return data ? (findTagError(form) ?? findRawSizeError(data)) : missing('rawMessage.data');
  }
  if (action !== 'SendEmail') {
    return { type: 'InvalidAction', message: `The local SES does not support the action ${action}.` };
  }
  const recipients = recipientsOf(form);
  if (!form.get('Source')) return missing('source');
  if (!form.get('Message.Subject.Data')) return missing('message.subject.data');
  if (!form.get('Message.Body.Text.Data') && !form.get('Message.Body.Html.Data')) return missing('message.body');
  if (recipients.length === 0) return missing('destination');
  if (recipients.length > 50) return { type: 'InvalidParameterValue', message: 'Recipient count exceeds 50.' };
  if (recipients.some((address) => !/@[^@\s]+$/.test(address.replace(/>$/, '')))) {
    return { type: 'InvalidParameterValue', message: "Missing final '@domain'" };
  }
  return findTagError(form) ?? findSizeError(...contentOf(form));
};

const contentOf = (form: URLSearchParams): string[] =>
  ['Subject', 'Body.Text', 'Body.Html'].map((part) => form.get(`Message.${part}.Data`) ?? '');
