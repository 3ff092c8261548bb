import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { MessageSummary, StackAddresses, WebhookAddress } from '../message.ts';
import { CopyButton, Dialog, ResponseSelect } from './controls.tsx';
import { Filters, MessageList } from './message-list.tsx';
import { MessageView } from './message-view.tsx';
import { type InboxState, type LoadedMessage, useMessage, useUpdates, useView, type View } from './state.ts';

/** Searching waits until the user pauses. */
const SEARCH_DELAY_MS = 150;

/** The inbox: a list with filters, and the selected message beside it, or instead of it on a narrow screen. */
export const App = () => {
  const [view, setView] = useView();
  const inbox = useUpdates(useDelayed(view.q, SEARCH_DELAY_MS));
  const message = useMessage(view.id);
  const search = useRef<HTMLInputElement>(null);
  const [dialog, setDialog] = useState<'clear' | 'webhooks'>();
  const shown = useMemo(() => filtered(inbox.messages, view), [inbox.messages, view.kind, view.to]);
  const isFiltered = view.kind !== '' || view.to !== '' || view.q !== '';
  const isEmpty = inbox.isConnected !== undefined && inbox.messages.length === 0 && inbox.query === '' && view.q === '';

  useEffect(() => {
    document.title = inbox.messages.length === 0 ? 'Inbox' : `Inbox (${inbox.messages.length})`;
  }, [inbox.messages]);

  const closeMessage = () => {
    setView({ id: undefined });
    document.querySelector<HTMLElement>('[role=listbox]')?.focus();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const isInField = event.target instanceof HTMLElement && event.target.matches('input, select');
    if (event.key === 'Escape' && view.id !== undefined && !isInField && dialog === undefined) closeMessage();
  };

  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: Escape closes the message from wherever the focus is.
    <div class={view.id === undefined ? 'app' : 'app reading'} onKeyDown={onKeyDown}>
      <header class="page-header bar">
        <h1>Inbox</h1>
        <Connection isConnected={inbox.isConnected} />
        <input
          type="search"
          aria-label="Search messages"
          placeholder="Search"
          value={view.q}
          ref={search}
          onInput={({ currentTarget }) => setView({ q: currentTarget.value })}
        />
        <button type="button" onClick={() => setDialog('webhooks')}>
          Webhooks
        </button>
        <button type="button" disabled={shown.length === 0} onClick={() => setDialog('clear')}>
          Clear
        </button>
      </header>
      <p class="visually-hidden" role="status">
        {inbox.messages.length} messages
      </p>
      {isEmpty ? (
        <EmptyInbox inbox={inbox} />
      ) : (
        <main class="columns">
          <section class="list-column" aria-label="Message list">
            <Filters messages={inbox.messages} view={view} onChange={setView} />
            {shown.length > 0 ? (
              <MessageList
                messages={shown}
                selectedId={view.id}
                onSelect={(id) => setView({ id })}
                onOpen={() => document.getElementById('message-title')?.focus()}
                onSearch={() => search.current?.focus()}
              />
            ) : (
              <NoMatch isFiltered={isFiltered} onClear={() => setView({ kind: '', to: '', q: '' })} />
            )}
          </section>
          <section class="message-column" aria-label="Message">
            <button type="button" class="back" onClick={closeMessage}>
              Back to the list
            </button>
            <SelectedMessage message={message} messages={inbox.messages} webhooks={inbox.webhooks} />
          </section>
        </main>
      )}
      <Dialog title="Webhook addresses" isOpen={dialog === 'webhooks'} onClose={() => setDialog(undefined)}>
        <WebhookAddresses addresses={inbox.webhooks} onClose={() => setDialog(undefined)} />
      </Dialog>
      <Dialog
        title={`Delete ${shown.length} ${shown.length === 1 ? 'message' : 'messages'}?`}
        isOpen={dialog === 'clear'}
        onClose={() => setDialog(undefined)}
      >
        <ClearMessages
          view={view}
          isFiltered={isFiltered}
          onClose={() => setDialog(undefined)}
          onCleared={() => setView({ id: undefined })}
        />
      </Dialog>
    </div>
  );
};

/** Returns a value once it has not changed for a time. */
const useDelayed = (value: string, delayMs: number): string => {
  const [delayed, setDelayed] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setDelayed(value), delayMs);
    return () => clearTimeout(timer);
  }, [value, delayMs]);
  return delayed;
};

const filtered = (messages: readonly MessageSummary[], { kind, to }: View): readonly MessageSummary[] =>
  messages.filter((message) => (!kind || message.kind === kind) && (!to || message.to.includes(to)));

const Connection = ({ isConnected }: { isConnected: boolean | undefined }) => (
  <p class={isConnected === false ? 'bad' : 'good'} role="status">
    {isConnected === true && 'Live'}
    {isConnected === false && 'Disconnected: the local stack has stopped. Reconnecting'}
  </p>
);

