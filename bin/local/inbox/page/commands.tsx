import type { StackAddresses } from '../message.ts';
import { CopyButton } from './copy-button.tsx';

/** A shell command with what it does. */
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

/** Commands to copy. */
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
