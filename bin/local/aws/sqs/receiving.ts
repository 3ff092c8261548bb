import { attributesDigest, bodyDigest, type MessageAttribute } from './message.ts';
import type { QueuedMessage, Receipt } from './queued-message.ts';
import type { ReceiveMessage } from './shapes.ts';

/** The system attributes of a message, as SQS and the Lambda event name them; all values are text. */
export function systemAttributes(message: QueuedMessage): Record<string, string> {
  return {
    ApproximateReceiveCount: String(message.receives),
    SentTimestamp: String(message.sentAt),
    SenderId: message.senderId,
    ApproximateFirstReceiveTimestamp: String(message.firstReceivedAt),
    ...(message.groupId === undefined ? {} : { MessageGroupId: message.groupId }),
    ...(message.traceHeader === undefined ? {} : { AWSTraceHeader: message.traceHeader }),
    ...(message.deadLetterQueueSourceArn === undefined
      ? {}
      : { DeadLetterQueueSourceArn: message.deadLetterQueueSourceArn }),
  };
}

/** A received message as `ReceiveMessage` answers it: only the attributes that were asked for. */
export function receivedMessage({ message, handle }: Receipt, request: ReceiveMessage): object {
  const wanted = new Set([...request.AttributeNames, ...request.MessageSystemAttributeNames]);
  const system = Object.entries(systemAttributes(message)).filter(([name]) => wanted.has('All') || wanted.has(name));
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
}

function matches(name: string, pattern: string): boolean {
  if (pattern === 'All' || pattern === '.*') return true;
  return pattern.endsWith('.*') ? name.startsWith(pattern.slice(0, -1)) : name === pattern;
}

function attribute({ dataType, value }: MessageAttribute): object {
  return typeof value === 'string'
    ? { DataType: dataType, StringValue: value }
    : { DataType: dataType, BinaryValue: value.toString('base64') };
}
