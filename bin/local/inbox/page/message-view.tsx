import type { ComponentChildren } from 'preact';
import { memo } from 'preact/compat';
import { parseJson } from '../../../../shared/contracts/json.ts';
import { type InboxMessage, kindNames, type WebhookAddress, type WebhookMessage } from '../message.ts';
import { CopyButton, ResponseSelect, type Tab, Tabs, TextBlock } from './controls.tsx';
import { fullTime } from './message-list.tsx';

type Props = {
  message: InboxMessage;
  title: string;
  address: WebhookAddress | undefined;
};

export const MessageView = memo(({ message, title, address }: Props) => (
  <article class="grid" aria-labelledby="message-title">
    <header class="grid">
      <p class="bar muted">
        <span class={`kind ${message.kind}`}>{kindNames[message.kind]}</span>
        <time dateTime={message.sent_at}>{fullTime(message.sent_at)}</time>
      </p>
      <h2 id="message-title" tabIndex={-1}>
        {title}
      </h2>
      <Facts facts={facts(message)} />
      <div class="bar">
        <CopyButton text={bodyOf(message)} label="Copy body" />
        <CopyButton text={addressOf(message, address)} label="Copy address" />
        {address && <ResponseSelect address={address} label="Next response" />}
      </div>
    </header>
    {message.kind === 'webhook' && <Verification message={message} />}
    <Content message={message} />
  </article>
));

type Fact = [name: string, value: ComponentChildren];

const Facts = ({ facts }: { facts: Fact[] }) => (
  <dl>
    {facts.map(([name, value]) => (
      <div key={name} class="bar">
        <dt>{name}</dt>
        <dd>{value}</dd>
      </div>
    ))}
  </dl>
);

const facts = (message: InboxMessage): Fact[] => {
  switch (message.kind) {
    case 'email':
      return [
        ['From', message.from],
        ['To', message.to.join(', ')],
      ];
    case 'sms':
      return [['To', message.to], ...Object.entries(message.attributes).map(([name, value]): Fact => [name, value])];
    case 'managed':
      return [['Topic', message.topic]];
    case 'webhook':
      return [
        ['Tenant', message.tenant],
        ['Address', message.path],
        ['Type', message.content_type],
        ['Response', message.responded === 'slow' ? '200, slowly' : message.responded],
      ];
    default:
      return [
        ['Address', message.path],
        ['Type', message.content_type],
      ];
  }
};

const bodyOf = (message: InboxMessage): string => {
  if (message.kind === 'email') return message.text || message.html;
  return 'body' in message ? message.body : message.text;
};

const addressOf = (message: InboxMessage, address: WebhookAddress | undefined): string => {
  if (message.kind === 'email') return message.to.join(', ');
  if (message.kind === 'sms') return message.to;
  if (message.kind === 'managed') return message.topic;
  return address?.url ?? new URL(message.path, location.href).href;
};

const secretNames = { current: 'current secret', replaced: 'replaced secret' } as const;

const Verification = ({ message }: { message: WebhookMessage }) => (
  <section aria-label="Verification">
    <h3 class={message.verified ? 'good' : 'bad'}>{message.verified ? 'Verified' : 'Not verified'}</h3>
    {message.verified ? (
      <p>
        The signature, the timestamp and the token are valid. Signed with the{' '}
        {message.signed_with.map((secret) => secretNames[secret]).join(' and the ')}.
      </p>
    ) : (
      <ul>
        {message.problems.map((problem) => (
          <li key={problem}>{problem}</li>
        ))}
      </ul>
    )}
  </section>
);

const Content = ({ message }: { message: InboxMessage }) => {
  if (message.kind === 'sms' || message.kind === 'managed') {
    return <TextBlock text={message.text} />;
  }
  // The key resets the selected tab when another message is shown.
  return <Tabs key={message.id} label="Parts of the message" tabs={tabs(message)} />;
};

const tabs = (message: Exclude<InboxMessage, { kind: 'sms' | 'managed' }>): Tab[] => {
  if (message.kind === 'email') return emailTabs(message);
  const formatted = formatBody(message.body);
  return [
    ...(formatted === undefined ? [] : [{ name: 'JSON', content: <TextBlock text={formatted} /> }]),
    { name: 'Raw', content: <TextBlock text={message.body} /> },
    ...(message.kind === 'webhook' ? [{ name: 'Headers', content: <Headers headers={message.headers} /> }] : []),
  ];
};

const emailTabs = (message: Extract<InboxMessage, { kind: 'email' }>): Tab[] => [
  ...(message.html ? [{ name: 'HTML', content: <EmailFrame id={message.id} subject={message.subject} /> }] : []),
  ...(message.text ? [{ name: 'Text', content: <TextBlock text={message.text} /> }] : []),
  ...(message.html ? [{ name: 'Source', content: <TextBlock text={message.html} /> }] : []),
];

/**
 * The HTML of an email as recipients see it. An empty `sandbox` forbids scripts, forms, popups and navigation of the
 * page; the response forbids loading anything (EMAIL_POLICY).
 */
const EmailFrame = ({ id, subject }: { id: number; subject: string }) => (
  <iframe title={`Email: ${subject}`} src={`/messages/${id}/html`} sandbox="" />
);

const Headers = ({ headers }: { headers: Record<string, string> }) => (
  <table>
    <thead class="visually-hidden">
      <tr>
        <th scope="col">Header</th>
        <th scope="col">Value</th>
      </tr>
    </thead>
    <tbody>
      {Object.entries(headers).map(([name, value]) => (
        <tr key={name}>
          <th scope="row">{name}</th>
          <td>{value}</td>
        </tr>
      ))}
    </tbody>
  </table>
);

/** Formats a JSON body. Returns undefined if it is none. Numbers keep all their digits. */
const formatBody = (body: string): string | undefined => {
  try {
    const value = parseJson(body);
    return typeof value === 'object' && value !== null ? JSON.stringify(value, null, 2) : undefined;
  } catch {
    // It is cut off, invalid or too deeply nested.
    return undefined;
  }
};
