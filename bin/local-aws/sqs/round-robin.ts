import type { QueuedMessage } from './queued-message.ts';

/**
 * The visible messages of a standard queue, in the order of their delivery: message groups take turns, so a busy tenant
 * does not delay the others. A message without a group is a tenant of its own. SQS also prefers tenants with few messages
 * in flight (https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-fair-queues.html).
 */
export class RoundRobin {
  /** The messages of each tenant, oldest first; the tenants in the order of their turns. */
  readonly #tenants = new Map<string, Set<QueuedMessage>>();

  /** Adds a message that became visible. */
  add(message: QueuedMessage): void {
    const tenant = tenantOf(message);
    this.#tenants.set(tenant, (this.#tenants.get(tenant) ?? new Set()).add(message));
  }

  /** Removes a message that is no longer visible. */
  remove(message: QueuedMessage): void {
    const tenant = tenantOf(message);
    const messages = this.#tenants.get(tenant);
    messages?.delete(message);
    if (messages?.size === 0) this.#tenants.delete(tenant);
  }

  /** Removes and returns the next message, or returns undefined if none is visible. */
  next(): QueuedMessage | undefined {
    const [[tenant, messages] = []] = this.#tenants;
    const [message] = messages ?? [];
    if (tenant === undefined || !messages || !message) return undefined;
    this.#tenants.delete(tenant);
    messages.delete(message);
    if (messages.size > 0) this.#tenants.set(tenant, messages);
    return message;
  }
}

const tenantOf = ({ id, groupId }: QueuedMessage): string =>
  groupId === undefined ? `message ${id}` : `group ${groupId}`;
