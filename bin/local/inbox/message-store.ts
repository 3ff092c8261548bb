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

/** Returns the recipients of a message as users know them: addresses, phone numbers, topics, or paths of the inbox. */
export const recipients = (message: SentMessage): string[] => {
  if (message.kind === 'email') return message.to;
  if (message.kind === 'sms') return [message.to];
  return [message.kind === 'managed' ? message.topic : message.path];
};

/**
 * Returns whether a message matches the query parameters `kind`, `to` (one of its recipients) and `q` (words that it
 * contains, in any case). A parameter that is missing matches every message.
 */
export const messageFilter = (parameters: URLSearchParams): ((message: InboxMessage) => boolean) => {
  const kind = parameters.get('kind');
  const to = parameters.get('to');
  const words = (parameters.get('q') ?? '').split(/\s+/).filter((word) => word !== '');
  // Patterns search without a copy of the message in lower case.
  const patterns = words.map((word) => new RegExp(RegExp.escape(word), 'iu'));
  return (message) =>
    (kind === null || message.kind === kind) &&
    (to === null || recipients(message).includes(to)) &&
    patterns.every((pattern) => searchableTexts(message).some((text) => pattern.test(text)));
};

const searchableTexts = (message: InboxMessage): string[] => {
  const common = [message.kind, ...recipients(message)];
  switch (message.kind) {
    case 'email':
      return [...common, message.from, message.subject, message.text, message.html];
    case 'sms':
      return [...common, message.text];
    case 'managed':
      return [...common, message.subject ?? '', message.text];
    case 'webhook':
      return [...common, message.body, ...message.problems, ...Object.entries(message.headers).flat()];
    default:
      return [...common, message.body];
  }
};
