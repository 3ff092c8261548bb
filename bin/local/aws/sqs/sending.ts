import { invalidValue, SqsError } from './errors.ts';
import {
  attributesDigest,
  bodyDigest,
  isValidContent,
  type MessageAttribute,
  maximumMessageBytes,
  messageBytes,
  type NewMessage,
} from './message.ts';
import type { Queue } from './queue.ts';
import { delaySeconds, type Outgoing } from './shapes.ts';

/** Letters, digits, `_`, `-` and single periods inside; `AWS.` and `Amazon.` are reserved. */
const attributeName = /^(?!aws\.|amazon\.)[\w-]+(\.[\w-]+)*$/i;
const attributeType = /^(String|Number|Binary)(\.[\w.-]+)?$/;
const groupId = /^[\x21-\x7e]{1,128}$/;
const maximumAttributes = 10;

/** What SQS answers for a message that it took. */
export interface SentMessage {
  MessageId: string;
  MD5OfMessageBody: string;
  MD5OfMessageAttributes: string | undefined;
}

/** The message attributes of a request as the queue keeps them. */
export function readAttributes(given: Outgoing['MessageAttributes'] = {}): Map<string, MessageAttribute> {
  const attributes = new Map<string, MessageAttribute>();
  for (const [name, { DataType, StringValue, BinaryValue }] of Object.entries(given)) {
    const binary = DataType.startsWith('Binary');
    const value = binary ? Buffer.from(BinaryValue ?? '', 'base64') : (StringValue ?? '');
    if (!attributeName.test(name)) throw invalidValue(`MessageAttributes.${name}`, 'The name is not allowed.');
    if (!attributeType.test(DataType)) {
      throw invalidValue(`MessageAttributes.${name}`, `The type '${DataType}' is not String, Number or Binary.`);
    }
    if (value.length === 0) throw invalidValue(`MessageAttributes.${name}`, 'The value must not be empty.');
    if (DataType.startsWith('Number') && !Number.isFinite(Number(value))) {
      throw invalidValue(`MessageAttributes.${name}`, 'The value of a Number must be a number.');
    }
    attributes.set(name, { dataType: DataType, value });
  }
  if (attributes.size > maximumAttributes) throw invalidValue('MessageAttributes', 'At most 10 are allowed.');
  return attributes;
}

/** Checks a message as SQS does and puts it in the queue. */
export function sendOne(queue: Queue, outgoing: Outgoing, senderId: string): SentMessage {
  const message = checked(queue, outgoing, senderId);
  const MessageId = queue.send(message, outgoing.DelaySeconds);
  return {
    MessageId,
    MD5OfMessageBody: bodyDigest(message.body),
    MD5OfMessageAttributes: attributesDigest(message.attributes),
  };
}

/** The bytes of a request's message, for the limit on a batch. */
export function outgoingBytes(outgoing: Outgoing): number {
  return messageBytes({ body: outgoing.MessageBody, attributes: readAttributes(outgoing.MessageAttributes) });
}

function checked(queue: Queue, outgoing: Outgoing, senderId: string): NewMessage {
  const { MessageBody: body, MessageGroupId, DelaySeconds } = outgoing;
  const attributes = readAttributes(outgoing.MessageAttributes);
  const limit = Math.min(queue.settings.maximumBytes, maximumMessageBytes);
  if (body === '') {
    throw new SqsError('MissingRequiredParameterException', 'The request must contain the parameter MessageBody.');
  }
  if (messageBytes({ body, attributes }) > limit) {
    throw new SqsError(
      'InvalidParameterValueException',
      `One or more parameters are invalid. Reason: Message must be shorter than ${limit} bytes.`,
    );
  }
  const texts = [body, ...[...attributes.values()].map(({ value }) => (typeof value === 'string' ? value : ''))];
  if (!texts.every(isValidContent)) {
    throw new SqsError('InvalidMessageContents', 'Invalid characters found. Valid ones are those of XML 1.0.');
  }
  if (DelaySeconds !== undefined && !delaySeconds.safeParse(DelaySeconds).success) {
    throw invalidValue('DelaySeconds', 'DelaySeconds must be >= 0 and <= 900.');
  }
  if (MessageGroupId !== undefined && !groupId.test(MessageGroupId)) {
    throw invalidValue('MessageGroupId', 'It is 1 to 128 letters, digits and punctuation characters.');
  }
  const traceHeader = outgoing.MessageSystemAttributes?.AWSTraceHeader?.StringValue;
  return { body, attributes, groupId: MessageGroupId, traceHeader, senderId };
}
