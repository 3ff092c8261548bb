import { escapeXml } from './aws/aws-service.ts';
import type { Kept } from './inbox.ts';

const mostShown = 200;
const mostCharacters = 65_536;

const style = `
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

const kinds = ['email', 'sms', 'managed', 'incidentpager', 'incidentrouter', 'atomfeed'];

/** The inbox for a person: what was sent, newest first, as a page that renews itself. */
export function inboxPage(sent: readonly Kept[]): string {
  const links = kinds.map((kind) => `<a href="/?kind=${kind}">${kind}</a>`).join('');
  const shown = sent.slice(0, mostShown);
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="refresh" content="3">
<title>Inbox (${sent.length})</title>
<style>${style}</style>
</head>
<body>
<h1>Inbox</h1>
<p>What the local stack has sent, newest first: ${shown.length} of ${sent.length}.</p>
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
}

function row(sent: Kept): string {
  const { to, title, text } = described(sent);
  const cells = [sent.sent_at.slice(11, 23), sent.kind, to].map((cell) => `<td>${escapeXml(cell)}</td>`);
  return `<tr>${cells.join('')}<td><strong>${escapeXml(title)}</strong><pre>${escapeXml(text.slice(0, mostCharacters))}</pre></td></tr>`;
}

function described(sent: Kept): { to: string; title: string; text: string } {
  if (sent.kind === 'email') return { to: sent.to.join(', '), title: sent.subject, text: sent.text || sent.html };
  if (sent.kind === 'sms') return { to: sent.to, title: '', text: sent.text };
  if (sent.kind === 'managed') return { to: sent.topic, title: sent.subject ?? '', text: sent.text };
  return { to: sent.path, title: '', text: sent.body };
}
