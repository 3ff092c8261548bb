import { useEffect, useRef, useState } from 'preact/hooks';
import type { MessageSummary } from '../message.ts';

/** Messages that arrive within this time are announced together. */
const ANNOUNCE_DELAY_MS = 1000;

/** Tells screen readers how many messages have arrived. */
export const NewMessages = ({ messages }: { messages: readonly MessageSummary[] }) => {
  const announcedId = useRef<number | undefined>(undefined);
  const [text, setText] = useState('');
  useEffect(() => {
    const newestId = messages[0]?.id ?? 0;
    if (announcedId.current === undefined) {
      announcedId.current = newestId;
      return undefined;
    }
    const timer = setTimeout(() => {
      const count = messages.filter(({ id }) => id > (announcedId.current ?? 0)).length;
      announcedId.current = Math.max(newestId, announcedId.current ?? 0);
      if (count > 0) setText(`${count} new ${count === 1 ? 'message' : 'messages'}: ${messages[0]?.title}`);
    }, ANNOUNCE_DELAY_MS);
    return () => clearTimeout(timer);
  }, [messages]);
  return (
    <p class="visually-hidden" role="status">
      {text}
    </p>
  );
};
