import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { marshall } from '@aws-sdk/util-dynamodb';
import type { Command } from 'commander';
import { beforeEach, describe, expect, it } from 'vitest';
import { createProgram } from '../../bin/ops/program.ts';
import { useStarted } from '../support/use-started.ts';
import { AwsFailure, startAwsStub } from './aws-stub.ts';
import { commandLine, commandNames, useDirectory } from './command-line.ts';

const directory = useDirectory();
const run = commandLine(directory);
let isDenied = false;
const storedToken = { id: 'tk1', label: 'x', tenant: 'acme', role: 'admin', ttl: 4_000_000_000 };
const aws = useStarted(
  // Without a subscription, `verify` does not wait for its event.
  () =>
    startAwsStub({
      // All tenants and tokens exist.
      GetItem: (body) => {
        if (body.includes('"account#')) return { Item: { pk: { S: 'account#acme' } } };
        return /"[0-9a-f]{64}"/.test(body) ? { Item: marshall(storedToken) } : {};
      },
      Query: () => (isDenied ? new AwsFailure('AccessDeniedException', 'denied') : {}),
      Subscribe: () => undefined,
      // `event trace` fails if it finds nothing.
      ReceiveMessage: () => ({
        Messages: [{ MessageId: 'e1', Body: '{}', MD5OfBody: '99914b932bd37a50b983c5e7c90ae93b' }],
      }),
    }),
  ({ stop }) => stop(),
);
const input = useStarted(async () => ({ event: (await run('event example')).out }));
const ops = (command: string) => run(command, { env: aws.env, input: input.event });

beforeEach(() => {
  isDenied = false;
  aws.stub.actions.length = 0;
});

/** Every command with arguments that run it, by what it does to a stack. */
const reading: Record<string, string> = {
  'token find': '',
  'token list': '--tenant acme',
  'account show': 'acme',
  'account limits': 'acme',
  deliveries: '--tenant acme',
  audits: 'acme',
  'dead-letters list': '',
  'opt-outs list': 'acme',
  'event check': '-',
  'event trace': 'e1',
  status: '',
  report: '',
  tenants: '',
};
const changing: Record<string, string> = {
  'token create': '--tenant acme --role admin --label x',
  'token revoke': 'tk01M7ZZ2AQ9MC8P6P3KH5Y23K83 --tenant acme --issued-since 1h',
  'account email': 'off acme --why x',
  'account shadow': 'acme on --for 1h --yes',
  'account rotate': 'acme --since 1h --yes',
  'account recount': 'acme',
  'event send': '-',
  'dead-letters redrive': 'sms',
  'opt-outs undo': 'acme a@example.com',
  'dead-letters purge': 'sms --yes',
  verify: '--json',
  'tenant export': 'acme --out -',
  'tenant delete': 'acme --yes',
  'tenant import': 'acme -',
};
/** Commands that usually read, with arguments that make them change a stack or show its secrets. */
const alsoChanging = [
  ['account show --secrets', 'acme'],
  ['account limits', 'acme smsPerTenantPerDay=5'],
  ['deliveries --retry-now', '--tenant acme'],
];
/** These use no stack. */
const offline = ['event example'];

/** The AWS actions that change nothing; receiving a message and making it visible again only counts a receive. */
const READ_ACTIONS = /^(Get|BatchGet|Describe|List|Filter|Query$|Scan$|ReceiveMessage$|ChangeMessageVisibility)/;

describe('every command', () => {
  it('is known to either read, change or not use a stack', () => {
    const known = [...Object.keys(reading), ...Object.keys(changing), ...offline];
    expect(commandNames(createProgram()).toSorted()).toEqual(known.toSorted());
  });

  it.each(Object.entries(reading))(
    '%s, which reads, uses the default stack and changes nothing',
    async (name, args) => {
      const { code } = await ops(`${name} ${args}`.trim());
      expect(code).toBe(0);
      expect(aws.stub.actions).toContain('DescribeStacks');
      expect(aws.stub.actions.filter((action) => !READ_ACTIONS.test(action))).toEqual([]);
    },
  );

  it.each([...Object.entries(changing), ...alsoChanging])(
    '%s, which changes a stack or shows its secrets, requires a named stack, and prints it first',
    async (name, args) => {
      expect(await ops(`${name} ${args}`)).toEqual({
        code: 2,
        out: '',
        err: 'No local stack runs: start one with `npm start`, or name a deployed stack with --stack NAME.\n',
      });
      expect(aws.stub.actions).toEqual([]);
      const { err } = await ops(`${name} ${args} --stack Prod`);
      const target = `stack Prod (region eu-west-1, account 111111111111, AWS_ENDPOINT_URL ${aws.url})`;
      expect(err.split('\n')[0]).toBe(`Target: ${target}`);
    },
  );
});

