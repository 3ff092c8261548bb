import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { MessageSummary } from '../message.ts';
import { kindNames } from './kinds.ts';
import { shortTime } from './time.ts';

/** The height of a row in px, as in style.css. A fixed height permits rendering only the visible rows. */
const ROW_PX = 76;
/** Rows rendered above and below the visible ones, so that scrolling shows no gap. */
const MARGIN_ROWS = 8;

type Props = {
  messages: readonly MessageSummary[];
  selectedId: number | undefined;
  onSelect: (id: number) => void;
  /** Called when the user wants to read the selected message (Enter). */
  onOpen: () => void;
  onSearch: () => void;
};

/**
 * The messages as an ARIA listbox with the keyboard operation of an email client. The focus stays on the list, so that
 * rows can come and go. New messages above the visible rows do not move them.
 */
export const MessageList = ({ messages, selectedId, onSelect, onOpen, onSearch }: Props) => {
  const list = useRef<HTMLDivElement>(null);
  const { firstRow, visibleRows, topId, onScroll } = useWindow(list, messages);
  const selected = messages.findIndex(({ id }) => id === selectedId);

  useEffect(() => {
    if (list.current && selected >= 0) scrollToRow(list.current, selected);
    // Only a new selection scrolls, not a new position of the selected row.
  }, [selectedId]);

  const select = (index: number) => {
    const message = messages[Math.min(Math.max(index, 0), messages.length - 1)];
    if (message) onSelect(message.id);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const actions: Record<string, () => void> = {
      ArrowDown: () => select(selected + 1),
      j: () => select(selected + 1),
      ArrowUp: () => select(selected - 1),
      k: () => select(selected - 1),
      PageDown: () => select(selected + visibleRows),
      PageUp: () => select(selected - visibleRows),
      Home: () => select(0),
      End: () => select(messages.length - 1),
      Enter: () => (selected < 0 ? select(0) : onOpen()),
      '/': onSearch,
    };
    const action = actions[event.key];
    if (!action) return;
    event.preventDefault();
    action();
  };

  const start = Math.max(firstRow - MARGIN_ROWS, 0);
  const end = Math.min(firstRow + visibleRows + MARGIN_ROWS, messages.length);
  const rows = Array.from({ length: end - start }, (_, offset) => start + offset);
  // aria-activedescendant needs the selected row, wherever it is.
  if (selected >= 0 && (selected < start || selected >= end)) rows.push(selected);
  const newAbove = topId === undefined ? 0 : countNewer(messages.slice(0, firstRow), topId);

  return (
    <>
      <div
        class="list"
        role="listbox"
        aria-label="Messages"
        aria-activedescendant={selected >= 0 ? rowId(messages[selected]?.id) : undefined}
        tabIndex={0}
        ref={list}
        onScroll={onScroll}
        onKeyDown={onKeyDown}
      >
        <div role="presentation" class="rows" style={{ height: `${messages.length * ROW_PX}px` }}>
          {rows.map((index) => {
            const message = messages[index];
            return (
              message && (
                <Row
                  key={message.id}
                  message={message}
                  index={index}
                  count={messages.length}
                  isSelected={message.id === selectedId}
                  onSelect={onSelect}
                />
              )
            );
          })}
        </div>
      </div>
      {newAbove > 0 && (
        <button
          type="button"
          class="new-messages"
          onClick={() => {
            list.current?.scrollTo({ top: 0 });
            list.current?.focus();
          }}
        >
          {newAbove} new
        </button>
      )}
    </>
  );
};

const rowId = (id: number | undefined): string => `message-${id}`;

const countNewer = (messages: readonly MessageSummary[], id: number): number =>
  messages.reduce((count, message) => (message.id > id ? count + 1 : count), 0);

const scrollToRow = (list: HTMLElement, index: number): void => {
  const top = index * ROW_PX;
  if (top < list.scrollTop) list.scrollTop = top;
  else if (top + ROW_PX > list.scrollTop + list.clientHeight) list.scrollTop = top + ROW_PX - list.clientHeight;
};

/**
 * Finds the visible rows, and keeps them where they are when messages arrive above them. `topId` is the newest message
 * that the user has seen at the top of the list.
 */
const useWindow = (list: { current: HTMLElement | null }, messages: readonly MessageSummary[]) => {
  const [scroll, setScroll] = useState({ top: 0, height: 0 });
  const anchor = useRef<{ id: number; offset: number } | undefined>(undefined);
  const topId = useRef<number | undefined>(undefined);

  const measure = () => {
    if (!list.current) return;
    const { scrollTop: top, clientHeight: height } = list.current;
    const row = Math.floor(top / ROW_PX);
    const first = messages[row];
    // At the top, new messages are to become visible.
    anchor.current = first && top > 0 ? { id: first.id, offset: top - row * ROW_PX } : undefined;
    if (top < ROW_PX) topId.current = messages[0]?.id;
    setScroll((previous) => (previous.top === top && previous.height === height ? previous : { top, height }));
  };

  useLayoutEffect(() => {
    const row = anchor.current ? messages.findIndex(({ id }) => id === anchor.current?.id) : -1;
    if (list.current && anchor.current && row >= 0) list.current.scrollTop = row * ROW_PX + anchor.current.offset;
    measure();
  }, [messages]);

  useEffect(() => {
    if (!list.current) return undefined;
    const observer = new ResizeObserver(measure);
    observer.observe(list.current);
    return () => observer.disconnect();
  }, [messages]);

  return {
    firstRow: Math.floor(scroll.top / ROW_PX),
    visibleRows: Math.max(Math.ceil(scroll.height / ROW_PX), 1),
    topId: topId.current,
    onScroll: measure,
  };
};

type RowProps = {
  message: MessageSummary;
  index: number;
  count: number;
  isSelected: boolean;
  onSelect: (id: number) => void;
};

const Row = ({ message, index, count, isSelected, onSelect }: RowProps) => (
  // biome-ignore lint/a11y/useKeyWithClickEvents: the list handles the keys of all its rows.
  // biome-ignore lint/a11y/useFocusableInteractive: the focus stays on the list (aria-activedescendant).
  <div
    role="option"
    id={rowId(message.id)}
    class="row"
    aria-selected={isSelected}
    aria-setsize={count}
    aria-posinset={index + 1}
    style={{ top: `${index * ROW_PX}px` }}
    onClick={() => onSelect(message.id)}
  >
    <span class="row-line muted">
      <span class="kind">{kindNames[message.kind]}</span>
      <span class="fill">{message.to.join(', ')}</span>
      <time dateTime={message.sent_at}>{shortTime(message.sent_at)}</time>
    </span>
    <span class="title">{message.title}</span>
    <span class="row-line muted">
      <span class="fill">{message.preview}</span>
      {message.verified === false && <span class="bad">Not verified</span>}
      {message.responded !== undefined && message.responded !== '200' && <span>Responded {message.responded}</span>}
    </span>
  </div>
);
