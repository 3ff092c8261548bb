import {
  ChangeMessageVisibilityBatchCommand,
  GetQueueAttributesCommand,
  type Message,
  ReceiveMessageCommand,
  type SQSClient,
} from '@aws-sdk/client-sqs';
import { inBatches } from '../../shared/adapters/dynamodb/batches.ts';

/** How full a queue is, by SQS's own estimate. */
export type Depth = { visible: number; in_flight: number; delayed: number };

/** Reads how full a queue is, and what it is called. */
export async function inspect(sqs: SQSClient, url: string): Promise<Depth & { arn: string; waiting: number }> {
  const { Attributes = {} } = await sqs.send(
    new GetQueueAttributesCommand({
      QueueUrl: url,
      AttributeNames: [
        'QueueArn',
        'ApproximateNumberOfMessages',
        'ApproximateNumberOfMessagesNotVisible',
        'ApproximateNumberOfMessagesDelayed',
      ],
    }),
  );
  const visible = Number(Attributes.ApproximateNumberOfMessages ?? 0);
  const in_flight = Number(Attributes.ApproximateNumberOfMessagesNotVisible ?? 0);
  const delayed = Number(Attributes.ApproximateNumberOfMessagesDelayed ?? 0);
  return { arn: Attributes.QueueArn ?? '', visible, in_flight, delayed, waiting: visible + in_flight + delayed };
}

/** Messages of one receive, and of one change of visibility (SQS). */
const BATCH = 10;
/** How long messages stay away from others where looking at them breaks off, in seconds. */
const PEEK_SECONDS = 60;

/** Looks at up to `limit` messages of a queue, each once, and gives them back. */
export async function peek(sqs: SQSClient, url: string, limit: number): Promise<Message[]> {
  const seen = new Map<string, Message>();
  try {
    while (seen.size < limit) {
      const { Messages = [] } = await sqs.send(
        new ReceiveMessageCommand({
          QueueUrl: url,
          MaxNumberOfMessages: Math.min(BATCH, limit - seen.size),
          VisibilityTimeout: PEEK_SECONDS,
          // A short poll asks a part of the servers only, and may find nothing in a queue that has messages.
          WaitTimeSeconds: 1,
          MessageAttributeNames: ['All'],
          MessageSystemAttributeNames: ['SentTimestamp', 'MessageGroupId', 'DeadLetterQueueSourceArn'],
        }),
      );
      if (Messages.length === 0) break;
      for (const message of Messages) seen.set(message.MessageId ?? '', message);
    }
    return [...seen.values()];
  } finally {
    for (const batch of inBatches([...seen.values()], BATCH)) {
      const Entries = batch.map(({ ReceiptHandle }, index) => ({
        Id: String(index),
        ReceiptHandle,
        VisibilityTimeout: 0,
      }));
      await sqs.send(new ChangeMessageVisibilityBatchCommand({ QueueUrl: url, Entries }));
    }
  }
}
