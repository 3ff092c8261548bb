import type { QueuedMessage } from './queued-message.ts';

/** The visible messages of a tenant, oldest first, and its number of messages in flight. */
type Tenant = {
  waiting: Set<QueuedMessage>;
  inFlight: number;
};

/**
 * Orders the visible messages of a standard queue as an SQS fair queue does: the tenant with the fewest messages in
 * flight is next, so a busy tenant does not delay the others; tenants with equal counts take turns. A message group is
 * a tenant, and so is each message without a group
 * (https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-fair-queues.html).
 */
export class FairScheduler {
  /** The tenants in the order of their turns. */
  readonly #tenants = new Map<string, Tenant>();

  /** Adds a message that became visible. */
  add(message: QueuedMessage): void {
    this.#change(message, ({ waiting }) => waiting.add(message));
  }

  /** Removes a message that is no longer visible. */
  remove(message: QueuedMessage): void {
    this.#change(message, ({ waiting }) => waiting.delete(message));
  }

  /** Adds `change` to the number of messages in flight of the message's tenant. */
  countInFlight(message: QueuedMessage, change: number): void {
    this.#change(message, (tenant) => {
      tenant.inFlight += change;
    });
  }

  /** Removes and returns the next message, or returns undefined if none is visible. */
  next(): QueuedMessage | undefined {
    let first: [id: string, tenant: Tenant] | undefined;
    for (const [id, tenant] of this.#tenants) {
      if (tenant.waiting.size > 0 && tenant.inFlight < (first?.[1].inFlight ?? Number.POSITIVE_INFINITY)) {
        first = [id, tenant];
        if (tenant.inFlight === 0) break;
      }
    }
    if (!first) return undefined;
    const [id, tenant] = first;
    const [message] = tenant.waiting;
    if (message) this.remove(message);
    // The turn of the tenant is over.
    if (this.#tenants.delete(id)) this.#tenants.set(id, tenant);
    return message;
  }

  #change({ id, groupId }: QueuedMessage, change: (tenant: Tenant) => void): void {
    const tenantId = groupId === undefined ? `message ${id}` : `group ${groupId}`;
    const tenant = this.#tenants.get(tenantId) ?? { waiting: new Set(), inFlight: 0 };
    change(tenant);
    if (tenant.waiting.size > 0 || tenant.inFlight > 0) this.#tenants.set(tenantId, tenant);
    else this.#tenants.delete(tenantId);
  }
}
