import { escapeXml } from './aws/aws-service.ts';
import type { InboxMessage } from './inbox.ts';

const MAX_SHOWN = 200;
const MAX_CHARACTERS = 65_536;

const STYLE = `
  body { margin: 2rem auto; max-width: 72rem; padding: 0 1rem; font: 15px/1.5 system-ui, sans-serif; color: #1c2024; }
  h1 { font-size: 1.4rem; margin: 0; }
  p { color: #60646c; margin: .25rem 0 1.5rem; }
  nav a { margin-right: 1rem; color: #0b68cb; }
  table { width: 100%; border-collapse: collapse; margin-top: 1rem; }
  th, td { text-align: left; vertical-align: top; padding: .5rem .75rem .5rem 0; border-bottom: 1px solid #e0e1e6; }
  th { font-weight: 600; color: #60646c; }
  td:nth-child(-n+2) { white-space: nowrap; }
  pre { margin: .25rem 0 0; white-space: pre-wrap; overflow-wrap: anywhere; font: 13px/1.45 ui-monospace, monospace; }
  @media (prefers-color-scheme: dark) { body { background: #111113; color: #edeef0; } th, td { border-color: #363a3f; } nav a { color: #70b8ff; } }
`;

const KINDS = ['email', 'sms', 'managed', 'incidentpager', 'incidentrouter', 'atomfeed'];

/** Returns the messages as an HTML page that reloads itself. */
export const inboxPage = (messages: readonly InboxMessage[]): string => {
  const links = KINDS.map((kind) => `<a href="/?kind=${kind}">${kind}</a>`).join('');
  const shown = messages.slice(0, MAX_SHOWN);
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="refresh" content="3">
<title>Inbox (${messages.length})</title>
<style>${STYLE}</style>
</head>
<body>
<h1>Inbox</h1>
<p>Messages sent by the local stack, newest first: ${shown.length} of ${messages.length}.</p>
<nav><a href="/">all</a>${links}</nav>
<table>
<thead><tr><th>Time</th><th>Kind</th><th>To</th><th>Message</th></tr></thead>
<tbody>
${shown.map(row).join('\n')}
</tbody>
</table>
</body>
</html>
`;
};

const row = (message: InboxMessage): string => {
  const { to, title, text } = summary(message);
  const cells = [message.sent_at.slice(11, 23), message.kind, to].map((cell) => `<td>${escapeXml(cell)}</td>`);
  return `<tr>${cells.join('')}<td><strong>${escapeXml(title)}</strong><pre>${escapeXml(text.slice(0, MAX_CHARACTERS))}</pre></td></tr>`;
};

const summary = (message: InboxMessage): { to: string; title: string; text: string } => {
  if (message.kind === 'email') {
    return { to: message.to.join(', '), title: message.subject, text: message.text || message.html };
  }
  if (message.kind === 'sms') return { to: message.to, title: '', text: message.text };
  if (message.kind === 'managed') return { to: message.topic, title: message.subject ?? '', text: message.text };
  return { to: message.path, title: '', text: message.body };
};
