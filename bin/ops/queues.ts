import {
  ChangeMessageVisibilityBatchCommand,
  DeleteMessageBatchCommand,
  GetQueueAttributesCommand,
  type Message,
  ReceiveMessageCommand,
  type SQSClient,
} from '@aws-sdk/client-sqs';
import { inBatches } from '../../shared/domain/in-batches.ts';
import { OperationError } from './errors.ts';
import { pluralize } from './print.ts';

export type Depth = { visible: number; in_flight: number; delayed: number };

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
const BATCH_SIZE = 10;

/** The SQS maximum of received messages that are not deleted. With long polling SQS then returns none. */
const MAX_IN_FLIGHT = 120_000;

/** The messages that a slow connection visits in a second. */
const VISITS_PER_SECOND = 50;

const receive = async (sqs: SQSClient, url: string, limit: number, visibilitySeconds: number): Promise<Message[]> => {
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

/** Up to ten messages of a queue, hidden from others until the visit ends, and a function that deletes some of them. */
export type Visited = { messages: readonly Message[]; remove: (messages: readonly Message[]) => Promise<void> };

/**
 * Visits the visible messages of a queue, each once. Those that are not removed become visible again when the visit
 * ends: after the last one, if the caller stops earlier, on SIGINT and SIGTERM, and if the process is killed after a
 * minute or, in a long queue, later. Use it only for dead-letter queues: it increases receive counts.
 *
 * @param limit the maximum number of messages to visit
 * @throws OperationError if the command is interrupted, or the queue has more messages than SQS can hide
 */
export async function* visitMessages(
  sqs: SQSClient,
  url: string,
  limit = Number.POSITIVE_INFINITY,
): AsyncGenerator<Visited> {
  const { total } = await inspect(sqs, url);
  const visibilitySeconds = 60 + Math.ceil(Math.min(total, MAX_IN_FLIGHT) / VISITS_PER_SECOND);
  const seenIds = new Set<string>();
  const hidden = new Map<string, Message>();
  const remove = async (messages: readonly Message[]): Promise<void> => {
    await deleteMessages(sqs, url, messages);
    for (const { MessageId = '' } of messages) hidden.delete(MessageId);
  };
  const interruption = catchSignals();
  try {
    while (seenIds.size < limit) {
      const received = await receive(sqs, url, limit - seenIds.size, visibilitySeconds);
      const messages = received.filter(({ MessageId = '' }) => !seenIds.has(MessageId));
      for (const message of received) hidden.set(message.MessageId ?? '', message);
      for (const { MessageId = '' } of messages) seenIds.add(MessageId);
      // Messages return only if the visit takes longer than their visibility timeout.
      if (messages.length > 0) yield { messages, remove };
      if (interruption.signal() !== undefined)
        throw new OperationError(`Interrupted by ${interruption.signal()}: run the command again.`);
      if (hidden.size >= MAX_IN_FLIGHT) throw new OperationError(TOO_MANY);
      if (messages.length === 0) return;
    }
  } finally {
    await makeVisible(sqs, url, [...hidden.values()]).finally(interruption.release);
  }
}

const TOO_MANY = `SQS hides at most ${MAX_IN_FLIGHT} messages of a queue, and it has more: redrive or purge all of its type.`;

/** Deletes up to ten received messages. @throws OperationError if SQS does not delete all of them */
const deleteMessages = async (sqs: SQSClient, url: string, messages: readonly Message[]): Promise<void> => {
  if (messages.length === 0) return;
  const Entries = messages.map(({ ReceiptHandle }, index) => ({ Id: String(index), ReceiptHandle }));
  const { Failed = [] } = await sqs.send(new DeleteMessageBatchCommand({ QueueUrl: url, Entries }));
  const [{ Code, Message: reason = 'no reason given' } = {}] = Failed;
  if (Failed.length > 0)
    throw new OperationError(
      `SQS did not delete ${pluralize(Failed.length, 'message')} (${Code}, ${reason}): run the command again.`,
    );
};

const makeVisible = async (sqs: SQSClient, url: string, messages: readonly Message[]): Promise<void> => {
  for (const batch of inBatches(messages, BATCH_SIZE)) {
    const Entries = batch.map(({ ReceiptHandle }, index) => ({ Id: `${index}`, ReceiptHandle, VisibilityTimeout: 0 }));
    await sqs.send(new ChangeMessageVisibilityBatchCommand({ QueueUrl: url, Entries }));
  }
};

const SIGNALS = ['SIGINT', 'SIGTERM'] as const;

let signal: NodeJS.Signals | undefined;
let running = 0;

const stopCatching = (): void => {
  for (const each of SIGNALS) process.off(each, onSignal);
};

const onSignal = (received: NodeJS.Signals): void => {
  signal = received;
  stopCatching();
};

/** Catches SIGINT and SIGTERM while something runs that must be undone. A second signal ends the process. */
export const catchSignals = () => {
  if (running++ === 0) for (const each of SIGNALS) process.on(each, onSignal);
  return {
    signal: () => signal,
    release: () => {
      if (--running > 0) return;
      stopCatching();
      signal = undefined;
    },
  };
};
