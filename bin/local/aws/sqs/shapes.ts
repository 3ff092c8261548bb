import { z } from 'zod';

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

const sendMessage = queueUrl.extend(outgoing);
/** One message to send, alone or in a batch. */
export type Outgoing = Omit<z.infer<typeof sendMessage>, 'QueueUrl'>;

const batch = <Entry extends z.ZodRawShape>(entry: Entry) =>
  queueUrl.extend({ Entries: z.array(z.object({ Id: z.string() }).extend(entry)) });

const receiveMessage = queueUrl.extend({
  MaxNumberOfMessages: z.number().int().min(1).max(10).default(1),
  VisibilityTimeout: visibilitySeconds.optional(),
  WaitTimeSeconds: seconds(20).optional(),
  AttributeNames: z.array(z.string()).default([]),
  MessageSystemAttributeNames: z.array(z.string()).default([]),
  MessageAttributeNames: z.array(z.string()).default([]),
});
/** What a receive may ask for. */
export type ReceiveMessage = z.infer<typeof receiveMessage>;

/** What each action takes; a request that does not parse is answered as AWS answers a bad parameter. */
export const requests = {
  SendMessage: sendMessage,
  SendMessageBatch: batch(outgoing),
  ReceiveMessage: receiveMessage,
  DeleteMessage: queueUrl.extend({ ReceiptHandle: z.string() }),
  DeleteMessageBatch: batch({ ReceiptHandle: z.string() }),
  ChangeMessageVisibility: queueUrl.extend({ ReceiptHandle: z.string(), VisibilityTimeout: visibilitySeconds }),
  ChangeMessageVisibilityBatch: batch({ ReceiptHandle: z.string(), VisibilityTimeout: z.number() }),
  GetQueueAttributes: queueUrl.extend({ AttributeNames: z.array(z.string()).default([]) }),
  GetQueueUrl: z.object({ QueueName: z.string() }),
  ListQueues: z.object({ QueueNamePrefix: z.string().default('') }),
  PurgeQueue: queueUrl,
  ListDeadLetterSourceQueues: queueUrl,
  StartMessageMoveTask: z.object({
    SourceArn: z.string(),
    DestinationArn: z.string().optional(),
    MaxNumberOfMessagesPerSecond: z.number().int().min(1).max(500).optional(),
  }),
  ListMessageMoveTasks: z.object({
    SourceArn: z.string(),
    MaxResults: z.number().int().min(1).max(10).default(1),
  }),
  CancelMessageMoveTask: z.object({ TaskHandle: z.string() }),
};
