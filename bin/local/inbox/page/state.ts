import { useCallback, useEffect, useState } from 'preact/hooks';
import {
  type InboxMessage,
  type InboxUpdates,
  MAX_MESSAGES,
  type MessageSummary,
  type StackAddresses,
  type WebhookAddress,
} from '../message.ts';

export type InboxState = {
  /** Whether updates arrive. Undefined until the first connection. */
  isConnected: boolean | undefined;
  messages: readonly MessageSummary[];
  webhooks: readonly WebhookAddress[];
  stack: StackAddresses | undefined;
  query: string;
};

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

/** What the page shows. Its address contains it, so that reloading and the back button work. */
export type View = {
  kind: string;
  to: string;
  q: string;
  id: number | undefined;
};

const readView = (): View => {
  const parameters = new URLSearchParams(location.search);
  const id = Number(parameters.get('id') ?? Number.NaN);
  return {
    kind: parameters.get('kind') ?? '',
    to: parameters.get('to') ?? '',
    q: parameters.get('q') ?? '',
    id: Number.isInteger(id) ? id : undefined,
  };
};

const viewAddress = ({ kind, to, q, id }: View): string => {
  const parameters = new URLSearchParams({
    ...(kind && { kind }),
    ...(to && { to }),
    ...(q && { q }),
    ...(id !== undefined && { id: String(id) }),
  });
  return parameters.size === 0 ? '/' : `/?${parameters}`;
};

/** The view, and a function that changes parts of it. Opening a message adds an entry to the history. */
export const useView = (): [View, (changes: Partial<View>) => void] => {
  const [view, setView] = useState(readView);
  useEffect(() => {
    const onPopState = () => setView(readView());
    addEventListener('popstate', onPopState);
    return () => removeEventListener('popstate', onPopState);
  }, []);
  const change = useCallback((changes: Partial<View>) => {
    const previous = readView();
    const next = { ...previous, ...changes };
    const isOpening = previous.id === undefined && next.id !== undefined;
    history[isOpening ? 'pushState' : 'replaceState'](null, '', viewAddress(next));
    setView(next);
  }, []);
  return [view, change];
};

export type LoadedMessage = InboxMessage | 'loading' | 'missing';

/** Loads a message. Keeps the previous one until the next one has arrived. */
export const useMessage = (id: number | undefined): LoadedMessage | undefined => {
  const [loaded, setLoaded] = useState<LoadedMessage>('loading');
  useEffect(() => {
    if (id === undefined) return undefined;
    const controller = new AbortController();
    fetchMessage(id, controller.signal)
      .catch(() => 'missing' as const)
      .then((message) => {
        if (!controller.signal.aborted) setLoaded(message);
      });
    return () => controller.abort();
  }, [id]);
  return id === undefined ? undefined : loaded;
};

const fetchMessage = async (id: number, signal: AbortSignal): Promise<InboxMessage | 'missing'> => {
  const response = await fetch(`/messages/${id}`, { signal });
  return response.ok ? response.json() : 'missing';
};
