import {
  ChangeMessageVisibilityCommand,
  SendMessageBatchCommand,
  SendMessageCommand,
  SQSClient,
} from '@aws-sdk/client-sqs';
import type { SQSRecord } from 'aws-lambda';
import pLimit from 'p-limit';
import type { Correlation, MessageBody } from '../contracts/messages.ts';
import type { DeadLetterCause, FailureReason } from '../contracts/outcomes.ts';
import type { Clock } from '../domain/time.ts';
import { awsConfig } from './aws-client.ts';
import { errorTrace, logger } from './logger.ts';

/** `messageGroupId` is the tenant: SQS fair queues limit the effect of its backlog on others. */
export type Message = {
  body: MessageBody;
  messageGroupId: string;
  /** Failed claims of its incident lock so far. Default: 0 */
  lockWaitCount?: number;
};

/** `body` is called when it is sent: all bodies of a batch together may exceed the available memory. */
export type OutgoingMessage = { body: () => MessageBody; bytes: number; messageGroupId: string };

/** Why a message is dead-lettered, sent as message attributes: the body stays unchanged. */
export type DeadLetterReason = {
  reason: FailureReason;
  cause: DeadLetterCause;
  attemptCount: number;
  /** The rules that an invalid event breaks, in ASCII. */
  detail?: string | undefined;
  /** Further rules that it breaks, which alone would not prevent its delivery. */
  warnings?: string | undefined;
  /** What the body of an invalid event lacks: where it comes from (`CORRELATION_ATTRIBUTES`). */
  correlation?: Correlation;
};

/** What an alarm event, its dead letter and a redrive of it have: trace, and the ID of the producer's message. */
export const CORRELATION_ATTRIBUTES = ['traceparent', 'tracestate', 'producer_message_id'] as const;

/** The maximum size of a message and of a batch, attributes included (AWS limit). */
const MAX_BYTES = 1_048_576;
/** The maximum number of entries in a batch (AWS limit). */
const MAX_ENTRIES = 10;
/** The maximum delay of a message (AWS limit). */
export const MAX_DELAY_SECONDS = 900;

/** Message attribute: when the next attempt is due, for a message that must wait longer than SQS can delay it. */
const NEXT_ATTEMPT_AT_MS = 'next_attempt_at_ms';

const LOCK_WAIT_COUNT = 'lock_wait_count';

type MessageAttributes = Record<string, { DataType: 'String' | 'Number'; StringValue: string }>;

const attributeBytes = (attributes: MessageAttributes): number =>
  Object.entries(attributes).reduce(
    (bytes, [name, { DataType, StringValue }]) => bytes + Buffer.byteLength(name + DataType + StringValue),
    0,
  );

const attributeNumber = ({ messageAttributes }: SQSRecord, name: string): number =>
  Number(messageAttributes[name]?.stringValue) || 0;

/** Returns when the message is due, in ms since the epoch; 0 if it has no due time. */
export const dueTimeMs = (message: SQSRecord): number => attributeNumber(message, NEXT_ATTEMPT_AT_MS);

/** How often the claim of its incident lock has failed. A redrive may drop the attribute; the count then restarts. */
export const lockWaitCount = (message: SQSRecord): number => attributeNumber(message, LOCK_WAIT_COUNT);

const numberAttribute = (name: string, value: number): MessageAttributes => ({
  [name]: { DataType: 'Number', StringValue: String(value) },
});

export const packBatches = <Message extends OutgoingMessage>(messages: readonly Message[]): Message[][] => {
  const packed: Message[][] = [];
  let bytesLeft = 0;
  for (const message of messages) {
    const bytes = message.bytes + Buffer.byteLength(message.messageGroupId);
    const last = packed.at(-1);
    if (last && last.length < MAX_ENTRIES && bytes <= bytesLeft) {
      last.push(message);
      bytesLeft -= bytes;
    } else {
      packed.push([message]);
      bytesLeft = MAX_BYTES - bytes;
    }
  }
  return packed;
};

/** The maximum number of concurrent batches, each of up to 1 MiB: they must fit into the memory of a small function. */
const MAX_CONCURRENT_BATCHES = 8;

