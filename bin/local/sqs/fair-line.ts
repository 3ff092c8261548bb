import type { HeldMessage } from './held-message.ts';

/** The visible messages of one message group, oldest first, and how many of the group are in flight. */
interface Group {
  waiting: HeldMessage[];
  /** Where the line begins: what lies before was taken. */
  head: number;
  inFlight: number;
}

const compactAt = 1024;

/**
 * The visible messages of a standard queue, in the order in which SQS fair queues hand them out: the group with the
 * fewest messages in flight goes first, so that one busy tenant does not hold up the others; among equals, the one that
 * was served longest ago. Messages without a group share one.
 */
export class FairLine {
  readonly #groups = new Map<string, Group>();

  /** Puts a message that became visible at the end of its group. */
  join(message: HeldMessage): void {
    this.#group(message).waiting.push(message);
  }

  /** Tells that `change` more (or less) messages of the group of `message` are in flight. */
  countInFlight(message: HeldMessage, change: number): void {
    if (change === 0) return;
    const group = this.#group(message);
    group.inFlight += change;
    if (group.inFlight === 0 && !skipTaken(group)) this.#groups.delete(message.groupId ?? '');
  }

  /** Takes the next message out of the line. */
  next(): HeldMessage | undefined {
    let fairest: [string, Group] | undefined;
    for (const entry of this.#groups) {
      if (skipTaken(entry[1]) && (!fairest || entry[1].inFlight < fairest[1].inFlight)) fairest = entry;
    }
    if (!fairest) return undefined;
    const [id, group] = fairest;
    const message = group.waiting[group.head];
    group.head += 1;
    this.#groups.delete(id);
    if (skipTaken(group) || group.inFlight > 0) this.#groups.set(id, group);
    return message;
  }

  #group({ groupId = '' }: HeldMessage): Group {
    const known = this.#groups.get(groupId);
    if (known) return known;
    const created: Group = { waiting: [], head: 0, inFlight: 0 };
    this.#groups.set(groupId, created);
    return created;
  }
}

/** Steps over messages that left while they waited (deleted or expired); tells whether one is left. */
function skipTaken(group: Group): boolean {
  while (group.head < group.waiting.length && group.waiting[group.head]?.state !== 'visible') group.head += 1;
  if (group.head >= compactAt && group.head * 2 >= group.waiting.length) {
    group.waiting.splice(0, group.head);
    group.head = 0;
  }
  return group.head < group.waiting.length;
}
