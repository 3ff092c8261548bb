import type { Queue } from './queue.ts';
import { bodyDigest, type QueuedMessage, type Receipt } from './queued-message.ts';
import type { ReceiveMessageRequest } from './requests.ts';

export const queueAttributes = ({ settings, counts }: Queue) => ({
  QueueArn: settings.arn,
  ApproximateNumberOfMessages: String(counts.visible),
  ApproximateNumberOfMessagesNotVisible: String(counts.inFlight),
  ApproximateNumberOfMessagesDelayed: String(counts.delayed),
});

/** Returns the system attributes of a message with the names that SQS and the Lambda event use; all values are text. */
export const systemAttributes = ({ groupId, deadLetterQueueSourceArn, ...message }: QueuedMessage) => ({
  ApproximateReceiveCount: String(message.receiveCount),
  SentTimestamp: String(message.sentAtMs),
  SenderId: message.senderId,
  ApproximateFirstReceiveTimestamp: String(message.firstReceivedAtMs),
  ...(groupId !== undefined && { MessageGroupId: groupId }),
  ...(deadLetterQueueSourceArn !== undefined && { DeadLetterQueueSourceArn: deadLetterQueueSourceArn }),
});

/** Returns a message as `ReceiveMessage` does, with the requested attributes only. */
export const receivedMessage = ({ message, handle }: Receipt, request: ReceiveMessageRequest): object => {
  const { MessageSystemAttributeNames, MessageAttributeNames } = request;
  const system = requested(Object.entries(systemAttributes(message)), MessageSystemAttributeNames);
  const attributes = requested(message.attributes, MessageAttributeNames);
  return {
    MessageId: message.id,
    ReceiptHandle: handle,
    MD5OfBody: bodyDigest(message.body),
    Body: message.body,
    ...(system.length > 0 && { Attributes: Object.fromEntries(system) }),
    ...(attributes.length > 0 && {
      MessageAttributes: Object.fromEntries(
        attributes.map(([name, { dataType, value }]) => [name, { DataType: dataType, StringValue: value }]),
      ),
    }),
  };
};

/** Returns the entries with these names, or all if `All` is one of them. */
export const requested = <Value>(entries: Iterable<[string, Value]>, names: readonly string[]): [string, Value][] =>
  [...entries].filter(([name]) => names.includes('All') || names.includes(name));
