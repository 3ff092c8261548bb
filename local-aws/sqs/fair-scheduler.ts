import type { QueuedMessage } from './queued-message.ts';

/** The visible messages of a tenant, oldest first, and its number of messages in flight. */
type Tenant = {
  id: string;
  waiting: QueuedMessage[];
  /** The index of the first message in `waiting` that may still be visible. */
  head: number;
  inFlight: number;
};

const COMPACT_AT = 1024;

/**
 * Orders the visible messages of a standard queue as an SQS fair queue does: the tenant with the fewest messages in
 * flight is next, so a busy tenant does not delay the others; tenants with equal counts take turns. A message group is
 * a tenant, and so is each message without a group
 * (https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-fair-queues.html).
 */
export class FairScheduler {
  readonly #tenants = new Map<string, Tenant>();
  /** The tenants with waiting messages, by their number of messages in flight. */
  readonly #tenantsByInFlight = new Map<number, Set<Tenant>>();

  /** Adds a message that became visible. */
  add(message: QueuedMessage): void {
    const tenant = this.#tenant(message);
    tenant.waiting.push(message);
    this.#tenantsWith(tenant.inFlight).add(tenant);
  }

  /** Adds `change` to the number of messages in flight of the message's tenant. */
  countInFlight(message: QueuedMessage, change: number): void {
    if (change === 0) return;
    const tenant = this.#tenant(message);
    this.#unschedule(tenant);
    tenant.inFlight += change;
    this.#schedule(tenant);
  }

  /** Removes and returns the next message, or returns undefined if none is visible. */
  next(): QueuedMessage | undefined {
    for (let tenant = this.#nextTenant(); tenant; tenant = this.#nextTenant()) {
      this.#unschedule(tenant);
      const message = skipRemoved(tenant) ? tenant.waiting[tenant.head] : undefined;
      if (message) tenant.head += 1;
      this.#schedule(tenant);
      if (message) return message;
    }
    return undefined;
  }

  #nextTenant(): Tenant | undefined {
    let fewest: number | undefined;
    for (const inFlight of this.#tenantsByInFlight.keys()) {
      if (fewest === undefined || inFlight < fewest) fewest = inFlight;
    }
    const [first] = fewest === undefined ? [] : this.#tenantsWith(fewest);
    return first;
  }

  #schedule(tenant: Tenant): void {
    if (skipRemoved(tenant)) this.#tenantsWith(tenant.inFlight).add(tenant);
    else if (tenant.inFlight === 0) this.#tenants.delete(tenant.id);
  }

  #unschedule(tenant: Tenant): void {
    const tenants = this.#tenantsByInFlight.get(tenant.inFlight);
    tenants?.delete(tenant);
    if (tenants?.size === 0) this.#tenantsByInFlight.delete(tenant.inFlight);
  }

  #tenantsWith(inFlight: number): Set<Tenant> {
    const existing = this.#tenantsByInFlight.get(inFlight);
    if (existing) return existing;
    const created = new Set<Tenant>();
    this.#tenantsByInFlight.set(inFlight, created);
    return created;
  }

  #tenant(message: QueuedMessage): Tenant {
    const id = tenantId(message);
    const existing = this.#tenants.get(id);
    if (existing) return existing;
    const created: Tenant = { id, waiting: [], head: 0, inFlight: 0 };
    this.#tenants.set(id, created);
    return created;
  }
}

const tenantId = ({ id, groupId }: QueuedMessage): string =>
  groupId === undefined ? `message ${id}` : `group ${groupId}`;

/** Skips messages that were deleted or expired while they waited. Returns whether a visible message remains. */
const skipRemoved = (tenant: Tenant): boolean => {
  while (tenant.head < tenant.waiting.length && tenant.waiting[tenant.head]?.state !== 'visible') tenant.head += 1;
  if (tenant.head >= COMPACT_AT && tenant.head * 2 >= tenant.waiting.length) {
    tenant.waiting.splice(0, tenant.head);
    tenant.head = 0;
  }
  return tenant.head < tenant.waiting.length;
};
