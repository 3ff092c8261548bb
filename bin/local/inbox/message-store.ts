import { EventEmitter } from 'node:events';
import type { ServerResponse } from 'node:http';
import { unescape as unescapeXml } from 'html-escaper';
import { z } from 'zod';
import { alarmEvent } from '../../../shared/contracts/alarm-event.ts';
import type { EventHeader } from '../../../shared/contracts/event-header.ts';
import { jsonOrUndefined } from '../../../shared/contracts/json.ts';
import { headline, oneLine, truncate } from '../../../shared/domain/alert-text.ts';
import { eventHeader } from '../../../shared/domain/event-header.ts';
import {
  type InboxMessage,
  type InboxUpdates,
  MAX_MESSAGES,
  type MessageSummary,
  type SentMessage,
} from './message.ts';

/** Changes within this time are sent together, so that a burst of messages does not flood the page. */
const COALESCE_MS = 50;

/** How soon a browser reconnects after the connection was lost. */
const RECONNECT_MS = 1000;

/** What the stream contains besides the messages. */
type State = () => Pick<InboxUpdates, 'webhooks' | 'stack'> | Pick<InboxUpdates, 'webhooks'>;

/**
 * Streams the messages that match as server-sent events: first a snapshot, then each change. A client that reconnects
 * gets a new snapshot, so that it misses nothing. A slow client gets several changes at once instead of a backlog.
 */
export const streamUpdates = (
  response: ServerResponse,
  store: MessageStore,
  matches: (message: InboxMessage) => boolean,
  state: State,
): void => {
  let lastId = 0;
  let removals: number | undefined;
  let sentState = '';
  let timer: NodeJS.Timeout | undefined;

  const send = <Name extends keyof InboxUpdates>(name: Name, data: InboxUpdates[Name]): void => {
    response.write(`event: ${name}\ndata: ${JSON.stringify(data)}\n\n`);
  };
  const sendState = (): void => {
    const current = state();
    const serialized = JSON.stringify(current);
    if (serialized === sentState) return;
    sentState = serialized;
    if ('stack' in current) send('stack', current.stack);
    send('webhooks', current.webhooks);
  };
  const sendMessages = (): void => {
    const isSnapshot = removals !== store.removals;
    const messages = store.list(isSnapshot ? 0 : lastId);
    removals = store.removals;
    lastId = messages[0]?.id ?? lastId;
    const summaries = messages.filter(matches).map(messageSummary);
    if (isSnapshot) send('snapshot', summaries);
    else if (summaries.length > 0) send('added', summaries);
  };
  const flush = (): void => {
    timer = undefined;
    // It flushes again when the client has read the rest.
    if (response.writableNeedDrain) return;
    sendState();
    sendMessages();
  };
  const schedule = (): void => {
    timer ??= setTimeout(flush, COALESCE_MS);
  };

  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' });
  response.write(`retry: ${RECONNECT_MS}\n\n`);
  store.on('change', schedule);
  response.on('drain', schedule);
  response.once('close', () => {
    clearTimeout(timer);
    store.off('change', schedule);
  });
  flush();
};

/**
 * The most recent messages, at most `MAX_MESSAGES`. Emits `change` for messages and for responses of webhook
 * addresses.
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

const MAX_TITLE_LENGTH = 200;
const MAX_PREVIEW_LENGTH = 160;
/** The text that is read for a title or preview: a body can have megabytes. */
const MAX_SOURCE_LENGTH = 2_000;

/** Returns what a list shows of a message. Bodies of an unexpected form have their path as title. */
export const messageSummary = (message: InboxMessage): MessageSummary => {
  const cached = summaries.get(message);
  if (cached) return cached;
  const { title, preview } = describe(message);
  const summary: MessageSummary = {
    id: message.id,
    kind: message.kind,
    sent_at: message.sent_at,
    to: recipients(message),
    title: shorten(title, MAX_TITLE_LENGTH),
    preview: shorten(preview, MAX_PREVIEW_LENGTH),
    ...(message.kind === 'webhook' && { verified: message.verified, responded: message.responded }),
  };
  summaries.set(message, summary);
  return summary;
};

const summaries = new WeakMap<InboxMessage, MessageSummary>();

const shorten = (text: string, maxLength: number): string =>
  truncate(oneLine(text.slice(0, MAX_SOURCE_LENGTH)), maxLength);

type Description = { title: string; preview: string };

const describe = (message: SentMessage): Description => {
  switch (message.kind) {
    case 'email':
      return { title: message.subject, preview: withoutPrefix(message.text || message.html, message.subject) };
    case 'sms':
      return { title: message.text, preview: '' };
    case 'managed':
      return { title: message.subject ?? message.text, preview: withoutPrefix(message.text, message.subject ?? '') };
    case 'incidentpager':
      return pagerDescription(message.body) ?? requestDescription(message);
    case 'atomfeed':
      return feedDescription(message.body) ?? requestDescription(message);
    default:
      return alertDescription(message.body) ?? requestDescription(message);
  }
};

/** A text often repeats the subject in its first line. */
const withoutPrefix = (text: string, prefix: string): string =>
  text.startsWith(prefix) ? text.slice(prefix.length) : text;

const requestDescription = ({ path, body }: { path: string; body: string }): Description => ({
  title: `POST ${path}`,
  preview: body,
});

const headerOf = (value: unknown): EventHeader | undefined => {
  const { data: event } = alarmEvent.safeParse(value);
  return event && eventHeader(event, Date.now());
};

const alertDescription = (body: string): Description | undefined => {
  const header = headerOf(jsonOrUndefined(body));
  return header && { title: headline(header), preview: header.status ?? header.event_id };
};

const pagerEvent = z.object({
  event_type: z.string(),
  incident_key: z.string().default(''),
  description: z.string().optional(),
  details: z.unknown(),
});

/** An event of PagerDuty Events API v2, as one of v1. */
const pagerEventV2 = z
  .object({
    event_action: z.string(),
    dedup_key: z.string().default(''),
    payload: z.object({ summary: z.string().optional(), custom_details: z.unknown() }).optional(),
  })
  .transform(({ event_action, dedup_key, payload }) => ({
    event_type: event_action,
    incident_key: dedup_key,
    description: payload?.summary,
    details: payload?.custom_details,
  }));

const pagerDescription = (body: string): Description | undefined => {
  const { data: event } = pagerEvent.or(pagerEventV2).safeParse(jsonOrUndefined(body));
  if (!event) return undefined;
  const alert = headerOf(event.details);
  const title = alert ? headline(alert) : (event.description ?? event.event_type);
  return { title, preview: `${event.event_type} ${event.incident_key}` };
};

const feedDescription = (body: string): Description | undefined => {
  const source = body.slice(0, MAX_SOURCE_LENGTH);
  const title = /<title[^>]*>([^<]*)<\/title>/.exec(source)?.[1];
  const updated = /<updated>([^<]*)<\/updated>/.exec(source)?.[1] ?? '';
  return title === undefined ? undefined : { title: unescapeXml(title), preview: `Atom entry, updated ${updated}` };
};
