import { type AwsResponse, type AwsService, escapeXml, xmlFault, xmlResult } from './aws-service.ts';

export type PublishedMessage =
  | { to: 'phone'; phoneNumber: string; text: string; attributes: Record<string, string> }
  | { to: 'topic'; topicArn: string; subject: string | null; text: string; attributes: Record<string, string> };

const MAX_BYTES = 256 * 1024;
const SUBJECT = /^[^\p{Cc}\u2028\u2029]+$/u;
const E164 = /^\+[1-9]\d{6,14}$/;

const NAMESPACE = 'http://sns.amazonaws.com/doc/2010-03-31/';
const MAX_ENTRIES = 10;

/**
 * Creates Amazon SNS with its query protocol: `Publish` to a phone number or to one of `topicArns`, and `PublishBatch` to
 * one of them.
 */
export const snsService =
  (topicArns: readonly string[], onMessage: (message: PublishedMessage) => void): AwsService =>
  ({ action, body }) => {
    const form = new URLSearchParams(body.toString());
    if (action === 'PublishBatch') return publishBatch(topicArns, onMessage, form);
    if (action !== 'Publish') {
      return errorResponse(400, 'InvalidAction', `The local SNS does not support the action ${action}.`);
    }
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
      onMessage({ to: 'topic', topicArn, subject, text, attributes: messageAttributes(form) });
    }
    return xmlResult('Publish', NAMESPACE);
  };

/** Publishes up to ten messages. An empty one fails alone. */
const publishBatch = (
  topicArns: readonly string[],
  onMessage: (message: PublishedMessage) => void,
  form: URLSearchParams,
): AwsResponse => {
  const topicArn = form.get('TopicArn') ?? '';
  if (!topicArns.includes(topicArn)) return errorResponse(404, 'NotFound', 'Topic does not exist');
  const prefixes: string[] = [];
  for (let prefix = entryPrefix(1); form.has(`${prefix}Id`); prefix = entryPrefix(prefixes.length + 1)) {
    prefixes.push(prefix);
  }
  if (prefixes.length === 0) return errorResponse(400, 'EmptyBatchRequest', 'The batch has no entries.');
  if (prefixes.length > MAX_ENTRIES) {
    return errorResponse(400, 'TooManyEntriesInBatchRequest', `The batch has more than ${MAX_ENTRIES} entries.`);
  }
  const texts = prefixes.map((prefix) => form.get(`${prefix}Message`) ?? '');
  if (texts.reduce((bytes, text) => bytes + Buffer.byteLength(text), 0) > MAX_BYTES) {
    return errorResponse(400, 'BatchRequestTooLong', 'The batch has more than 256 KB.');
  }
  const members = prefixes.map((prefix, index) => {
    const [id, text] = [escapeXml(form.get(`${prefix}Id`) ?? ''), texts[index] ?? ''];
    if (text === '') {
      const failure = '<Code>InvalidParameter</Code><Message>Empty message</Message><SenderFault>true</SenderFault>';
      return { isFailed: true, xml: `<member><Id>${id}</Id>${failure}</member>` };
    }
    onMessage({ to: 'topic', topicArn, subject: null, text, attributes: messageAttributes(form, prefix) });
    return { isFailed: false, xml: `<member><Id>${id}</Id><MessageId>${crypto.randomUUID()}</MessageId></member>` };
  });
  const membersWhere = (isFailed: boolean) =>
    members.flatMap((member) => (member.isFailed === isFailed ? [member.xml] : [])).join('');
  const result = `<Successful>${membersWhere(false)}</Successful><Failed>${membersWhere(true)}</Failed>`;
  return {
    status: 200,
    headers: { 'content-type': 'text/xml' },
    body: `<PublishBatchResponse xmlns="${NAMESPACE}"><PublishBatchResult>${result}</PublishBatchResult></PublishBatchResponse>`,
  };
};

const entryPrefix = (number: number): string => `PublishBatchRequestEntries.member.${number}.`;

const messageAttributes = (form: URLSearchParams, prefix = ''): Record<string, string> => {
  const attributes: Record<string, string> = {};
  for (let index = 1; form.has(`${prefix}MessageAttributes.entry.${index}.Name`); index += 1) {
    const entry = `${prefix}MessageAttributes.entry.${index}`;
    attributes[form.get(`${entry}.Name`) ?? ''] = form.get(`${entry}.Value.StringValue`) ?? '';
  }
  return attributes;
};

const invalid = (reason: string): AwsResponse => errorResponse(400, 'InvalidParameter', `Invalid parameter: ${reason}`);

const errorResponse = (status: number, type: string, message: string): AwsResponse =>
  xmlFault({ status, type, message });
