import { setTimeout as pause } from 'node:timers/promises';
import {
  ChangeMessageVisibilityBatchCommand,
  GetQueueAttributesCommand,
  ListMessageMoveTasksCommand,
  type Message,
  ReceiveMessageCommand,
  type SQSClient,
  StartMessageMoveTaskCommand,
} from '@aws-sdk/client-sqs';
import { batches } from '../../shared/domain/batches.ts';
import { Failure } from './failure.ts';

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
    for (const batch of batches([...seen.values()], BATCH)) {
      const Entries = batch.map(({ ReceiptHandle }, index) => ({
        Id: String(index),
        ReceiptHandle,
        VisibilityTimeout: 0,
      }));
      await sqs.send(new ChangeMessageVisibilityBatchCommand({ QueueUrl: url, Entries }));
    }
  }
}

/** Between two looks at a running task, in ms. */
const LOOK_AGAIN = 500;

/** How far a move is; `total` is SQS's estimate. */
export type Progress = { moved: number; total: number };

/** Moves all messages of a dead-letter queue to another queue, and tells how far it is. @throws Failure where it does not end well */
export async function moveAll(
  sqs: SQSClient,
  { from, to }: { from: string; to: string },
  onProgress: (progress: Progress) => void,
): Promise<number> {
  const newest = async () => {
    const { Results = [] } = await sqs.send(new ListMessageMoveTasksCommand({ SourceArn: from, MaxResults: 1 }));
    return Results[0];
  };
  const before = await newest();
  await sqs.send(new StartMessageMoveTaskCommand({ SourceArn: from, DestinationArn: to }));
  while (true) {
    const task = await newest();
    // Ours may take a moment to be listed.
    if (task && task.StartedTimestamp !== before?.StartedTimestamp) {
      const { Status, FailureReason = 'no reason given', ApproximateNumberOfMessagesMoved: moved = 0 } = task;
      onProgress({ moved, total: Math.max(task.ApproximateNumberOfMessagesToMove ?? 0, moved) });
      if (Status === 'COMPLETED') return moved;
      if (Status !== 'RUNNING') throw new Failure(`The move is ${Status} after ${moved} messages: ${FailureReason}.`);
    }
    await pause(LOOK_AGAIN);
  }
}