export const createQueues = (client?: SQSClient, clock: Clock = Date.now) => {
  const limitConcurrency = pLimit(MAX_CONCURRENT_BATCHES);
  let created = client;
  /** A sender that delivers sends no message, so the client is created when it is used. */
  const sqs = (): SQSClient => {
    created ??= new SQSClient(awsConfig());
    return created;
  };

  const sendBatch = async <Message extends OutgoingMessage>(url: string, batch: Message[]): Promise<Message[]> => {
    try {
      const { Failed = [] } = await sqs().send(
        new SendMessageBatchCommand({
          QueueUrl: url,
          Entries: batch.map((message, index) => ({
            Id: String(index),
            MessageBody: message.body(),
            MessageGroupId: message.messageGroupId,
          })),
        }),
      );
      return Failed.flatMap(({ Id }) => batch[Number(Id)] ?? []);
    } catch (error) {
      const tenant_ids = [...new Set(batch.map(({ messageGroupId }) => messageGroupId))];
      logger.error('batch not sent', { messages: batch.length, tenant_ids, ...errorTrace(error) });
      return batch;
    }
  };

  return {
    /** Sends messages in batches. @returns the messages that were not sent, which the caller must handle */
    async sendAll<Message extends OutgoingMessage>(url: string, messages: readonly Message[]): Promise<Message[]> {
      const batches = packBatches(messages);
      return (await Promise.all(batches.map((batch) => limitConcurrency(() => sendBatch(url, batch))))).flat();
    },

    /** A longer wait than 15 min (AWS limit) is an attribute: a consumer reschedules the message without a read. */
    async sendDelayed(
      url: string,
      { body, messageGroupId, lockWaitCount: waits = 0 }: Message,
      waitMs: number,
    ): Promise<void> {
      const seconds = Math.max(Math.ceil(waitMs / 1000), 0);
      const attributes: MessageAttributes = {
        ...(seconds > MAX_DELAY_SECONDS && numberAttribute(NEXT_ATTEMPT_AT_MS, Math.ceil(clock() + waitMs))),
        ...(waits > 0 && numberAttribute(LOCK_WAIT_COUNT, waits)),
      };
      await sqs().send(
        new SendMessageCommand({
          QueueUrl: url,
          MessageBody: body,
          MessageGroupId: messageGroupId,
          DelaySeconds: Math.min(seconds, MAX_DELAY_SECONDS),
          ...(Object.keys(attributes).length > 0 && { MessageAttributes: attributes }),
        }),
      );
    },

    /** The caller must not acknowledge the original before this resolves. */
    async sendToDeadLetterQueue(
      url: string,
      { body, messageGroupId }: { body: MessageBody; messageGroupId?: string | undefined },
      { reason, cause, attemptCount, detail, warnings, correlation = {} }: DeadLetterReason,
    ): Promise<void> {
      const text = (StringValue: string) => ({ DataType: 'String', StringValue }) as const;
      const { traceparent, tracestate } = correlation.trace?.headers ?? {};
      const optional = {
        detail,
        warnings,
        traceparent,
        tracestate,
        producer_message_id: correlation.producer_message_id,
      };
      const attributes: MessageAttributes = {
        reason: text(reason),
        cause: text(cause),
        ...Object.fromEntries(
          Object.entries(optional).flatMap(([name, value]) => (value === undefined ? [] : [[name, text(value)]])),
        ),
        ...numberAttribute('attempts', attemptCount),
        time: text(new Date(clock()).toISOString()),
      };
      // Attributes count toward the size limit, so the largest bodies are sent without them.
      const bytes = Buffer.byteLength(body) + Buffer.byteLength(messageGroupId ?? '') + attributeBytes(attributes);
      const fits = bytes <= MAX_BYTES;
      await sqs().send(
        new SendMessageCommand({
          QueueUrl: url,
          MessageBody: body,
          ...(messageGroupId !== undefined && fits && { MessageGroupId: messageGroupId }),
          ...(fits && { MessageAttributes: attributes }),
        }),
      );
    },

    /** The caller must also report the message as a batch item failure. */
    async changeVisibility(url: string, { receiptHandle }: SQSRecord, timeoutMs: number): Promise<void> {
      await sqs().send(
        new ChangeMessageVisibilityCommand({
          QueueUrl: url,
          ReceiptHandle: receiptHandle,
          VisibilityTimeout: Math.max(Math.ceil(timeoutMs / 1000), 0),
        }),
      );
    },
  };
};

export type Queues = ReturnType<typeof createQueues>;
