import { useEffect, useRef, useState } from 'preact/hooks';
import { kindNames, type MessageSummary } from '../message.ts';
import type { View } from './state.ts';

/** The height of a row in px, as in style.css. */
const ROW_PX = 76;
/** The number of rows that are rendered at first, and that each request adds: 10,000 would delay the page. */
const STEP_ROWS = 500;

type Props = {
  messages: readonly MessageSummary[];
  selectedId: number | undefined;
  onSelect: (id: number) => void;
  /** Called when the user wants to read the selected message (Enter). */
  onOpen: () => void;
  onSearch: () => void;
};

/** The messages as an ARIA listbox. The focus stays on the list, so that rows can come and go. */
export const MessageList = ({ messages, selectedId, onSelect, onOpen, onSearch }: Props) => {
  const list = useRef<HTMLDivElement>(null);
  const [limit, setLimit] = useState(STEP_ROWS);
  const rows = messages.slice(0, limit);
  const selected = rows.findIndex(({ id }) => id === selectedId);

  useEffect(() => {
    list.current?.querySelector('[aria-selected=true]')?.scrollIntoView({ block: 'nearest' });
    // Only a new selection scrolls, not a new position of the selected row.
  }, [selectedId]);

  const select = (index: number) => {
    const message = rows[Math.min(Math.max(index, 0), rows.length - 1)];
    if (message) onSelect(message.id);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const pageRows = Math.max(Math.floor((list.current?.clientHeight ?? 0) / ROW_PX), 1);
    const actions: Record<string, () => void> = {
      ArrowDown: () => select(selected + 1),
      j: () => select(selected + 1),
      ArrowUp: () => select(selected - 1),
      k: () => select(selected - 1),
      PageDown: () => select(selected + pageRows),
      PageUp: () => select(selected - pageRows),
      Home: () => select(0),
      End: () => select(rows.length - 1),
      Enter: () => (selected < 0 ? select(0) : onOpen()),
      '/': onSearch,
    };
    const action = actions[event.key];
    if (!action) return;
    event.preventDefault();
    action();
  };

  return (
    <>
      <div
        class="list"
        role="listbox"
        aria-label="Messages"
        aria-activedescendant={selected >= 0 ? `message-${selectedId}` : undefined}
        tabIndex={0}
        ref={list}
        onKeyDown={onKeyDown}
      >
        {rows.map((message, index) => (
          <Row
            key={message.id}
            message={message}
            index={index}
            count={messages.length}
            isSelected={message.id === selectedId}
            onSelect={onSelect}
          />
        ))}
      </div>
      {messages.length > limit && (
        <button type="button" onClick={() => setLimit(limit + STEP_ROWS)}>
          Show older messages
        </button>
      )}
    </>
  );
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
    id={`message-${message.id}`}
    class="row"
    aria-selected={isSelected}
    aria-setsize={count}
    aria-posinset={index + 1}
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

/** The recipients that can be selected: those of the most messages. */
const MAX_RECIPIENTS = 200;

type FilterProps = { messages: readonly MessageSummary[]; view: View; onChange: (changes: Partial<View>) => void };

/** Filters by kind and recipient. Each count is of the messages that the filter would show. */
export const Filters = ({ messages, view, onChange }: FilterProps) => {
  const ofRecipient = messages.filter(({ to }) => !view.to || to.includes(view.to));
  const kinds = counted(ofRecipient.map(({ kind }) => kind));
  const ofKind = messages.filter(({ kind }) => !view.kind || kind === view.kind);
  const all = [...counted(ofKind.flatMap(({ to }) => to))].toSorted(([, a], [, b]) => b - a);
  const top = all.slice(0, MAX_RECIPIENTS);
  const recipients = top.some(([to]) => to === view.to) || !view.to ? top : [...top, [view.to, 0] as const];
  return (
    <div class="filters grid">
      <fieldset class="bar">
        <legend class="visually-hidden">Kind</legend>
        {[['', 'All'] as const, ...Object.entries(kindNames)]
          .filter(([kind]) => kind === '' || kinds.has(kind) || kind === view.kind)
          .map(([kind, name]) => (
            <button type="button" key={kind} aria-pressed={view.kind === kind} onClick={() => onChange({ kind })}>
              {name} <span class="muted">{kind === '' ? ofRecipient.length : (kinds.get(kind) ?? 0)}</span>
            </button>
          ))}
      </fieldset>
      <label class="bar">
        <span>To</span>
        <select value={view.to} onChange={({ currentTarget }) => onChange({ to: currentTarget.value })}>
          <option value="">Anyone ({ofKind.length})</option>
          {recipients.map(([to, count]) => (
            <option key={to} value={to}>
              {to} ({count})
            </option>
          ))}
        </select>
      </label>
    </div>
  );
};

const counted = (values: readonly string[]): Map<string, number> =>
  new Map([...Map.groupBy(values, (value) => value)].map(([value, { length }]) => [value, length]));

const clock = new Intl.DateTimeFormat('en', { timeStyle: 'medium', hourCycle: 'h23' });
const day = new Intl.DateTimeFormat('en', { dateStyle: 'medium' });
const full = new Intl.DateTimeFormat('en', { dateStyle: 'full', timeStyle: 'long', hourCycle: 'h23' });

/** Returns the local time of a message of today, and the day of an earlier one. */
export const shortTime = (iso: string): string => {
  const time = new Date(iso);
  return time.toDateString() === new Date().toDateString() ? clock.format(time) : day.format(time);
};

export const fullTime = (iso: string): string => full.format(new Date(iso));