const EmptyInbox = ({ inbox: { stack } }: { inbox: InboxState }) => (
  <main class="empty grid">
    <h2>No messages yet</h2>
    <p class="muted">
      Emails, SMS, webhooks, and pager, router and feed messages of the local stack appear here as soon as it sends
      them. {stack && 'Paste one of these commands into a terminal in the project directory:'}
    </p>
    {stack && <Commands commands={firstCommands(stack)} />}
  </main>
);

const NoMatch = ({ isFiltered, onClear }: { isFiltered: boolean; onClear: () => void }) =>
  isFiltered ? (
    <div class="filters grid">
      <p>No message matches.</p>
      <button type="button" onClick={onClear}>
        Show all messages
      </button>
    </div>
  ) : null;

type SelectedMessageProps = {
  message: LoadedMessage | undefined;
  messages: readonly MessageSummary[];
  webhooks: readonly WebhookAddress[];
};

const SelectedMessage = ({ message, messages, webhooks }: SelectedMessageProps) => {
  if (message === undefined) {
    return (
      <p class="muted">
        Select a message. In the list, <kbd>↑</kbd> <kbd>↓</kbd> or <kbd>k</kbd> <kbd>j</kbd> select, <kbd>Enter</kbd>{' '}
        goes to the message, <kbd>Esc</kbd> back, <kbd>/</kbd> searches.
      </p>
    );
  }
  if (message === 'loading') return null;
  if (message === 'missing') return <p class="muted">This message no longer exists.</p>;
  const title = messages.find(({ id }) => id === message.id)?.title ?? `Message ${message.id}`;
  const address = message.kind === 'webhook' ? webhooks.find(({ tenant }) => tenant === message.tenant) : undefined;
  return <MessageView message={message} title={title} address={address} />;
};

const WebhookAddresses = ({ addresses, onClose }: { addresses: readonly WebhookAddress[]; onClose: () => void }) => (
  <>
    <p>
      Use an address as the <code>url</code> of a webhook notification. Its response applies to all webhooks to it;{' '}
      <code>?respond=410</code> after an address overrides it.
    </p>
    <ul class="grid">
      {addresses.map((address) => (
        <li key={address.tenant} class="grid">
          <strong>{address.tenant}</strong>
          <code>{address.url}</code>
          <CopyButton text={address.url} label="Copy address" />
          <ResponseSelect address={address} label="Response" />
        </li>
      ))}
    </ul>
    <p class="bar">
      <button type="button" onClick={onClose}>
        Done
      </button>
    </p>
  </>
);

type ClearMessagesProps = { view: View; isFiltered: boolean; onClose: () => void; onCleared: () => void };

const ClearMessages = ({ view, isFiltered, onClose, onCleared }: ClearMessagesProps) => {
  const [error, setError] = useState<string>();
  const clear = async () => {
    const { kind, to, q } = view;
    const parameters = new URLSearchParams({ ...(kind && { kind }), ...(to && { to }), ...(q && { q }) });
    const response = await fetch(`/?${parameters}`, { method: 'DELETE' }).catch(() => undefined);
    if (!response?.ok) return setError('The messages could not be deleted.');
    onClose();
    onCleared();
  };
  return (
    <>
      <p>{isFiltered ? 'Only messages that match the search and filters are deleted.' : 'All messages are deleted.'}</p>
      <p role="alert">{error}</p>
      <p class="bar">
        <button type="button" onClick={onClose}>
          Cancel
        </button>
        <button type="button" onClick={clear}>
          Delete
        </button>
      </p>
    </>
  );
};

export type ShellCommand = { title: string; command: string };

/** Returns the commands that make a message arrive, exactly as this stack needs them. */
export const firstCommands = ({
  base_url,
  inbox_url,
  token,
  tenants: [tenant = ''],
}: StackAddresses): ShellCommand[] => {
  const post = (path: string, body: object, options = '') =>
    [`curl -s${options} ${base_url}${path}`, `-H 'X-Auth-Token: ${token}'`, `-d '${JSON.stringify(body)}'`].join(
      ' \\\n  ',
    );
  const webhook = { type: 'webhook', details: { url: `${inbox_url}/webhooks/${tenant}` } };
  const create = post('/notifications', { label: 'Inbox', ...webhook }, " -o /dev/null -w '%header{location}'");
  const ops = `npm run -s ops -- --local ${new URL(base_url).port}`;
  return [
    {
      title: 'Send a test email',
      command: post('/test-notification', { type: 'email', details: { address: 'oncall@example.com' } }),
    },
    { title: 'Send a test webhook to this inbox', command: post('/test-notification', webhook) },
    {
      title: 'Create a webhook notification and send an alarm event to it',
      command: `LOCATION=$(${create})\n${ops} event example --notification "\${LOCATION##*/}" |\n  ${ops} event send -`,
    },
  ];
};

export const Commands = ({ commands }: { commands: readonly ShellCommand[] }) => (
  <ol class="grid">
    {commands.map(({ title, command }) => (
      <li key={title}>
        <div class="bar">
          <h3>{title}</h3>
          <CopyButton text={command} label="Copy" />
        </div>
        <pre>{command}</pre>
      </li>
    ))}
  </ol>
);
