import { setTimeout as sleep } from 'node:timers/promises';
import {
  ListMessageMoveTasksCommand,
  type Message,
  SendMessageBatchCommand,
  type SQSClient,
  StartMessageMoveTaskCommand,
} from '@aws-sdk/client-sqs';
import { ORIGIN_ATTRIBUTES, packBatches } from '../../shared/adapters/queues.ts';
import { messageBody } from '../../shared/contracts/message-body.ts';
import { OperationError } from './errors.ts';
import { pluralize } from './print.ts';
import { inspect, visitMessages } from './queues.ts';

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

/** The number of batches moved concurrently: together a few hundred messages per second, as an SQS move task. */
const WORKERS = 4;

/** How messages are moved. */
type MoveOptions = {
  /** Whether messages keep their attributes. Those of dead letters describe the failure. */
  withAttributes?: boolean;
  onProgress?: (progress: Progress) => void;
};

/**
 * Moves messages from a dead-letter queue, with their body and message group. SQS moves neither a selection nor the
 * messages of a queue that is not the target of a redrive policy. Deletes a message only after sending it: an
 * interruption may leave copies but loses no message. Visits only as many messages as the queue contains at the start,
 * so that a message that fails again immediately is not moved twice.
 *
 * @param from the URL of the dead-letter queue
 * @param targetOf returns the URL of the queue to which a message is moved; undefined leaves it
 * @returns the number of moved messages
 * @throws OperationError if SQS does not accept a message, or the command is interrupted
 */
export const moveMessages = async (
  sqs: SQSClient,
  from: string,
  targetOf: (message: Message) => string | undefined,
  { withAttributes = false, onProgress = () => {} }: MoveOptions = {},
): Promise<number> => {
  const { total } = await inspect(sqs, from);
  const visits = visitMessages(sqs, from, total);
  let moved = 0;
  const work = async (): Promise<void> => {
    for await (const { messages, remove } of visits) {
      for (const [to, group] of Map.groupBy(messages, targetOf)) {
        if (to === undefined) continue;
        await moveBatch(sqs, to, withAttributes ? group : group.map(withOrigin), remove);
        moved += group.length;
      }
      onProgress({ moved, total });
    }
  };
  // Waits for all workers before it reports an error, so that no worker stops between sending and deleting a batch.
  for (const result of await Promise.allSettled(Array.from({ length: WORKERS }, work))) {
    if (result.status === 'rejected') throw result.reason;
  }
  return moved;
};

/** Leaves only the attributes that say where an event comes from: the others say why it was dead-lettered. */
const withOrigin = ({ MessageAttributes = {}, ...message }: Message): Message => ({
  ...message,
  MessageAttributes: Object.fromEntries(
    Object.entries(MessageAttributes).filter(([name]) => ORIGIN_ATTRIBUTES.some((kept) => kept === name)),
  ),
});

const moveBatch = async (
  sqs: SQSClient,
  to: string,
  messages: readonly Message[],
  remove: (messages: readonly Message[]) => Promise<void>,
): Promise<void> => {
  const outgoing = messages.map((message) => ({
    message,
    body: () => messageBody(message.Body ?? ''),
    bytes: Buffer.byteLength((message.Body ?? '') + JSON.stringify(message.MessageAttributes ?? '')),
    messageGroupId: message.Attributes?.MessageGroupId ?? '',
  }));
  for (const batch of packBatches(outgoing)) {
    const { Failed: unsent = [] } = await sqs.send(
      new SendMessageBatchCommand({
        QueueUrl: to,
        Entries: batch.map(({ message: { MessageAttributes }, body, messageGroupId }, index) => ({
          Id: String(index),
          MessageBody: body(),
          ...(messageGroupId !== '' && { MessageGroupId: messageGroupId }),
          ...(MessageAttributes && { MessageAttributes }),
        })),
      }),
    );
    const sent = batch.filter((_, index) => !unsent.some(({ Id }) => Id === String(index)));
    await remove(sent.map(({ message }) => message)).catch(explainCopies(sent.length));
    if (unsent.length > 0) {
      const [{ Code, Message = 'no reason given' } = {}] = unsent;
      throw new OperationError(`SQS did not accept ${pluralize(unsent.length, 'message')}: ${Code}, ${Message}.`);
    }
  }
};

const explainCopies =
  (count: number) =>
  (error: unknown): never => {
    if (!(error instanceof OperationError)) throw error;
    throw new OperationError(
      `Sent ${pluralize(count, 'message')}. ${error.message} Another redrive would send duplicates, which the service discards.`,
    );
  };
