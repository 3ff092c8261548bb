import { z } from 'zod';
import { invalidValue, SqsError } from './errors.ts';
import {
  isValidContent,
  MAX_MESSAGE_BYTES,
  type MessageAttribute,
  messageBytes,
  type NewMessage,
} from './queued-message.ts';

const queueUrl = z.object({ QueueUrl: z.string() });
const seconds = (max: number) => z.number().int().min(0).max(max);

const delaySeconds = seconds(900);
const visibilitySeconds = seconds(43_200);

const messageAttributes = z.record(
  z.string().min(1).max(256),
  z.strictObject({ DataType: z.string(), StringValue: z.string() }),
);

/**
 * Shared by a single send and a batch entry. Delay and content are checked later: in a batch, they fail one entry only.
 */
const outgoingMessage = {
  MessageBody: z.string(),
  DelaySeconds: z.number().optional(),
  MessageAttributes: messageAttributes.optional(),
  MessageGroupId: z.string().optional(),
};

const sendMessage = queueUrl.extend(outgoingMessage);
/** A message to send, alone or in a batch. */
export type OutgoingMessage = Omit<z.infer<typeof sendMessage>, 'QueueUrl'>;

const batch = <Entry extends z.ZodRawShape>(entry: Entry) =>
  queueUrl.extend({ Entries: z.array(z.object({ Id: z.string() }).extend(entry)) });

const receiveMessage = queueUrl.extend({
  MaxNumberOfMessages: z.number().int().min(1).max(10).default(1),
  VisibilityTimeout: visibilitySeconds.optional(),
  WaitTimeSeconds: seconds(20).optional(),
  MessageSystemAttributeNames: z.array(z.string()).default([]),
  MessageAttributeNames: z.array(z.string()).default([]),
});
export type ReceiveMessageRequest = z.infer<typeof receiveMessage>;

const queueAttributeName = z.enum([
  'All',
  'QueueArn',
  'ApproximateNumberOfMessages',
  'ApproximateNumberOfMessagesNotVisible',
  'ApproximateNumberOfMessagesDelayed',
]);

export const requests = {
  SendMessage: sendMessage,
  SendMessageBatch: batch(outgoingMessage),
  ReceiveMessage: receiveMessage,
  DeleteMessage: queueUrl.extend({ ReceiptHandle: z.string() }),
  DeleteMessageBatch: batch({ ReceiptHandle: z.string() }),
  ChangeMessageVisibility: queueUrl.extend({ ReceiptHandle: z.string(), VisibilityTimeout: visibilitySeconds }),
  ChangeMessageVisibilityBatch: batch({ ReceiptHandle: z.string(), VisibilityTimeout: z.number() }),
  GetQueueAttributes: queueUrl.extend({ AttributeNames: z.array(queueAttributeName).default([]) }),
  ListQueues: z.strictObject({}),
  PurgeQueue: queueUrl,
  TagQueue: queueUrl.extend({ Tags: z.record(z.string(), z.string()) }),
};

/** Validates a request. Throws the `SqsError` that AWS returns for a missing or invalid parameter. */
export const parseRequest = <Schema extends z.ZodType>(schema: Schema, input: unknown): z.infer<Schema> => {
  const result = schema.safeParse(input);
  if (result.success) return result.data;
  const [{ path, message } = { path: [], message: '' }] = result.error.issues;
  const parameter = path.join('.');
  if (message.endsWith('received undefined')) {
    throw new SqsError('MissingRequiredParameterException', `The request must contain the parameter ${parameter}.`);
  }
  throw invalidValue(parameter, message);
};

/** Parses the body of a request. Throws an `SqsError` if it is not JSON. */
export const parseJson = (body: Buffer): unknown => {
  try {
    return JSON.parse(body.toString());
  } catch {
    throw invalidValue('body', 'It is not JSON.');
  }
};

const MAX_ENTRIES = 10;

