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
  ...(message.traceHeader === undefined ? {} : { AWSTraceHeader: message.traceHeader }),
  ...(message.deadLetterQueueSourceArn === undefined
    ? {}
    : { DeadLetterQueueSourceArn: message.deadLetterQueueSourceArn }),
});

/** Returns a message as `ReceiveMessage` does, with the requested attributes only. */
export const receivedMessage = ({ message, handle }: Receipt, request: ReceiveMessageRequest): object => {
  const requested = new Set([...request.AttributeNames, ...request.MessageSystemAttributeNames]);
  const system = Object.entries(systemAttributes(message)).filter(
    ([name]) => requested.has('All') || requested.has(name),
  );
  const attributes = new Map(
    [...message.attributes].filter(([name]) => request.MessageAttributeNames.some((pattern) => matches(name, pattern))),
  );
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

const matches = (name: string, pattern: string): boolean => {
  if (pattern === 'All' || pattern === '.*') return true;
  return pattern.endsWith('.*') ? name.startsWith(pattern.slice(0, -1)) : name === pattern;
};

const attribute = ({ dataType, value }: MessageAttribute): object =>
  typeof value === 'string'
    ? { DataType: dataType, StringValue: value }
    : { DataType: dataType, BinaryValue: value.toString('base64') };
