import { useEffect, useState } from 'preact/hooks';
import {
  type InboxUpdates,
  MAX_MESSAGES,
  type MessageSummary,
  type StackAddresses,
  type WebhookAddress,
} from '../message.ts';

/** What the page knows of the inbox. */
export type InboxState = {
  /** Whether updates arrive. Undefined until the first connection. */
  isConnected: boolean | undefined;
  /** The messages that match the search, newest first. */
  messages: readonly MessageSummary[];
  webhooks: readonly WebhookAddress[];
  stack: StackAddresses | undefined;
  /** The search of these messages. */
  query: string;
};

/** Keeps the messages that match a search up to date. After a lost connection, it reconnects. */
export const useUpdates = (query: string): InboxState => {
  const [state, setState] = useState<InboxState>({
    isConnected: undefined,
    messages: [],
    webhooks: [],
    stack: undefined,
    query,
  });
  useEffect(() => {
    const source = new EventSource(`/updates?${new URLSearchParams({ q: query })}`);
    const on = <Name extends keyof InboxUpdates>(
      name: Name,
      change: (state: InboxState, data: InboxUpdates[Name]) => InboxState,
    ) => {
      source.addEventListener(name, ({ data }: MessageEvent<string>) =>
        setState((previous) => change(previous, JSON.parse(data))),
      );
    };
    on('snapshot', (previous, messages) => ({ ...previous, isConnected: true, messages, query }));
    on('added', (previous, added) => ({
      ...previous,
      messages: [...added, ...previous.messages].slice(0, MAX_MESSAGES),
    }));
    on('webhooks', (previous, webhooks) => ({ ...previous, webhooks }));
    on('stack', (previous, stack) => ({ ...previous, stack }));
    source.addEventListener('error', () => setState((previous) => ({ ...previous, isConnected: false })));
    return () => source.close();
  }, [query]);
  return state;
};
