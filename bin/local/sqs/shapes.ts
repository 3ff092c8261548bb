import { z } from 'zod';

/** What the actions of the SQS JSON protocol take. A failed parse is answered as AWS answers a bad parameter. */

const queueUrl = z.object({ QueueUrl: z.string() });
const seconds = (maximum: number) => z.number().int().min(0).max(maximum);

/** `DelaySeconds`: at most 15 minutes. */
export const delaySeconds = seconds(900);
/** `VisibilityTimeout`: at most 12 hours. */
export const visibilitySeconds = seconds(43_200);

const attributes = z.record(
  z.string().min(1).max(256),
  z.object({ DataType: z.string().min(1), StringValue: z.string().optional(), BinaryValue: z.base64().optional() }),
);

/** What a single send and a batch entry share. Delay and content are checked later: in a batch they fail one entry. */
const outgoing = {
  MessageBody: z.string(),
  DelaySeconds: z.number().optional(),
  MessageAttributes: attributes.optional(),
  MessageSystemAttributes: z.object({ AWSTraceHeader: z.object({ StringValue: z.string() }).optional() }).optional(),
  MessageGroupId: z.string().optional(),
};

export const sendMessage = queueUrl.extend(outgoing);
/** One message to send, alone or in a batch. */
export type Outgoing = Omit<z.infer<typeof sendMessage>, 'QueueUrl'>;

const batch = <Entry extends z.ZodRawShape>(entry: Entry) =>
  queueUrl.extend({ Entries: z.array(z.object({ Id: z.string() }).extend(entry)) });

export const sendMessageBatch = batch(outgoing);
export const deleteMessageBatch = batch({ ReceiptHandle: z.string() });
export const changeMessageVisibilityBatch = batch({ ReceiptHandle: z.string(), VisibilityTimeout: z.number() });

export const receiveMessage = queueUrl.extend({
  MaxNumberOfMessages: z.number().int().min(1).max(10).default(1),
  VisibilityTimeout: visibilitySeconds.optional(),
  WaitTimeSeconds: seconds(20).optional(),
  AttributeNames: z.array(z.string()).default([]),
  MessageSystemAttributeNames: z.array(z.string()).default([]),
  MessageAttributeNames: z.array(z.string()).default([]),
});
/** What a receive may ask for. */
export type ReceiveMessage = z.infer<typeof receiveMessage>;

export const deleteMessage = queueUrl.extend({ ReceiptHandle: z.string() });
export const changeMessageVisibility = deleteMessage.extend({ VisibilityTimeout: visibilitySeconds });
export const getQueueAttributes = queueUrl.extend({ AttributeNames: z.array(z.string()).default([]) });
export const getQueueUrl = z.object({ QueueName: z.string() });
export const listQueues = z.object({ QueueNamePrefix: z.string().default('') });
export const purgeQueue = queueUrl;
export const listDeadLetterSourceQueues = queueUrl;

export const startMessageMoveTask = z.object({
  SourceArn: z.string(),
  DestinationArn: z.string().optional(),
  MaxNumberOfMessagesPerSecond: z.number().int().min(1).max(500).optional(),
});
export const listMessageMoveTasks = z.object({
  SourceArn: z.string(),
  MaxResults: z.number().int().min(1).max(10).default(1),
});
export const cancelMessageMoveTask = z.object({ TaskHandle: z.string() });
