// What only AWS can run is left out: the logs of CloudWatch, and the calls of the AWS CLI.

import { UpdateCommand } from '@aws-sdk/lib-dynamodb';
import { beforeAll, expect, it } from 'vitest';
import { createEmailStops } from '../../shared/adapters/accounts/email-stops.ts';
import { codeBlocks, readDocument } from '../support/documents.ts';
import { until } from '../support/until.ts';
import { useAlerts } from './alerts.ts';
import { connectTables } from './command-line.ts';

const { stack, ops, sink, create, sendExample, sendRaw, deliveriesTo } = useAlerts({ retryDelayScale: '1' });

/** The sections with the commands that the command line can run, in order: of the index or of code blocks. */
const sections = readDocument('docs/runbook.md')
  .split(/^##? /m)
  .map((section) => {
    const [title = ''] = section.split('\n', 1);
    const blocks = codeBlocks(section.replace(/^ +/gm, ''), 'sh').join('\n');
    const found = [...section.matchAll(/^- .*: `ops (\w[^`]*)`$/gm), ...blocks.matchAll(/^ops (\w.*)$/gm)];
    return { title, commands: [...new Set(found.map(([, command = '']) => command))] };
  })
  .filter(({ commands }) => commands.length > 0);

/** What stands for an ID, by the command. */
const ids = new Map<string, string>();
/** The exit codes that are not 0. */
const exitCodes = new Map([['account rotate acme --since 24h --yes --why "leaked"', 1]]);
/** What the commands of a section show, among other things: the reason first. */
const shown = new Map([
  ['Alerts are late', /failed .* http_status/],
  ['A tenant misses an alert', / failed +http_status +permanent 410/],
  ['Emails to a recipient are stopped', / complained /],
  ['A receiver hangs', / pending +http_status +transient 503/],
  ['Secrets leaked', /^Token tk\w+ of tenant acme \(creator, .*(.*\n)*Revoked token (.*\n)*.* gone +created /],
  ['An alert reached nobody', / failed +http_status /],
]);

let tables: Awaited<ReturnType<typeof connectTables>>;

beforeAll(async () => {
  tables = await connectTables(stack);
  const stops = createEmailStops(tables.database, tables.tableNamed('Accounts'));
  await stops.complain({ tenant: 'acme', address: 'oncall@example.com' }, Date.now());

  const gone = await create('gone', 'webhook', { url: `${sink.url}/410` });
  const failing = await create('failing', 'webhook', { url: `${sink.url}/503` });
  const event = await sendExample(gone, failing);
  ids.set('event trace', event);
  const example = JSON.parse((await ops(['event', 'example', '--notification', gone])).out);
  await sendRaw(JSON.stringify({ ...example, event_id: 'disk', alarm: { id: 'alDisk' } }));
  await sendRaw('{"tenant_id":"acme","event_id":"invalid"}');
  await sendRaw('{}', 'CrashedQueue');
  await until(async () => (await deliveriesTo(gone)).filter(({ status }) => status === 'failed').length === 2);
  await until(async () => (await deliveriesTo(failing)).some(({ attempts }) => attempts.length > 0));
  return () => tables.database.destroy();
});

/** Without tokens, `account rotate` does not wait until no request can use them. */
const revokeBefore = async (): Promise<void> => {
  await ops('token revoke --all --tenant acme');
  const change = { UpdateExpression: 'SET last_revoked_at_ms = :past', ExpressionAttributeValues: { ':past': 0 } };
  const request = { TableName: tables.tableNamed('Tokens'), Key: { pk: 'tenant#acme' }, ...change };
  await tables.database.send(new UpdateCommand(request));
};

const runCommand = async (command: string): Promise<string> => {
  if (command.startsWith('account rotate')) await revokeBefore();
  const [name = ''] = /^\w+ \w+/.exec(command) ?? [];
  const args = (command.match(/"[^"]*"|\S+/g) ?? []).map((each) => each.replaceAll('"', ''));
  const withId = args.map((each) => (each === 'ID' ? (ids.get(name) ?? 'unknown') : each));
  const { code, out, err } = await ops(withId, { input: stack.tokens.creator });
  expect([command, code, code === 0 ? '' : err]).toEqual([command, exitCodes.get(command) ?? 0, expect.any(String)]);
  if (name === 'token find') ids.set('token revoke', /tk\w{26}/.exec(out)?.[0] ?? '');
  return out;
};

it.each(sections)('the commands of the runbook run: $title', async ({ title, commands }) => {
  let out = '';
  for (const command of commands) out += await runCommand(command);
  expect(out).toMatch(shown.get(title) ?? '');
});

it('the commands of the runbook are found, and replace secrets once what tokens changed may stay', async () => {
  expect(sections.flatMap(({ commands }) => commands).length).toBeGreaterThan(25);
  for (const title of shown.keys()) expect(sections.map((section) => section.title)).toContain(title);
  expect(await runCommand('account rotate acme --since 24h --yes --keep all')).toContain('Tenant acme has no tokens.');
});
