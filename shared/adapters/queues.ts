import {
  ChangeMessageVisibilityCommand,
  SendMessageBatchCommand,
  SendMessageCommand,
  SQSClient,
} from '@aws-sdk/client-sqs';
import type { SQSRecord } from 'aws-lambda';
import pLimit from 'p-limit';
import type { Cause, Reason } from '../domain/outcome.ts';
import { awsConfig } from './aws-config.ts';
import { errorTrace, logger } from './logger.ts';

/** A message to a queue; `group` is the tenant, so that one tenant's backlog does not starve the rest (SQS fair queues). */
export type Message = { body: string; group: string };

/** One of many messages: its body, of so many bytes, is made when it is sent, since all of them together may be too much. */
export type OutgoingMessage = { body: () => string; bytes: number; group: string };

/** Why a message is dead: becomes message attributes, while the body stays byte for byte what it was. */
export type DeadLetterReason = { reason: Reason; cause: Cause; attempts: number };

/** SQS: a message and a batch are at most 1 MiB, attributes included. */
const MAX_BYTES = 1_048_576;
/** SQS: entries of a batch. */
const MAX_ENTRIES = 10;
/** Room for our own attributes and the group beside a body. */
const ATTRIBUTE_BYTES = 1_024;
/** SQS: the longest delay of a message, in seconds. */
const MAX_DELAY = 900;

/** The attribute of a message that waits longer than SQS can delay it: when it is due, ms since the epoch. */
const DUE = 'due';

/** When a message is due, ms since the epoch; 0 where it does not say. */
export const dueTime = ({ messageAttributes }: SQSRecord): number => Number(messageAttributes[DUE]?.stringValue) || 0;

/** Packs messages into batches that SQS takes, by number and by bytes, in order. */
export const packBatches = <Message extends OutgoingMessage>(messages: readonly Message[]): Message[][] => {
  const packed: Message[][] = [];
  let room = 0;
  for (const message of messages) {
    const bytes = message.bytes + Buffer.byteLength(message.group);
    const last = packed.at(-1);
    if (last && last.length < MAX_ENTRIES && bytes <= room) {
      last.push(message);
      room -= bytes;
    } else {
      packed.push([message]);
      room = MAX_BYTES - bytes;
    }
  }
  return packed;
};

/** Batches on their way at one time, each of up to 1 MiB: what a small function can hold. */
const BATCHES_AT_ONCE = 8;
const atOnce = pLimit(BATCHES_AT_ONCE);

/** The queues, as the pipeline uses them. */
export const createQueues = (client: SQSClient = new SQSClient(awsConfig), now: () => number = Date.now) => ({
  /** Sends messages in batches. @returns those that the queue did not take; it is for the caller not to lose them */
  async sendAll<Message extends OutgoingMessage>(url: string, messages: readonly Message[]): Promise<Message[]> {
    const refused = await Promise.all(
      packBatches(messages).map((batch) =>
        atOnce(async () => {
          try {
            const { Failed = [] } = await client.send(
              new SendMessageBatchCommand({
                QueueUrl: url,
                Entries: batch.map(({ body, group }, index) => ({
                  Id: String(index),
                  MessageBody: body(),
                  MessageGroupId: group,
                })),
              }),
            );
            return Failed.flatMap(({ Id }) => batch[Number(Id)] ?? []);
          } catch (error) {
            logger.error('batch not sent', { messages: batch.length, ...errorTrace(error) });
            return batch;
          }
        }),
      ),
    );
    return refused.flat();
  },

  /**
   * Sends a message that becomes visible after a wait in ms, or after 15 min of it (AWS limit): then it says when it is due, so
   * that whoever receives it too early can send it on without asking anybody.
   */
  async sendLater(url: string, { body, group }: Message, wait: number): Promise<void> {
    const seconds = Math.max(Math.ceil(wait / 1000), 0);
    const due = { DataType: 'Number', StringValue: String(Math.ceil(now() + wait)) };
    await client.send(
      new SendMessageCommand({
        QueueUrl: url,
        MessageBody: body,
        MessageGroupId: group,
        DelaySeconds: Math.min(seconds, MAX_DELAY),
        ...(seconds > MAX_DELAY && { MessageAttributes: { [DUE]: due } }),
      }),
    );
  },

  /** Moves a message to a dead-letter queue with the reason. The caller acks it only after this has returned. */
  async deadLetter(
    url: string,
    { body, group }: { body: string; group?: string | undefined },
    { reason, cause, attempts }: DeadLetterReason,
  ): Promise<void> {
    const text = (StringValue: string) => ({ DataType: 'String', StringValue });
    const attributes = {
      reason: text(reason),
      cause: text(cause),
      attempts: { DataType: 'Number', StringValue: String(attempts) },
      time: text(new Date(now()).toISOString()),
    };
    // A body that fills the whole message leaves no room for attributes: the message matters more than the reason.
    const fits = Buffer.byteLength(body) + ATTRIBUTE_BYTES <= MAX_BYTES;
    await client.send(
      new SendMessageCommand({
        QueueUrl: url,
        MessageBody: body,
        ...(group !== undefined && fits && { MessageGroupId: group }),
        ...(fits && { MessageAttributes: attributes }),
      }),
    );
  },

  /** Lets a message that was received come again after some seconds: it must also be reported as failed. */
  async putBack(url: string, { receiptHandle }: SQSRecord, seconds: number): Promise<void> {
    await client.send(
      new ChangeMessageVisibilityCommand({
        QueueUrl: url,
        ReceiptHandle: receiptHandle,
        VisibilityTimeout: Math.max(Math.ceil(seconds), 0),
      }),
    );
  },
});

/** The queues, as the pipeline uses them. */
export type Queues = ReturnType<typeof createQueues>;