/** Returns the options of a command and of the program, such as `--tenant`. */
const optionsOf = (name: string): (string | undefined)[] => {
  const program = createProgram();
  const command = name
    .split(' ')
    .reduce<Command | undefined>((parent, word) => parent?.commands.find((child) => child.name() === word), program);
  return [program, ...(command ? [command] : [])].flatMap(({ options }) =>
    options.map(({ long }) => long ?? undefined),
  );
};

/** The commands in a document, without their arguments. */
const documented = (file: string): { line: string; name: string | undefined }[] =>
  [
    ...readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8').matchAll(
      /(?:npm run -s ops --|^ *ops|^- .*: `ops) (\w[^`|\n]+)/gm,
    ),
  ].map(([, line = '']) => ({
    line,
    name: commandNames(createProgram()).find((name) => line === name || line.startsWith(`${name} `)),
  }));

const documents = ['README.md', 'docs/operations.md', 'docs/migration.md', 'docs/producers.md', 'docs/runbook.md'];

describe('the documents', () => {
  it.each(documents)('%s contains only commands that exist', (file) => {
    const commands = documented(file);
    expect(commands.length).toBeGreaterThan(0);
    expect(commands.filter(({ name }) => name === undefined)).toEqual([]);
  });

  it.each(documents)('%s contains only options that exist', (file) => {
    const unknown = documented(file).flatMap(({ line, name = '' }) =>
      [...(line.split(' | ')[0]?.matchAll(/(?<= )--[a-z-]+/g) ?? [])].flatMap(([option]) =>
        option === '--help' || optionsOf(name).includes(option) ? [] : [`${line}: ${option}`],
      ),
    );
    expect(unknown).toEqual([]);
  });
});

it('an export that fails names the missing permission after the stack, and leaves no file', async () => {
  isDenied = true;
  const out = join(directory.path, 'acme.jsonl');
  const { code, err } = await ops(`tenant export acme --out ${out} --stack Prod`);
  expect([code, err]).toEqual([1, expect.stringMatching(/^Target: stack Prod .*\nAWS denies the request: denied\n$/)]);
  expect(existsSync(out)).toBe(false);
});

describe('event check --offline', () => {
  const example = async (changes: object = {}) => JSON.stringify({ ...JSON.parse(input.event), ...changes });
  const check = (options: string, text: string) => run(`event check --offline ${options}`.trim(), { input: text });

  it('checks without a stack, and exits with 1 on errors, and with --strict also on warnings', async () => {
    expect(await check('', await example())).toEqual({
      code: 0,
      out: 'Standard input is a valid alarm event. Its plan lists 1 notification for this state change.\n',
      err: '',
    });
    expect(aws.stub.actions).toEqual([]);
    const plans: [plan: object, code: number][] = [
      [{ critical_state: ['ntA'], critical: ['ntB'] }, 0],
      [{ ok_state: ['ntA'] }, 0],
      [{ critical: ['ntA'] }, 1],
    ];
    for (const [notification_plan, code] of plans) {
      const text = await example({ notification_plan });
      expect([(await check('', text)).code, (await check('--strict', text)).code]).toEqual([code, 1]);
    }
  });

  it('names each event that has findings, of several files, an array and lines', async () => {
    const [invalid, warned] = [{ alarm: {} }, { notification_plan: { critical_state: [] } }];
    const lines = join(directory.path, 'events.ndjson');
    writeFileSync(lines, [await example(), await example({ event_id: 'first', ...invalid })].join('\n'));
    const array = join(directory.path, 'events.json');
    writeFileSync(array, `[${await example()},${await example({ event_id: 'second', ...warned })}]`);
    const { code, out } = await check(`${lines} ${array} -`, await example());
    expect(code).toBe(1);
    expect(out).toBe(
      [
        `${lines}, line 2, first`,
        '  Error: alarm.id is required.',
        `${array}, index 1, second`,
        '  Warning: notification_plan lists no notification for the state of the event.',
        '5 events: 1 with errors, 1 with warnings.\n',
      ].join('\n'),
    );
  });

  it('prints the errors and warnings of every event as JSON', async () => {
    const { out } = await check('--json', `[${await example({ event_id: 'e', alarm: {} })},7]`);
    expect(JSON.parse(out)).toEqual([
      { file: '-', index: 0, tenant_id: 'acme', event_id: 'e', errors: ['alarm.id is required'], warnings: [] },
      { file: '-', index: 1, errors: ['the event must be a JSON object'], warnings: [] },
    ]);
  });

  it('fails if there is no event', async () => {
    expect(await check('', '[]')).toEqual({ code: 1, out: '', err: 'Standard input contains no event.\n' });
  });
});
