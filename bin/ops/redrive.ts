import { setTimeout as sleep } from 'node:timers/promises';
import {
  DeleteMessageBatchCommand,
  ListMessageMoveTasksCommand,
  type Message,
  ReceiveMessageCommand,
  SendMessageBatchCommand,
  type SQSClient,
  StartMessageMoveTaskCommand,
} from '@aws-sdk/client-sqs';
import { packBatches } from '../../shared/adapters/queues.ts';
import { Failure } from './failure.ts';
import { amount } from './print.ts';
import { inspect } from './queues.ts';

/** How far a move is; `total` is SQS's estimate. */
export type Progress = { moved: number; total: number };

/** Between two looks at a running task, in ms. */
const POLL_INTERVAL_MS = 500;

/**
 * Returns every message of the crashed queue to the queue from which SQS moved it. SQS does the work, and continues where the
 * command is interrupted.
 *
 * @throws Failure where the move does not complete
 */
export async function returnToSources(
  sqs: SQSClient,
  queueArn: string,
  onProgress: (progress: Progress) => void,
): Promise<number> {
  const newest = async () => {
    const { Results = [] } = await sqs.send(new ListMessageMoveTasksCommand({ SourceArn: queueArn, MaxResults: 1 }));
    return Results[0];
  };
  const before = await newest();
  await sqs.send(new StartMessageMoveTaskCommand({ SourceArn: queueArn }));
  while (true) {
    const task = await newest();
    // Ours may take a moment to be listed.
    if (task && task.StartedTimestamp !== before?.StartedTimestamp) {
      const { Status, FailureReason = 'no reason given', ApproximateNumberOfMessagesMoved: moved = 0 } = task;
      onProgress({ moved, total: Math.max(task.ApproximateNumberOfMessagesToMove ?? 0, moved) });
      if (Status === 'COMPLETED') return moved;
      if (Status !== 'RUNNING') throw new Failure(`The move is ${Status} after ${moved} messages: ${FailureReason}.`);
    }
    await sleep(POLL_INTERVAL_MS);
  }
}

/** Messages of one receive (SQS). */
const BATCH_SIZE = 10;
/** How long a received message is invisible to others, in seconds: it is sent and deleted in far less. */
const VISIBILITY_SECONDS = 60;
/** How long a receive waits for a message, in seconds: a short poll asks some of the servers only. */
const WAIT_SECONDS = 2;
/** Receives at one time: together they move some hundred messages per second, as SQS's own move does. */
const WORKERS = 4;

/**
 * Moves the messages of a dead-letter queue that is no redrive target, for which SQS has no move task. Body and message group
 * are kept. Each message is deleted only after it was sent: where the command is interrupted, a message may be in both queues,
 * and none is lost. As many are moved as there are at the start, so that what fails again at once is not moved again.
 *
 * @param queues the URLs of both queues
 * @throws Failure where SQS does not accept a message
 */
export async function moveMessages(
  sqs: SQSClient,
  queues: { from: string; to: string },
  onProgress: (progress: Progress) => void = () => {},
): Promise<number> {
  const { waiting: total } = await inspect(sqs, queues.from);
  let budget = total;
  let moved = 0;
  const work = async (): Promise<void> => {
    while (budget > 0) {
      const wanted = Math.min(BATCH_SIZE, budget);
      budget -= wanted;
      const messages = await receive(sqs, queues.from, wanted);
      budget += wanted - messages.length;
      if (messages.length === 0) return;
      await moveBatch(sqs, queues, messages);
      moved += messages.length;
      onProgress({ moved, total });
    }
  };
  // An error is reported after every worker has finished its batch, so that nothing is left sent and not deleted.
  const results = await Promise.allSettled(
    Array.from({ length: Math.min(WORKERS, Math.ceil(total / BATCH_SIZE)) }, work),
  );
  for (const result of results) if (result.status === 'rejected') throw result.reason;
  return moved;
}

async function receive(sqs: SQSClient, url: string, limit: number): Promise<Message[]> {
  const { Messages = [] } = await sqs.send(
    new ReceiveMessageCommand({
      QueueUrl: url,
      MaxNumberOfMessages: limit,
      VisibilityTimeout: VISIBILITY_SECONDS,
      WaitTimeSeconds: WAIT_SECONDS,
      MessageSystemAttributeNames: ['MessageGroupId'],
    }),
  );
  return Messages;
}

async function moveBatch(
  sqs: SQSClient,
  { from, to }: { from: string; to: string },
  messages: Message[],
): Promise<void> {
  const outgoing = messages.map(({ Body = '', Attributes = {}, ReceiptHandle }) => ({
    body: () => Body,
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
      throw new Failure(`SQS did not accept ${amount(unsent.length, 'message')}, not moved: ${Code}, ${Message}.`);
    }
  }
}

async function deleteAll(sqs: SQSClient, url: string, receipts: readonly string[]): Promise<void> {
  if (receipts.length === 0) return;
  const Entries = receipts.map((ReceiptHandle, index) => ({ Id: String(index), ReceiptHandle }));
  const { Failed = [] } = await sqs.send(new DeleteMessageBatchCommand({ QueueUrl: url, Entries }));
  if (Failed.length > 0) {
    throw new Failure(
      `${amount(Failed.length, 'message')} were sent but not deleted: another redrive would send duplicates of them, which are discarded.`,
    );
  }
}
