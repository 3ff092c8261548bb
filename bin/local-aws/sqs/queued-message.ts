import { createHash } from 'node:crypto';
import type { Cancel } from '../clock.ts';

/** A message attribute of type `String` or `Number`. */
export type MessageAttribute = {
  dataType: string;
  value: string;
};

/** A message to send. */
export type NewMessage = {
  body: string;
  attributes: ReadonlyMap<string, MessageAttribute>;
  /** `MessageGroupId`; on a standard queue, the tenant of a fair queue. */
  groupId?: string | undefined;
  /** The principal of the call. */
  senderId: string;
};

/** A message in a queue. */
export type QueuedMessage = NewMessage & {
  readonly id: string;
  /** Milliseconds since the epoch. */
  readonly sentAtMs: number;
  /** When the message arrived in this queue, in ms since the epoch: for a dead letter, when SQS moved it. */
  arrivedAtMs: number;
  /** The value of `receiveCount` when the message arrived in this queue. */
  receiveCountAtArrival: number;
  /** Milliseconds since the epoch. */
  firstReceivedAtMs?: number;
  receiveCount: number;
  /** For a dead letter: the ARN of its source queue. */
  deadLetterQueueSourceArn?: string;
  /** Set while an invocation processes the message; `isOverdue` once its visibility timeout has expired. */
  invocation?: { isOverdue: boolean } | undefined;
  state: 'delayed' | 'visible' | 'inFlight' | 'removed';
  /** When a message that is delayed or in flight becomes visible, in ms since the epoch. */
  visibleAtMs?: number;
  cancelDue?: Cancel;
  cancelExpiry?: Cancel;
};

/** A received message and the handle of this receive. */
export type Receipt = {
  message: QueuedMessage;
  handle: string;
};

/** The maximum size of a message with its attributes, and of a batch in total, in bytes. */
export const MAX_MESSAGE_BYTES = 1_048_576;

const OUTSIDE_XML = /[^\t\n\r\u0020-\uD7FF\uE000-\uFFFD\u{10000}-\u{10FFFF}]/u;

/** Returns whether SQS accepts the text: all characters must be valid in XML 1.0. */
export const isValidContent = (text: string): boolean => !OUTSIDE_XML.test(text);

/** Returns the size that SQS counts: the body and the name, type and value of each attribute, in UTF-8 bytes. */
export const messageBytes = (message: Pick<NewMessage, 'body' | 'attributes'>): number => {
  let total = Buffer.byteLength(message.body);
  for (const [name, { dataType, value }] of message.attributes) {
    total += Buffer.byteLength(name) + Buffer.byteLength(dataType) + Buffer.byteLength(value);
  }
  return total;
};

/** Returns `MD5OfMessageBody`. */
export const bodyDigest = (body: string): string => createHash('md5').update(body).digest('hex');
