import type { Message } from '@aws-sdk/client-sqs';
import { deadLetter } from '../dead-letter.ts';
import { type DeadLetterQueueName, deadLetterQueueNames, deadLetterUrl } from '../deployment.ts';
import { filterMessages } from '../queues.ts';
import type { Session } from '../session.ts';

/** Returns the number of messages of a tenant by queue. */
export type DeadLetterCounts = Partial<Record<DeadLetterQueueName, number>>;

/**
 * Visits every dead letter and crashed message of a tenant, and deletes those that `visit` returns true for. Messages
 * of other tenants stay, hidden during the pass (`filterMessages`). A message belongs to the tenant in its body, or if
 * that is not readable, to its message group.
 */
export const filterDeadLettersOf = async (
  { sqs, deployment }: Session,
  tenant: string,
  visit: (queue: DeadLetterQueueName, message: Message) => Promise<boolean>,
): Promise<DeadLetterCounts> => {
  const counts: DeadLetterCounts = {};
  await Promise.all(
    deadLetterQueueNames.map(async (name) => {
      await filterMessages(sqs, deadLetterUrl(deployment.outputs, name), async (message) => {
        if (deadLetter(message).tenant !== tenant) return false;
        counts[name] = (counts[name] ?? 0) + 1;
        return visit(name, message);
      });
    }),
  );
  return counts;
};
