import { deadLetter } from '../dead-letter.ts';
import { type DeadLetterQueueName, deadLetterQueueNames, deadLetterUrl } from '../deployment.ts';
import { type Visited, visitMessages } from '../queues.ts';
import type { Session } from '../session.ts';

/** Returns the number of messages of a tenant by queue. */
export type DeadLetterCounts = Partial<Record<DeadLetterQueueName, number>>;

/** What to do with the messages of a tenant, and a function that deletes some of them. */
type Visit = (queue: DeadLetterQueueName, visited: Visited) => Promise<void>;

/**
 * Visits every dead letter and crashed message of a tenant. Messages of other tenants are hidden meanwhile
 * (`visitMessages`). A message belongs to the tenant in its body, or if that is not readable, to its message group.
 */
export const visitDeadLettersOf = async (
  { sqs, deployment }: Session,
  tenant: string,
  visit: Visit,
): Promise<DeadLetterCounts> => {
  const counts: DeadLetterCounts = {};
  await Promise.all(
    deadLetterQueueNames.map(async (name) => {
      for await (const { messages, remove } of visitMessages(sqs, deadLetterUrl(deployment.outputs, name))) {
        const own = messages.filter((message) => deadLetter(message).tenant_id === tenant);
        if (own.length === 0) continue;
        counts[name] = (counts[name] ?? 0) + own.length;
        await visit(name, { messages: own, remove });
      }
    }),
  );
  return counts;
};
