import PostalMime from 'postal-mime';
import { type AwsService, xmlFault, xmlResult } from './aws-service.ts';
import { findMessageError, findTagError, type SesError } from './ses-limits.ts';

/** An email that SES sent. The names of headers are in lower case; the last of several with a name counts. */
export type SentEmail = {
  from: string;
  to: string[];
  subject: string;
  text: string;
  html: string;
  headers: Record<string, string>;
};

const parse = async (form: URLSearchParams, raw: Buffer): Promise<SentEmail> => {
  const destinations = [...form].flatMap(([name, value]) => (/^Destinations\.member\./.test(name) ? [value] : []));
  const { from, to = [], cc = [], bcc = [], subject = '', text = '', html = '', headers } = await PostalMime.parse(raw);
  const named = [...to, ...cc, ...bcc].flatMap(({ address, group = [] }) => [
    ...(address === undefined ? [] : [address]),
    ...group.map((member) => member.address),
  ]);
  return {
    from: form.get('Source') ?? from?.address ?? '',
    to: destinations.length > 0 ? destinations : named,
    subject,
    text: text.replace(/\r\n/g, '\n'),
    html: html.replace(/\r\n/g, '\n'),
    headers: Object.fromEntries(headers.map(({ key, value }) => [key, value])),
  };
};

const rawMessage = (form: URLSearchParams): Buffer => Buffer.from(form.get('RawMessage.Data') ?? '', 'base64');

/** Returns the email in the body of a `SendRawEmail`. */
export const emailIn = (body: Buffer): Promise<SentEmail> => {
  const form = new URLSearchParams(body.toString());
  return parse(form, rawMessage(form));
};

/** Creates Amazon SES v1 with its query protocol: `SendRawEmail`, with the checks of SES. */
export const sesService =
  (onEmail: (email: SentEmail) => void): AwsService =>
  async ({ action, body }) => {
    const form = new URLSearchParams(body.toString());
    if (action !== 'SendRawEmail')
      return fault({ type: 'InvalidAction', message: `The local SES does not support the action ${action}.` });
    const raw = rawMessage(form);
    const error = findMessageError(raw);
    if (error) return fault(error);
    const email = await parse(form, raw);
    const invalid = findRecipientError(email) ?? findTagError(form);
    if (invalid) return fault(invalid);
    onEmail(email);
    return xmlResult(action, 'http://ses.amazonaws.com/doc/2010-12-01/');
  };

const fault = (error: SesError) => xmlFault({ status: 400, ...error });

/** Returns what is wrong with an address, in the words of SES. */
const findAddressProblem = (address: string): string | undefined => {
  const [, local, domain] = /^([^@]*)@([^@\s]+)$/.exec(address.replace(/^[^<]*<|>$/g, '')) ?? [];
  if (local === undefined || domain === undefined) return "Missing final '@domain'";
  if (local.startsWith('.')) return 'Local address starts with dot';
  if (local.endsWith('.')) return 'Local address ends with dot';
  if (local.includes('..')) return 'Local address contains dot-dot';
  return /^[\d.]+$/.test(domain) ? 'Domain is an IP address' : undefined;
};

const findRecipientError = ({ to }: SentEmail): SesError | undefined => {
  if (to.length === 0) return { type: 'InvalidParameterValue', message: "Missing required header 'To'." };
  if (to.length > 50) return { type: 'InvalidParameterValue', message: 'Recipient count exceeds 50.' };
  const [message] = to.flatMap((address) => findAddressProblem(address) ?? []);
  return message === undefined ? undefined : { type: 'InvalidParameterValue', message };
};
