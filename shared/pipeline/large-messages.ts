import { setImmediate as nextTurn } from 'node:timers/promises';
import type { SQSRecord } from 'aws-lambda';
import { errorTrace, logger } from '../adapters/logger.ts';
import type { Queues } from '../adapters/queues.ts';

/** A batch of smaller messages takes less than half a second to parse on the smallest function. */
const MAX_SMALL_CHARACTERS = 64 * 1_024;

/** How long a message that was not parsed stays invisible. */
const DEFERRED_MS = 2_000;

const sentAtMs = ({ attributes }: SQSRecord): number => Number(attributes.SentTimestamp);

/**
 * Splits a batch: large messages can take a second each to parse, during which no other message proceeds, so they are
 * parsed after the others. The large ones are sorted, oldest first, so that each of them is parsed sooner or later.
 */
export const splitBySize = (messages: readonly SQSRecord[]): { small: SQSRecord[]; large: SQSRecord[] } => {
  const isSmall = ({ body }: SQSRecord): boolean => body.length <= MAX_SMALL_CHARACTERS;
  return {
    small: messages.filter(isSmall),
    large: messages
      .filter((message) => !isSmall(message))
      .toSorted((first, second) => sentAtMs(first) - sentAtMs(second)),
  };
};

/**
 * Parses large messages one by one while there is time. Other work of the invocation proceeds in between.
 *
 * @returns the parsed messages, and those for which no time was left
 */
export const parseLarge = async <Parsed>(
  messages: readonly SQSRecord[],
  parse: (message: SQSRecord) => Parsed,
  hasTime: () => boolean,
): Promise<{ parsed: Parsed[]; deferred: SQSRecord[] }> => {
  const parsed: Parsed[] = [];
  for (const message of messages) {
    await nextTurn();
    if (!hasTime()) break;
    parsed.push(parse(message));
  }
  return { parsed, deferred: messages.slice(parsed.length) };
};

/**
 * Returns a message that was not parsed to its queue. It counts as neither an attempt nor an internal error; SQS counts
 * the receive. Never rejects: if the visibility timeout cannot be changed, the message returns when its current timeout
 * ends. The caller must also report the message as a batch item failure.
 */
export const returnDeferred = async (
  queues: Pick<Queues, 'changeVisibility'>,
  queueUrl: string,
  message: SQSRecord,
): Promise<void> => {
  const ids = { message_id: message.messageId, tenant_id: message.attributes.MessageGroupId };
  logger.warn('large message deferred', ids);
  await queues
    .changeVisibility(queueUrl, message, DEFERRED_MS)
    .catch((error: unknown) => logger.error('visibility change failed', { ...ids, ...errorTrace(error) }));
};
