import sesLocal from 'aws-ses-v2-local';
import { getStoreReadonly } from 'aws-ses-v2-local/dist/store.js';
import type { Sent } from '../inbox.ts';
import { type AwsService, xmlFault } from './aws-service.ts';
import { close, origin } from './http.ts';
import { problemOfRawSize, problemOfSize, problemOfTags, type SesProblem } from './ses-limits.ts';

/** Amazon SES and the port it keeps open until it is closed. */
export interface Ses {
  service: AwsService;
  close(): Promise<void>;
}

/**
 * Amazon SES v1 (`SendEmail`, `SendRawEmail`) by aws-ses-v2-local, on a port of its own behind the endpoint. Mails are
 * moved from its store, which would grow for ever, to the inbox. What it would refuse in a form of its own, or never
 * answer, is refused here as SES does.
 */
export async function startSes(keep: (sent: Sent) => void): Promise<Ses> {
  const server = await sesLocal.default({ host: '127.0.0.1', port: 0 });
  const address = server.address();
  const url = origin(typeof address === 'object' && address ? address.port : 0);
  return {
    service: async ({ action, body, headers }) => {
      const form = new URLSearchParams(body.toString());
      const problem = whyRefused(action, form);
      if (problem) return xmlFault({ status: 400, ...problem });
      const { authorization = 'AWS4-HMAC-SHA256', 'content-type': type = 'application/x-www-form-urlencoded' } =
        headers;
      const sent = await fetch(url, { method: 'POST', headers: { authorization, 'content-type': type }, body });
      const answer = await sent.text();
      const mail = takeMail(answer, recipientsOf(form));
      if (mail) keep(mail);
      return { status: sent.status, headers: { 'content-type': 'text/xml' }, body: answer };
    },
    close: () => close(server),
  };
}

/**
 * Takes the mail of an answer out of the store, which several requests, and stacks of one process, share. Of several
 * recipients it holds only the first: the request knows them all, but for a raw mail.
 */
function takeMail(answer: string, recipients: string[]): Sent | undefined {
  const id = /<MessageId>(.+)<\/MessageId>/.exec(answer)?.[1];
  const { emails } = getStoreReadonly();
  const index = emails.findIndex(({ messageId }) => messageId === id);
  const [mail] = index < 0 ? [] : emails.splice(index, 1);
  if (!mail) return undefined;
  const { from, destination, subject, body } = mail;
  const to = recipients.length > 0 ? recipients : destination.to;
  return { kind: 'email', from, to, subject, text: body.text ?? '', html: body.html ?? '' };
}

function recipientsOf(form: URLSearchParams): string[] {
  return [...form].filter(([name]) => /^Destination\..*\.member\./.test(name)).map(([, address]) => address);
}

function whyRefused(action: string, form: URLSearchParams): SesProblem | undefined {
  const missing = (name: string) => ({ type: 'ValidationError', message: `Value null at '${name}' is not allowed.` });
  if (action === 'SendRawEmail') {
    const data = form.get('RawMessage.Data');
    return data ? (problemOfTags(form) ?? problemOfRawSize(data)) : missing('rawMessage.data');
  }
  if (action !== 'SendEmail') return { type: 'InvalidAction', message: `The local SES has no action ${action}.` };
  const recipients = recipientsOf(form);
  if (!form.get('Source')) return missing('source');
  if (!form.get('Message.Subject.Data')) return missing('message.subject.data');
  if (!form.get('Message.Body.Text.Data') && !form.get('Message.Body.Html.Data')) return missing('message.body');
  if (recipients.length === 0) return missing('destination');
  if (recipients.length > 50) return { type: 'InvalidParameterValue', message: 'Recipient count exceeds 50.' };
  if (recipients.some((address) => !/@[^@\s]+$/.test(address.replace(/>$/, '')))) {
    return { type: 'InvalidParameterValue', message: "Missing final '@domain'" };
  }
  return problemOfTags(form) ?? problemOfSize(...textsOf(form));
}

function textsOf(form: URLSearchParams): string[] {
  return ['Subject', 'Body.Text', 'Body.Html'].map((part) => form.get(`Message.${part}.Data`) ?? '');
}
