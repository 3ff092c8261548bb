import { type AwsResponse, type AwsService, xmlFault, xmlResult } from './aws-service.ts';

/** A message that SNS published to a phone number or to a topic. */
export type PublishedMessage =
  | { to: 'phone'; phoneNumber: string; text: string; attributes: Record<string, string> }
  | { to: 'topic'; topicArn: string; subject: string | null; text: string };

const MAX_BYTES = 256 * 1024;
const SUBJECT = /^[^\p{Cc}\u2028\u2029]+$/u;
const E164 = /^\+[1-9]\d{6,14}$/;

/** Creates Amazon SNS with its query protocol: `Publish` to a phone number or to one of `topicArns`. */
export const snsService =
  (topicArns: readonly string[], onMessage: (message: PublishedMessage) => void): AwsService =>
  ({ action, body }) => {
    if (action !== 'Publish') {
      return errorResponse(400, 'InvalidAction', `The local SNS does not support the action ${action}.`);
    }
    const form = new URLSearchParams(body.toString());
    const text = form.get('Message') ?? '';
    const phoneNumber = form.get('PhoneNumber');
    const topicArn = form.get('TopicArn');
    const subject = form.get('Subject');
    if (text === '') return invalid('Empty message');
    if (Buffer.byteLength(text) > MAX_BYTES) return invalid('Message too long');
    if (phoneNumber !== null && topicArn !== null) return invalid('PhoneNumber and TopicArn exclude each other');
    if (phoneNumber !== null) {
      if (!E164.test(phoneNumber)) return invalid(`PhoneNumber Reason: ${phoneNumber} is not valid to publish to`);
      onMessage({ to: 'phone', phoneNumber, text, attributes: messageAttributes(form) });
    } else {
      if (topicArn === null) return invalid('TopicArn or TargetArn Reason: no value for required parameter');
      if (!topicArns.includes(topicArn)) return errorResponse(404, 'NotFound', 'Topic does not exist');
      if (subject !== null && !(subject.length < 100 && SUBJECT.test(subject))) return invalid('Subject');
      onMessage({ to: 'topic', topicArn, subject, text });
    }
    return xmlResult('Publish', 'http://sns.amazonaws.com/doc/2010-03-31/');
  };

const messageAttributes = (form: URLSearchParams): Record<string, string> => {
  const attributes: Record<string, string> = {};
  for (let index = 1; form.has(`MessageAttributes.entry.${index}.Name`); index += 1) {
    const entry = `MessageAttributes.entry.${index}`;
    attributes[form.get(`${entry}.Name`) ?? ''] = form.get(`${entry}.Value.StringValue`) ?? '';
  }
  return attributes;
};

const invalid = (reason: string): AwsResponse => errorResponse(400, 'InvalidParameter', `Invalid parameter: ${reason}`);

const errorResponse = (status: number, type: string, message: string): AwsResponse =>
  xmlFault({ status, type, message });
