import type { ComponentChildren } from 'preact';
import { useEffect, useId, useRef, useState } from 'preact/hooks';
import { type WebhookAddress, type WebhookResponse, webhookResponses } from '../message.ts';

type Props = { title: string; isOpen: boolean; onClose: () => void; children: ComponentChildren };

/** A modal dialog of the browser: it keeps the focus inside, and returns it when it closes. */
export const Dialog = ({ title, isOpen, onClose, children }: Props) => {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    if (isOpen) dialog.current?.showModal();
    else dialog.current?.close();
  }, [isOpen]);
  return (
    <dialog ref={dialog} aria-labelledby="dialog-title" onClose={onClose}>
      {isOpen && (
        <>
          <h2 id="dialog-title">{title}</h2>
          {children}
        </>
      )}
    </dialog>
  );
};

export type Tab = { name: string; content: ComponentChildren };

/** Tabs with the keyboard operation of the ARIA Authoring Practices: arrow keys, Home and End. */
export const Tabs = ({ label, tabs }: { label: string; tabs: readonly Tab[] }) => {
  const [name, setName] = useState(tabs[0]?.name);
  const list = useRef<HTMLDivElement>(null);
  const id = useId();
  const selected = Math.max(
    tabs.findIndex((tab) => tab.name === name),
    0,
  );
  const onKeyDown = (event: KeyboardEvent) => {
    const targets: Record<string, number> = {
      ArrowLeft: selected - 1,
      ArrowRight: selected + 1,
      Home: 0,
      End: tabs.length - 1,
    };
    const target = targets[event.key];
    if (target === undefined) return;
    event.preventDefault();
    const index = (target + tabs.length) % tabs.length;
    setName(tabs[index]?.name);
    list.current?.querySelectorAll('button')[index]?.focus();
  };
  return (
    <div class="grid">
      <div class="bar" role="tablist" aria-label={label} ref={list} onKeyDown={onKeyDown}>
        {tabs.map((tab, index) => (
          <button
            type="button"
            role="tab"
            key={tab.name}
            id={`${id}-${index}`}
            aria-selected={index === selected}
            aria-controls={`${id}-panel`}
            tabIndex={index === selected ? 0 : -1}
            onClick={() => setName(tab.name)}
          >
            {tab.name}
          </button>
        ))}
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a panel without controls must be reachable by keyboard. */}
      <div role="tabpanel" id={`${id}-panel`} aria-labelledby={`${id}-${selected}`} tabIndex={0}>
        {tabs[selected]?.content}
      </div>
    </div>
  );
};

const FEEDBACK_MS = 2000;

/** A button that copies a text, and tells whether it could. */
export const CopyButton = ({ text, label }: { text: string; label: string }) => {
  const [result, setResult] = useState<'Copied' | 'Not copied'>();
  useEffect(() => {
    const timer = setTimeout(() => setResult(undefined), FEEDBACK_MS);
    return () => clearTimeout(timer);
  }, [result]);
  const copy = () =>
    navigator.clipboard.writeText(text).then(
      () => setResult('Copied'),
      () => setResult('Not copied'),
    );
  return (
    <>
      <button type="button" onClick={copy}>
        {result ?? label}
      </button>
      <span role="status" class="visually-hidden">
        {result}
      </span>
    </>
  );
};

/** The characters that are shown at first: more would delay the page. */
const MAX_SHOWN = 200_000;

/** A text as it is. A very long one is cut off until the user asks for the rest. */
export const TextBlock = ({ text }: { text: string }) => {
  const [showsAll, setShowsAll] = useState(false);
  const isCut = !showsAll && text.length > MAX_SHOWN;
  return (
    <>
      <pre>{isCut ? text.slice(0, MAX_SHOWN) : text}</pre>
      {isCut && (
        <button type="button" onClick={() => setShowsAll(true)}>
          Show all {text.length.toLocaleString('en')} characters
        </button>
      )}
    </>
  );
};

const responseNames: Record<WebhookResponse, string> = {
  '200': '200 OK',
  '410': '410 Gone',
  '500': '500 Error',
  slow: 'Slow (20 s)',
};

export const ResponseSelect = ({ address, label }: { address: WebhookAddress; label: string }) => {
  const [error, setError] = useState<string>();
  const change = async (respond: string) => {
    const path = `/webhooks/${encodeURIComponent(address.tenant)}`;
    const response = await fetch(path, { method: 'PUT', body: JSON.stringify({ respond }) }).catch(() => undefined);
    setError(response?.ok ? undefined : 'The response could not be changed.');
  };
  return (
    <label class="bar">
      <span>{label}</span>
      <select
        value={address.respond}
        aria-label={`${label} of ${address.tenant}`}
        onChange={({ currentTarget }) => change(currentTarget.value)}
      >
        {webhookResponses.map((response) => (
          <option key={response} value={response}>
            {responseNames[response]}
          </option>
        ))}
      </select>
      <span role="alert">{error}</span>
    </label>
  );
};
