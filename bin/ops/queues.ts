import {
  ChangeMessageVisibilityBatchCommand,
  DeleteMessageCommand,
  GetQueueAttributesCommand,
  type Message,
  ReceiveMessageCommand,
  type SQSClient,
} from '@aws-sdk/client-sqs';
import { inBatches } from '../../shared/domain/in-batches.ts';

/** The approximate number of messages in a queue, by state. */
export type Depth = { visible: number; in_flight: number; delayed: number };

/** Returns the ARN of a queue and its approximate number of messages. */
export const inspect = async (sqs: SQSClient, url: string): Promise<Depth & { arn: string; total: number }> => {
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
  return { arn: Attributes.QueueArn ?? '', visible, in_flight, delayed, total: visible + in_flight + delayed };
};

/** The SQS maximum for a receive and for a batch. */
export const BATCH_SIZE = 10;

/** If the command is interrupted, messages become visible again after this time. */
const PEEK_VISIBILITY_SECONDS = 60;

/** The SQS maximum for a visibility timeout is 12 hours. A pass over a queue of 100,000 messages takes minutes. */
const PASS_VISIBILITY_SECONDS = 1_800;

/** Receives up to `limit` messages, at most `BATCH_SIZE`. */
export const receive = async (
  sqs: SQSClient,
  url: string,
  limit: number,
  visibilitySeconds: number,
): Promise<Message[]> => {
  const { Messages = [] } = await sqs.send(
    new ReceiveMessageCommand({
      QueueUrl: url,
      MaxNumberOfMessages: Math.min(BATCH_SIZE, limit),
      VisibilityTimeout: visibilitySeconds,
      // Short polling queries only some servers and may miss messages.
      WaitTimeSeconds: 1,
      MessageAttributeNames: ['All'],
      MessageSystemAttributeNames: ['SentTimestamp', 'MessageGroupId', 'DeadLetterQueueSourceArn'],
    }),
  );
  return Messages;
};

/** Reads up to `limit` messages of a queue, each once, and makes them visible again. */
export const peek = async (sqs: SQSClient, url: string, limit: number): Promise<Message[]> => {
  const seen = new Map<string, Message>();
  try {
    while (seen.size < limit) {
      const messages = await receive(sqs, url, limit - seen.size, PEEK_VISIBILITY_SECONDS);
      if (messages.length === 0) break;
      for (const message of messages) seen.set(message.MessageId ?? '', message);
    }
    return [...seen.values()];
  } finally {
    await makeVisible(sqs, url, [...seen.values()]);
  }
};

/**
 * Visits every visible message of a queue once, and deletes those that `visit` returns true for. The others stay hidden
 * during the pass and become visible again after it, or half an hour after an interruption. SQS hides at most 120,000
 * messages of a queue at a time. Use it only for dead-letter queues: it increases receive counts.
 */
export const filterMessages = async (
  sqs: SQSClient,
  url: string,
  visit: (message: Message) => Promise<boolean>,
): Promise<void> => {
  const seenIds = new Set<string>();
  const kept: Pick<Message, 'ReceiptHandle'>[] = [];
  try {
    while (true) {
      const messages = await receive(sqs, url, BATCH_SIZE, PASS_VISIBILITY_SECONDS);
      const unseen = messages.filter(({ MessageId = '' }) => !seenIds.has(MessageId));
      // Messages return only if the pass took longer than their visibility timeout.
      if (unseen.length === 0) return;
      for (const message of unseen) {
        const { MessageId = '', ReceiptHandle } = message;
        seenIds.add(MessageId);
        if (await visit(message)) await sqs.send(new DeleteMessageCommand({ QueueUrl: url, ReceiptHandle }));
        else kept.push({ ReceiptHandle });
      }
    }
  } finally {
    await makeVisible(sqs, url, kept);
  }
};

const makeVisible = async (
  sqs: SQSClient,
  url: string,
  messages: readonly Pick<Message, 'ReceiptHandle'>[],
): Promise<void> => {
  for (const batch of inBatches(messages, BATCH_SIZE)) {
    const Entries = batch.map(({ ReceiptHandle }, index) => ({ Id: `${index}`, ReceiptHandle, VisibilityTimeout: 0 }));
    await sqs.send(new ChangeMessageVisibilityBatchCommand({ QueueUrl: url, Entries }));
  }
};
