import { useEffect, useState } from 'preact/hooks';
import type { InboxMessage } from '../message.ts';

/** A message that was requested. It is `missing` if it was deleted or displaced. */
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
