import { setTimeout as sleep } from 'node:timers/promises';
import {
  DeleteMessageBatchCommand,
  ListMessageMoveTasksCommand,
  type Message,
  SendMessageBatchCommand,
  type SQSClient,
  StartMessageMoveTaskCommand,
} from '@aws-sdk/client-sqs';
import { packBatches } from '../../shared/adapters/queues.ts';
import { messageBody } from '../../shared/contracts/message-body.ts';
import { OperationError } from './errors.ts';
import { pluralize } from './print.ts';
import { BATCH_SIZE, inspect, receive } from './queues.ts';

/** The progress of a move. `total` is an SQS estimate. */
export type Progress = { moved: number; total: number };

const POLL_INTERVAL_MS = 500;

/**
 * Returns every message of the crashed queue to the queue from which SQS moved it. SQS runs the move and continues it
 * if the command is interrupted.
 *
 * @returns the number of moved messages
 * @throws OperationError if the move does not complete
 */
export const returnToSources = async (
  sqs: SQSClient,
  queueArn: string,
  onProgress: (progress: Progress) => void,
): Promise<number> => {
  const newestTask = async () => {
    const { Results = [] } = await sqs.send(new ListMessageMoveTasksCommand({ SourceArn: queueArn, MaxResults: 1 }));
    return Results[0];
  };
  const before = await newestTask();
  await sqs.send(new StartMessageMoveTaskCommand({ SourceArn: queueArn }));
  while (true) {
    const task = await newestTask();
    // The new task may not be listed immediately.
    if (task && task.StartedTimestamp !== before?.StartedTimestamp) {
      const { Status, FailureReason = 'no reason given', ApproximateNumberOfMessagesMoved: moved = 0 } = task;
      onProgress({ moved, total: Math.max(task.ApproximateNumberOfMessagesToMove ?? 0, moved) });
      if (Status === 'COMPLETED') return moved;
      if (Status !== 'RUNNING')
        throw new OperationError(`The move has status ${Status} after ${moved} messages: ${FailureReason}.`);
    }
    await sleep(POLL_INTERVAL_MS);
  }
};

/** Far longer than it takes to send and delete a batch. */
const VISIBILITY_SECONDS = 60;
/**
 * The number of batches moved concurrently: together a few hundred messages per second, as many as an SQS move task.
 */
const WORKERS = 4;

/**
 * Moves messages from a dead-letter queue that is not the target of a redrive policy; SQS has no move task for such
 * queues. Keeps the body and the message group of each message. Deletes a message only after sending it: an
 * interruption may leave copies but loses no message. Moves only as many messages as the queue contains at the start,
 * so that a message that fails again immediately is not moved twice.
 *
 * @param queues the URLs of both queues
 * @returns the number of moved messages
 * @throws OperationError if SQS does not accept a message
 */
export const moveMessages = async (
  sqs: SQSClient,
  queues: { from: string; to: string },
  onProgress: (progress: Progress) => void = () => {},
): Promise<number> => {
  const { total } = await inspect(sqs, queues.from);
  let remaining = total;
  let moved = 0;
  const moveBatches = async (): Promise<void> => {
    while (remaining > 0) {
      const limit = Math.min(BATCH_SIZE, remaining);
      remaining -= limit;
      const messages = await receive(sqs, queues.from, limit, VISIBILITY_SECONDS);
      remaining += limit - messages.length;
      if (messages.length === 0) return;
      await moveBatch(sqs, queues, messages);
      moved += messages.length;
      onProgress({ moved, total });
    }
  };
  // Waits for all workers before it reports an error, so that no worker stops between sending and deleting a batch.
  const results = await Promise.allSettled(
    Array.from({ length: Math.min(WORKERS, Math.ceil(total / BATCH_SIZE)) }, moveBatches),
  );
  for (const result of results) if (result.status === 'rejected') throw result.reason;
  return moved;
};

const moveBatch = async (
  sqs: SQSClient,
  { from, to }: { from: string; to: string },
  messages: Message[],
): Promise<void> => {
  const outgoing = messages.map(({ Body = '', Attributes = {}, ReceiptHandle }) => ({
    body: () => messageBody(Body),
    bytes: Buffer.byteLength(Body),
    messageGroupId: Attributes.MessageGroupId ?? '',
    receipt: ReceiptHandle ?? '',
  }));
  for (const batch of packBatches(outgoing)) {
    const { Failed: unsent = [] } = await sqs.send(
      new SendMessageBatchCommand({
        QueueUrl: to,
        Entries: batch.map(({ body, messageGroupId }, index) => ({
          Id: String(index),
          MessageBody: body(),
          ...(messageGroupId !== '' && { MessageGroupId: messageGroupId }),
        })),
      }),
    );
    const sent = batch.filter((_, index) => !unsent.some(({ Id }) => Id === String(index)));
    await deleteAll(
      sqs,
      from,
      sent.map(({ receipt }) => receipt),
    );
    if (unsent.length > 0) {
      const [{ Code, Message = 'no reason given' } = {}] = unsent;
      throw new OperationError(`SQS did not accept ${pluralize(unsent.length, 'message')}: ${Code}, ${Message}.`);
    }
  }
};

const deleteAll = async (sqs: SQSClient, url: string, receipts: readonly string[]): Promise<void> => {
  if (receipts.length === 0) return;
  const Entries = receipts.map((ReceiptHandle, index) => ({ Id: String(index), ReceiptHandle }));
  const { Failed = [] } = await sqs.send(new DeleteMessageBatchCommand({ QueueUrl: url, Entries }));
  if (Failed.length > 0) {
    throw new OperationError(
      `Sent ${pluralize(Failed.length, 'message')} without deleting: another redrive would send duplicates, which the service discards.`,
    );
  }
};
