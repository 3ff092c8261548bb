import type { MessageSummary } from '../message.ts';
import { kindNames } from './kinds.ts';
import type { View } from './use-view.ts';

/** The recipients that can be selected: those of the most messages. */
const MAX_RECIPIENTS = 200;

type Props = { messages: readonly MessageSummary[]; view: View; onChange: (changes: Partial<View>) => void };

/** Filters by kind and recipient. Each count is of the messages that the filter would show. */
export const Filters = ({ messages, view, onChange }: Props) => {
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

/** Returns how often each value occurs. */
const counted = (values: readonly string[]): Map<string, number> =>
  new Map([...Map.groupBy(values, (value) => value)].map(([value, { length }]) => [value, length]));
