import type { Queue } from './queue.ts';
import {
  attributesDigest,
  bodyDigest,
  type MessageAttribute,
  type QueuedMessage,
  type Receipt,
} from './queued-message.ts';
import type { ReceiveMessageRequest } from './requests.ts';

/** Returns the attributes of a queue with the names of `GetQueueAttributes`; all values are text. */
export const queueAttributes = ({ settings, counts, redrive, createdAtMs }: Queue): Record<string, string> => {
  const created = String(Math.floor(createdAtMs / 1000));
  const redrivePolicy = redrive && {
    RedrivePolicy: JSON.stringify({
      deadLetterTargetArn: redrive.target.settings.arn,
      maxReceiveCount: redrive.maxReceiveCount,
    }),
  };
  return {
    QueueArn: settings.arn,
    ApproximateNumberOfMessages: String(counts.visible),
    ApproximateNumberOfMessagesNotVisible: String(counts.inFlight),
    ApproximateNumberOfMessagesDelayed: String(counts.delayed),
    CreatedTimestamp: created,
    LastModifiedTimestamp: created,
    VisibilityTimeout: String(settings.visibilitySeconds),
    DelaySeconds: String(settings.delaySeconds),
    MessageRetentionPeriod: String(settings.retentionSeconds),
    MaximumMessageSize: String(settings.maxBytes),
    ReceiveMessageWaitTimeSeconds: String(settings.waitSeconds),
    SqsManagedSseEnabled: 'true',
    ...redrivePolicy,
  };
};

/** Returns the system attributes of a message with the names that SQS and the Lambda event use; all values are text. */
export const systemAttributes = (message: QueuedMessage): Record<string, string> => ({
  ApproximateReceiveCount: String(message.receiveCount),
  SentTimestamp: String(message.sentAtMs),
  SenderId: message.senderId,
  ApproximateFirstReceiveTimestamp: String(message.firstReceivedAtMs),
  ...(message.groupId === undefined ? {} : { MessageGroupId: message.groupId }),
  ...(message.deadLetterQueueSourceArn === undefined
    ? {}
    : { DeadLetterQueueSourceArn: message.deadLetterQueueSourceArn }),
});

/** Returns a message as `ReceiveMessage` does, with the requested attributes only. */
export const receivedMessage = ({ message, handle }: Receipt, request: ReceiveMessageRequest): object => {
  const { MessageSystemAttributeNames, MessageAttributeNames } = request;
  const system = requested(Object.entries(systemAttributes(message)), MessageSystemAttributeNames);
  const attributes = new Map(requested(message.attributes, MessageAttributeNames));
  return {
    MessageId: message.id,
    ReceiptHandle: handle,
    MD5OfBody: bodyDigest(message.body),
    Body: message.body,
    ...(system.length > 0 ? { Attributes: Object.fromEntries(system) } : {}),
    ...(attributes.size > 0
      ? {
          MD5OfMessageAttributes: attributesDigest(attributes),
          MessageAttributes: Object.fromEntries([...attributes].map(([name, value]) => [name, attribute(value)])),
        }
      : {}),
  };
};

/** Returns the entries with these names, or all if `All` is one of them. */
export const requested = <Value>(entries: Iterable<[string, Value]>, names: readonly string[]): [string, Value][] =>
  [...entries].filter(([name]) => names.includes('All') || names.includes(name));

const attribute = ({ dataType, value }: MessageAttribute): object =>
  typeof value === 'string'
    ? { DataType: dataType, StringValue: value }
    : { DataType: dataType, BinaryValue: value.toString('base64') };
