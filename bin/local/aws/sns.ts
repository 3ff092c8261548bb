import type { Sent } from '../inbox.ts';
import { type AwsAnswer, type AwsService, xmlFault } from './aws-service.ts';

const maximumBytes = 256 * 1024;
const e164 = /^\+[1-9]\d{6,14}$/;

/** Amazon SNS over its query protocol: `Publish` to a phone number or to a topic of the stack; both go to the inbox. */
export function snsService(topicArns: readonly string[], keep: (sent: Sent) => void): AwsService {
  return ({ action, body }) => {
    if (action !== 'Publish') return refusal(400, 'InvalidAction', `The local SNS has no action ${action}.`);
    const form = new URLSearchParams(body.toString());
    const text = form.get('Message') ?? '';
    const phone = form.get('PhoneNumber');
    const topic = form.get('TopicArn');
    const subject = form.get('Subject');
    if (text === '') return invalid('Empty message');
    if (Buffer.byteLength(text) > maximumBytes) return invalid('Message too long');
    if (phone !== null && topic !== null) return invalid('PhoneNumber and TopicArn exclude each other');
    if (phone !== null) {
      if (!e164.test(phone)) return invalid(`PhoneNumber Reason: ${phone} is not valid to publish to`);
      keep({ kind: 'sms', to: phone, text, attributes: messageAttributes(form) });
    } else {
      if (topic === null) return invalid('TopicArn or TargetArn Reason: no value for required parameter');
      if (!topicArns.includes(topic)) return refusal(404, 'NotFound', 'Topic does not exist');
      if (subject !== null && !/^[\x21-\x7e][\x20-\x7e]{0,99}$/.test(subject)) return invalid('Subject');
      keep({ kind: 'managed', topic, subject, text });
    }
    return published();
  };
}

function messageAttributes(form: URLSearchParams): Record<string, string> {
  const attributes: Record<string, string> = {};
  for (let entry = 1; form.has(`MessageAttributes.entry.${entry}.Name`); entry += 1) {
    const at = `MessageAttributes.entry.${entry}`;
    attributes[form.get(`${at}.Name`) ?? ''] = form.get(`${at}.Value.StringValue`) ?? '';
  }
  return attributes;
}

function published(): AwsAnswer {
  const ids = { message: crypto.randomUUID(), request: crypto.randomUUID() };
  return {
    status: 200,
    headers: { 'content-type': 'text/xml' },
    body: `<PublishResponse xmlns="http://sns.amazonaws.com/doc/2010-03-31/"><PublishResult><MessageId>${ids.message}</MessageId></PublishResult><ResponseMetadata><RequestId>${ids.request}</RequestId></ResponseMetadata></PublishResponse>`,
  };
}

function invalid(reason: string): AwsAnswer {
  return refusal(400, 'InvalidParameter', `Invalid parameter: ${reason}`);
}

function refusal(status: number, type: string, message: string): AwsAnswer {
  return xmlFault({ status, type, message });
}