/** Throws an `SqsError` if a batch is empty or too large, or if its entry IDs are invalid or not distinct. */
export const assertValidBatch = (entries: readonly { Id: string }[]): void => {
  if (entries.length === 0) {
    throw new SqsError('EmptyBatchRequest', 'There should be at least one entry in the request.');
  }
  if (entries.length > MAX_ENTRIES) {
    throw new SqsError('TooManyEntriesInBatchRequest', `Maximum number of entries per request are ${MAX_ENTRIES}.`);
  }
  if (!entries.every(({ Id }) => /^[\w-]{1,80}$/.test(Id))) {
    throw new SqsError(
      'InvalidBatchEntryId',
      'A batch entry id can only contain alphanumeric characters, hyphens and underscores, 80 at most.',
    );
  }
  if (new Set(entries.map(({ Id }) => Id)).size < entries.length) {
    throw new SqsError('BatchEntryIdsNotDistinct', 'Two or more batch entries in the request have the same id.');
  }
};

/** Throws an `SqsError` unless the value is a valid `VisibilityTimeout`. */
export const assertValidVisibility = (value: number): void => {
  if (visibilitySeconds.safeParse(value).success) return;
  throw invalidValue('VisibilityTimeout', 'Must be between 0 and 43200.');
};

/** Letters, digits, `_`, `-` and, between them, single periods; the prefixes `AWS.` and `Amazon.` are reserved. */
const ATTRIBUTE_NAME = /^(?!aws\.|amazon\.)[\w-]+(\.[\w-]+)*$/i;
const ATTRIBUTE_TYPE = /^(String|Number)(\.[\w.-]+)?$/;
const GROUP_ID = /^[\x21-\x7e]{1,128}$/;
const MAX_ATTRIBUTES = 10;

const readAttributes = (given: OutgoingMessage['MessageAttributes'] = {}): Map<string, MessageAttribute> => {
  const attributes = new Map<string, MessageAttribute>();
  for (const [name, { DataType, StringValue: value }] of Object.entries(given)) {
    if (!ATTRIBUTE_NAME.test(name)) throw invalidValue(`MessageAttributes.${name}`, 'The name is not allowed.');
    if (!ATTRIBUTE_TYPE.test(DataType)) {
      throw invalidValue(`MessageAttributes.${name}`, `The type '${DataType}' is not String or Number.`);
    }
    if (value.length === 0) throw invalidValue(`MessageAttributes.${name}`, 'The value must not be empty.');
    if (DataType.startsWith('Number') && !Number.isFinite(Number(value))) {
      throw invalidValue(`MessageAttributes.${name}`, 'The value of a Number must be a number.');
    }
    attributes.set(name, { dataType: DataType, value });
  }
  if (attributes.size > MAX_ATTRIBUTES)
    throw invalidValue('MessageAttributes', `At most ${MAX_ATTRIBUTES} are allowed.`);
  return attributes;
};

/** Returns the size of a message to send, in bytes. */
export const outgoingBytes = (outgoing: OutgoingMessage): number =>
  messageBytes({ body: outgoing.MessageBody, attributes: readAttributes(outgoing.MessageAttributes) });

/** Returns the message of a request. Throws an `SqsError` if SQS rejects it. */
export const readMessage = (outgoing: OutgoingMessage, senderId: string): NewMessage => {
  const { MessageBody: body, MessageGroupId, DelaySeconds } = outgoing;
  const attributes = readAttributes(outgoing.MessageAttributes);
  if (body === '') {
    throw new SqsError('MissingRequiredParameterException', 'The request must contain the parameter MessageBody.');
  }
  if (messageBytes({ body, attributes }) > MAX_MESSAGE_BYTES) {
    throw new SqsError(
      'InvalidParameterValueException',
      `One or more parameters are invalid. Reason: Message must be shorter than ${MAX_MESSAGE_BYTES} bytes.`,
    );
  }
  const texts = [body, ...[...attributes.values()].map(({ value }) => value)];
  if (!texts.every(isValidContent)) {
    throw new SqsError('InvalidMessageContents', 'Invalid characters found. Valid characters are those of XML 1.0.');
  }
  if (DelaySeconds !== undefined && !delaySeconds.safeParse(DelaySeconds).success) {
    throw invalidValue('DelaySeconds', 'DelaySeconds must be >= 0 and <= 900.');
  }
  if (MessageGroupId !== undefined && !GROUP_ID.test(MessageGroupId)) {
    throw invalidValue('MessageGroupId', 'It must be 1 to 128 letters, digits and punctuation characters.');
  }
  return { body, attributes, groupId: MessageGroupId, senderId };
};
