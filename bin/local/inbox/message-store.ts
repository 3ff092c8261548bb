import { EventEmitter } from 'node:events';
import { type InboxMessage, MAX_MESSAGES, type SentMessage } from './message.ts';

/**
 * The most recent messages, at most `MAX_MESSAGES`. Emits `change` after messages were added or removed, or when a
 * webhook address responds differently.
 */
export class MessageStore extends EventEmitter<{ change: [] }> {
  #messages: InboxMessage[] = [];
  #lastId = 0;
  #removals = 0;

  /** Changes when messages are removed on request, but not when new messages displace old ones. */
  get removals(): number {
    return this.#removals;
  }

  add(message: SentMessage): void {
    this.#lastId += 1;
    this.#messages.push({ ...message, id: this.#lastId, sent_at: new Date().toISOString() });
    if (this.#messages.length >= MAX_MESSAGES * 2) this.#messages = this.#messages.slice(-MAX_MESSAGES);
    this.emit('change');
  }

  /** Returns the messages with a number greater than `afterId`, newest first. */
  list(afterId = 0): InboxMessage[] {
    const newest = this.#messages.slice(-MAX_MESSAGES);
    const start = newest.findLastIndex(({ id }) => id <= afterId) + 1;
    return newest.slice(start).reverse();
  }

  find(id: number): InboxMessage | undefined {
    return this.#messages.find((message) => message.id === id);
  }

  remove(matches: (message: InboxMessage) => boolean): void {
    this.#messages = this.#messages.filter((message) => !matches(message));
    this.#removals += 1;
    this.emit('change');
  }
}
