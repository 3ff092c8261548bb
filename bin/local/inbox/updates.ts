import type { ServerResponse } from 'node:http';
import type { InboxMessage, InboxUpdates } from './message.ts';
import type { MessageStore } from './message-store.ts';
import { messageSummary } from './message-summary.ts';

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
