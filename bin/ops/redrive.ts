import { type Message, SendMessageBatchCommand, type SQSClient } from '@aws-sdk/client-sqs';
import { CORRELATION_ATTRIBUTES, packBatches } from '../../shared/adapters/queues.ts';
import { messageBody } from '../../shared/contracts/messages.ts';
import { OperationError } from './errors.ts';
import { pluralize } from './print.ts';
import { inspect, visitMessages } from './queues.ts';

export type Progress = { moved: number; total: number };

/** The number of batches moved concurrently: together a few hundred messages per second. */
const WORKERS = 4;

type Attributes = NonNullable<Message['MessageAttributes']>;

/** The most characters of an event to whose message another attribute is added: messages have at most 1 MiB. */
const MAX_LENGTH_WITH_ATTRIBUTE = 300_000;

/** Returns the attributes that say where an event comes from. The others of a dead letter say why it failed. */
export const originAttributes = ({ MessageAttributes = {} }: Message): Attributes =>
  Object.fromEntries(
    Object.entries(MessageAttributes).filter(([name]) => CORRELATION_ATTRIBUTES.some((kept) => kept === name)),
  );

/** A moved message keeps the ID that SQS gave to the producer; a sent one has another, so it names the first. */
export const crashedEventAttributes = (message: Message): Attributes => ({
  ...((message.Body ?? '').length <= MAX_LENGTH_WITH_ATTRIBUTE && {
    producer_message_id: { DataType: 'String', StringValue: message.MessageId ?? '' },
  }),
  ...originAttributes(message),
});

type MoveOptions = {
  /** Returns the attributes of a message that moves to the queue `to`. Default: `originAttributes` */
  attributesOf?: (message: Message, to: string) => Attributes;
  onProgress?: (progress: Progress) => void;
};

/**
 * Moves messages from a dead-letter queue, with their body and message group. A move task of SQS moves no selection,
 * only messages that SQS itself moved to the queue, and without the ID that their producer knows. Deletes a message only
 * after sending it: an interruption may leave copies but loses no message. Visits only as many messages as the queue
 * contains at the start, so that a message that fails again immediately is not moved twice.
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
  { attributesOf = originAttributes, onProgress = () => {} }: MoveOptions = {},
): Promise<number> => {
  const { total } = await inspect(sqs, from);
  const visits = visitMessages(sqs, from, total);
  let moved = 0;
  const work = async (): Promise<void> => {
    for await (const { messages, remove } of visits) {
      for (const [to, group] of Map.groupBy(messages, targetOf)) {
        if (to === undefined) continue;
        const sent = group.map((message) => ({ ...message, MessageAttributes: attributesOf(message, to) }));
        await moveBatch(sqs, to, sent, remove);
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
          MessageAttributes,
        })),
      }),
    );
    const sent = batch.filter((_, index) => !unsent.some(({ Id }) => Id === String(index)));
    await remove(sent.map(({ message }) => message)).catch(explainCopies(sent.length));
    if (unsent.length > 0) {
      const [{ Code, Message = 'no reason given' } = {}] = unsent;
      throw new OperationError(
        `SQS did not accept ${pluralize(unsent.length, 'message')} (${Code}, ${Message}): run the command again.`,
      );
    }
  }
};

const explainCopies =
  (count: number) =>
  (error: unknown): never => {
    if (!(error instanceof OperationError)) throw error;
    throw new OperationError(
      `Sent ${pluralize(count, 'message')}. ${error.message} It sends duplicates, which the service discards.`,
    );
  };
