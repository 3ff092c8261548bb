import type { QueuedMessage } from './queued-message.ts';

/** The visible messages of one tenant (message group), oldest first, and how many of the tenant are in flight. */
interface Tenant {
  id: string;
  waiting: QueuedMessage[];
  /** Where the line begins: what lies before was taken. */
  head: number;
  inFlight: number;
}

const compactAt = 1024;

/**
 * The visible messages of a standard queue, in the order in which SQS fair queues hand them out: the tenant with the
 * fewest messages in flight goes first, so that one busy tenant does not hold up the others; among equals, the one that
 * has waited longest. A message group is a tenant, and so is each message without a group
 * (https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-fair-queues.html).
 */
export class FairScheduler {
  readonly #tenants = new Map<string, Tenant>();
  /** The tenants with a message that waits, by how many messages they have in flight. */
  readonly #levels = new Map<number, Set<Tenant>>();

  /** Puts a message that became visible at the end of its tenant's line. */
  join(message: QueuedMessage): void {
    const tenant = this.#tenant(message);
    tenant.waiting.push(message);
    this.#level(tenant.inFlight).add(tenant);
  }

  /** Tells that `change` more (or less) messages of the tenant of `message` are in flight. */
  countInFlight(message: QueuedMessage, change: number): void {
    if (change === 0) return;
    const tenant = this.#tenant(message);
    this.#leave(tenant);
    tenant.inFlight += change;
    if (skipTaken(tenant)) this.#level(tenant.inFlight).add(tenant);
    else if (tenant.inFlight === 0) this.#tenants.delete(tenant.id);
  }

  /** Takes the next message out of the line. */
  next(): QueuedMessage | undefined {
    for (let tenant = this.#fairest(); tenant; tenant = this.#fairest()) {
      this.#leave(tenant);
      const message = skipTaken(tenant) ? tenant.waiting[tenant.head] : undefined;
      if (message) tenant.head += 1;
      if (skipTaken(tenant)) this.#level(tenant.inFlight).add(tenant);
      else if (tenant.inFlight === 0) this.#tenants.delete(tenant.id);
      if (message) return message;
    }
    return undefined;
  }

  #fairest(): Tenant | undefined {
    let fewest: number | undefined;
    for (const inFlight of this.#levels.keys()) {
      if (fewest === undefined || inFlight < fewest) fewest = inFlight;
    }
    const [first] = fewest === undefined ? [] : this.#level(fewest);
    return first;
  }

  #leave(tenant: Tenant): void {
    const level = this.#levels.get(tenant.inFlight);
    level?.delete(tenant);
    if (level?.size === 0) this.#levels.delete(tenant.inFlight);
  }

  #level(inFlight: number): Set<Tenant> {
    const known = this.#levels.get(inFlight);
    if (known) return known;
    const created = new Set<Tenant>();
    this.#levels.set(inFlight, created);
    return created;
  }

  #tenant(message: QueuedMessage): Tenant {
    const id = idOf(message);
    const known = this.#tenants.get(id);
    if (known) return known;
    const created: Tenant = { id, waiting: [], head: 0, inFlight: 0 };
    this.#tenants.set(id, created);
    return created;
  }
}

function idOf({ id, groupId }: QueuedMessage): string {
  return groupId === undefined ? `message ${id}` : `group ${groupId}`;
}

/** Steps over messages that left while they waited (deleted or expired); tells whether one is left. */
function skipTaken(tenant: Tenant): boolean {
  while (tenant.head < tenant.waiting.length && tenant.waiting[tenant.head]?.state !== 'visible') tenant.head += 1;
  if (tenant.head >= compactAt && tenant.head * 2 >= tenant.waiting.length) {
    tenant.waiting.splice(0, tenant.head);
    tenant.head = 0;
  }
  return tenant.head < tenant.waiting.length;
}
