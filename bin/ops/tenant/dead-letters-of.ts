import type { Message } from '@aws-sdk/client-sqs';
import { deadLetter } from '../dead-letter.ts';
import { CRASHED, type QueueName, queueNames } from '../deployment.ts';
import { filterMessages } from '../queues.ts';
import type { Session } from '../session.ts';

/** A queue whose messages no function consumes: a dead-letter queue, or the crashed queue. */
export type IdleQueueName = QueueName | typeof CRASHED;
const idleQueueNames: readonly IdleQueueName[] = [...queueNames, CRASHED];

/** Returns the number of messages of a tenant by queue. */
export type DeadLetterCounts = Partial<Record<IdleQueueName, number>>;

/**
 * Visits every dead letter and crashed message of a tenant, and deletes those that `visit` returns true for. Messages
 * of other tenants stay, hidden during the pass (`filterMessages`). A message belongs to the tenant in its body, or if
 * that is not readable, to its message group.
 */
export const filterDeadLettersOf = async (
  { sqs, deployment }: Session,
  tenant: string,
  visit: (queue: IdleQueueName, message: Message) => Promise<boolean>,
): Promise<DeadLetterCounts> => {
  const { QueueUrls } = deployment.outputs;
  const counts: DeadLetterCounts = {};
  await Promise.all(
    idleQueueNames.map(async (name) => {
      const url = name === CRASHED ? QueueUrls[name].queue : QueueUrls[name].deadLetters;
      await filterMessages(sqs, url, async (message) => {
        if (deadLetter(message).tenant !== tenant) return false;
        counts[name] = (counts[name] ?? 0) + 1;
        return visit(name, message);
      });
    }),
  );
  return counts;
};
