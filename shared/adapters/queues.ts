import {
  ChangeMessageVisibilityCommand,
  SendMessageBatchCommand,
  type SendMessageBatchRequestEntry,
  SendMessageCommand,
  SQSClient,
} from '@aws-sdk/client-sqs';
import type { SQSRecord } from 'aws-lambda';
import pLimit from 'p-limit';
import type { FailureCause, FailureReason } from '../contracts/outcomes.ts';
import type { Clock } from '../domain/clock.ts';
import { awsConfig } from './aws-client.ts';
import { errorTrace, logger } from './logger.ts';

/** A message to a queue; `messageGroupId` is the tenant, so that one tenant's backlog does not starve the rest (SQS fair queues). */
export type Message = {
  body: string;
  messageGroupId: string;
  lockWait?: LockWait | undefined;
};

/** What a message remembers of asking for the lock of its incident. */
export type LockWait = {
  /** How many times it has asked in vain. */
  asked: number;
  /** True where a newer event of the incident waits as well. */
  isOlder: boolean;
};

/** One of many messages: its body, of so many bytes, is made when it is sent, since all of them together may be too much. */
export type OutgoingMessage = { body: () => string; bytes: number; messageGroupId: string };

/** One of several messages that become visible after waits of their own, in ms; at most 15 min (AWS limit). */
export type DelayedMessage = OutgoingMessage & { waitMs: number; lockWait: LockWait };

/** Why a message is dead: becomes message attributes, while the body stays byte for byte what it was. */
export type DeadLetterReason = { reason: FailureReason; cause: FailureCause; attempts: number };

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

/** The attributes of a message that has asked for the lock of its incident in vain: how many times, and if a newer one waits. */
const LOCK_WAITS = 'lock_waits';
const NEWER_WAITS = 'newer_waits';

const attributeNumber = ({ messageAttributes }: SQSRecord, name: string): number =>
  Number(messageAttributes[name]?.stringValue) || 0;

/** When a message is due, ms since the epoch; 0 where it does not say. */
export const dueTime = (record: SQSRecord): number => attributeNumber(record, DUE);

/** What a message remembers of asking for the lock of its incident. A redrive may lose it: then it counts anew. */
export const lockWait = (record: SQSRecord): LockWait => ({
  asked: attributeNumber(record, LOCK_WAITS),
  isOlder: attributeNumber(record, NEWER_WAITS) > 0,
});

const numberAttribute = (name: string, value: number) => ({
  [name]: { DataType: 'Number', StringValue: String(value) },
});

const lockWaitAttributes = ({ asked, isOlder }: LockWait) => ({
  ...(asked > 0 && numberAttribute(LOCK_WAITS, asked)),
  ...(isOlder && numberAttribute(NEWER_WAITS, 1)),
});

/** Packs messages into batches that SQS takes, by number and by bytes, in order. */
export const packBatches = <Message extends OutgoingMessage>(messages: readonly Message[]): Message[][] => {
  const packed: Message[][] = [];
  let room = 0;
  for (const message of messages) {
    const bytes = message.bytes + Buffer.byteLength(message.messageGroupId);
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

/** SQS, as the pipeline uses it. */
export const createQueues = (client: SQSClient = new SQSClient(awsConfig), now: Clock = Date.now) => {
  const sendBatch = async <Message extends OutgoingMessage>(
    url: string,
    batch: Message[],
    attributesOf: (message: Message) => Partial<SendMessageBatchRequestEntry>,
  ): Promise<Message[]> => {
    try {
      const { Failed = [] } = await client.send(
        new SendMessageBatchCommand({
          QueueUrl: url,
          Entries: batch.map((message, index) => ({
            Id: String(index),
            MessageBody: message.body(),
            MessageGroupId: message.messageGroupId,
            ...attributesOf(message),
          })),
        }),
      );
      return Failed.flatMap(({ Id }) => batch[Number(Id)] ?? []);
    } catch (error) {
      logger.error('batch not sent', { messages: batch.length, ...errorTrace(error) });
      return batch;
    }
  };

  const sendBatches = async <Message extends OutgoingMessage>(
    url: string,
    messages: readonly Message[],
    attributesOf: (message: Message) => Partial<SendMessageBatchRequestEntry> = () => ({}),
  ): Promise<Message[]> =>
    (await Promise.all(packBatches(messages).map((batch) => atOnce(() => sendBatch(url, batch, attributesOf))))).flat();

  return {
    /** Sends messages in batches. @returns those that the queue did not take; it is for the caller not to lose them */
    sendAll: <Message extends OutgoingMessage>(url: string, messages: readonly Message[]): Promise<Message[]> =>
      sendBatches(url, messages),

    /** Sends messages that wait for the lock of their incident. @returns those that the queue did not take */
    sendAllDelayed: <Message extends DelayedMessage>(url: string, messages: readonly Message[]): Promise<Message[]> =>
      sendBatches(url, messages, ({ waitMs, lockWait: wait }) => ({
        DelaySeconds: Math.min(Math.ceil(waitMs / 1000), MAX_DELAY),
        MessageAttributes: lockWaitAttributes(wait),
      })),

    /**
     * Sends a message that becomes visible after a wait in ms, or after 15 min of it (AWS limit): then it says when it is due,
     * so that whoever receives it too early can send it on without a read.
     */
    async sendDelayed(url: string, { body, messageGroupId, lockWait: wait }: Message, waitMs: number): Promise<void> {
      const seconds = Math.max(Math.ceil(waitMs / 1000), 0);
      const attributes = {
        ...(seconds > MAX_DELAY && numberAttribute(DUE, Math.ceil(now() + waitMs))),
        ...(wait && lockWaitAttributes(wait)),
      };
      await client.send(
        new SendMessageCommand({
          QueueUrl: url,
          MessageBody: body,
          MessageGroupId: messageGroupId,
          DelaySeconds: Math.min(seconds, MAX_DELAY),
          ...(Object.keys(attributes).length > 0 && { MessageAttributes: attributes }),
        }),
      );
    },

    /** Sends a message to a dead-letter queue with the reason. The caller acknowledges it only after this has returned. */
    async sendToDeadLetterQueue(
      url: string,
      { body, messageGroupId }: { body: string; messageGroupId?: string | undefined },
      { reason, cause, attempts }: DeadLetterReason,
    ): Promise<void> {
      const text = (StringValue: string) => ({ DataType: 'String', StringValue });
      const attributes = {
        reason: text(reason),
        cause: text(cause),
        ...numberAttribute('attempts', attempts),
        time: text(new Date(now()).toISOString()),
      };
      // A body that fills the whole message leaves no room for attributes: the message matters more than the reason.
      const fits = Buffer.byteLength(body) + ATTRIBUTE_BYTES <= MAX_BYTES;
      await client.send(
        new SendMessageCommand({
          QueueUrl: url,
          MessageBody: body,
          ...(messageGroupId !== undefined && fits && { MessageGroupId: messageGroupId }),
          ...(fits && { MessageAttributes: attributes }),
        }),
      );
    },

    /** Returns a received message to its queue after some seconds: it must also be reported as failed. */
    async changeVisibility(url: string, { receiptHandle }: SQSRecord, seconds: number): Promise<void> {
      await client.send(
        new ChangeMessageVisibilityCommand({
          QueueUrl: url,
          ReceiptHandle: receiptHandle,
          VisibilityTimeout: Math.max(Math.ceil(seconds), 0),
        }),
      );
    },
  };
};

/** SQS, as the pipeline uses it. */
export type Queues = ReturnType<typeof createQueues>;
