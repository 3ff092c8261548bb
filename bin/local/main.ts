/** `npm start`: runs the stack on this machine (CONTRIBUTING.md#local-stack). */
import { resolve } from 'node:path';
import { Command, InvalidArgumentError } from 'commander';
import { addSetting } from './settings.ts';
import type { LocalStack, Ready } from './stack.ts';

// The environment of each function also sets this, but all worker threads share the pool, whose size is fixed at first
// use.
process.env.UV_THREADPOOL_SIZE ??= '64';

const PARENT_CHECK_INTERVAL_MS = 250;

type Options = {
  port: number;
  basePath: string;
  strictEgress: boolean;
  partitionLimits: boolean;
  data?: string;
  json: boolean;
  setting: Record<string, string>;
};

const readPort = (text: string): number => {
  const port = Number(text);
  if (/^\d+$/.test(text) && port < 65_536) return port;
  throw new InvalidArgumentError('It must be a number from 0 to 65535.');
};

const readBasePath = (text: string): string => {
  if (text === '/' || text === '') return '';
  if (/^(\/[\w.~-]+)+\/?$/.test(text)) return text.replace(/\/$/, '');
  throw new InvalidArgumentError('It must start with / and contain only letters, digits and . _ ~ - between slashes.');
};

const print = (line: string): void => {
  process.stderr.write(`${line}\n`);
};

const start = async (options: Options): Promise<void> => {
  // Loading takes seconds, and so does synthesis.
  print('Loading the local AWS …');
  const { startLocalStack } = await import('./stack.ts');
  const { partitionLimits, setting: settings, ...others } = options;
  const limits = partitionLimits ? {} : ({ partitionLimits: false } as const);
  const output = { log: print, logError: print, progress: print };
  const starting = startLocalStack({ ...others, ...limits, settings, ...output });
  stopOnSignal(starting);
  try {
    const { ready, plan } = await starting;
    await announceUntilExit(ready, plan);
    process.stdout.write(options.json ? `${JSON.stringify(ready)}\n` : description(ready, options.data));
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : error}\n`);
    process.exitCode = 1;
    // If the start itself failed, there is no stack to stop.
    await starting.then((stack) => stack.stop()).catch(() => undefined);
  }
};

/** Lets `npm run ops` find the stack until the process exits. */
const announceUntilExit = async (ready: Ready, plan: LocalStack['plan']): Promise<void> => {
  const { announce } = await import('../ops/local-stacks.ts');
  const { outputNames } = await import('../ops/deployment.ts');
  const remove = announce({
    pid: process.pid,
    port: Number(new URL(ready.base_url).port),
    endpoint: ready.aws_endpoint,
    outputs: Object.fromEntries(outputNames.map((name) => [name, plan.output(name)])),
  });
  process.once('exit', remove);
};

/** The first signal stops the stack, after which the process exits; a second signal terminates it immediately. */
const stopOnSignal = (starting: Promise<LocalStack>): void => {
  const stop = () => starting.then((stack) => stack.stop()).catch(() => undefined);
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, stop);
  if (['start', 'debug'].includes(process.env.npm_lifecycle_event ?? '')) stopWithParent(stop);
};

/** npm runs this process in a shell that does not forward signals, so the stack stops when the shell exits. */
const stopWithParent = (stop: () => Promise<unknown>): void => {
  const parent = process.ppid;
  const check = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(check);
    void stop();
  }, PARENT_CHECK_INTERVAL_MS).unref();
};

const description = (ready: Ready, data: string | undefined): string => `
Monitoring Notifications is ready.

  API            ${ready.base_url}
  API docs       ${ready.docs_url}
  Inbox          ${ready.inbox_url}
  Alarm queue    ${ready.alarm_queue_url}
  AWS endpoint   ${ready.aws_endpoint}${data === undefined ? '' : `\n  Data           ${resolve(data)}`}

Tokens (header X-Auth-Token)

  tenant ${ready.tenants.admin}
    admin        ${ready.tokens.admin}
    creator      ${ready.tokens.creator}
    observer     ${ready.tokens.observer}
  tenant ${ready.tenants.other_admin}
    admin        ${ready.tokens.other_admin}

Try it

  curl -i -H 'X-Auth-Token: ${ready.tokens.admin}' ${ready.base_url}/notifications

For AWS SDKs and the AWS CLI (2.13 or newer), paste

${exportLines(ready.aws_environment)}

Press Ctrl-C to stop.
`;

/** Shell commands that set these variables, and remove the profile that would take precedence over the keys. */
const exportLines = (environment: Record<string, string>): string => {
  const assignments = Object.entries(environment).map(([name, value]) => `  export ${name}=${value}`);
  return [...assignments, '  unset AWS_PROFILE AWS_SESSION_TOKEN'].join('\n');
};

const program = new Command('npm start --')
  .description('Runs the stack on this machine, without an AWS account, until interrupted.')
  .option('--port <number>', 'port of the API; 0 selects a free port', readPort, 3000)
  .option('--base-path <path>', 'base path of the API, such as /v1.0/123456', readBasePath, '')
  .option('--strict-egress', 'block webhooks to loopback addresses, as in AWS', false)
  .option('--no-partition-limits', 'disable the capacity limits of DynamoDB partition keys, for measurements')
  .option('--data <directory>', 'keep the tables and tokens in this directory across starts')
  .option('--json', 'print one line of JSON when ready, and everything else to stderr', false)
  .option('-c, --setting <name=value>', 'a setting, as for cdk; repeatable', addSetting, {})
  .action(start);

await program.parseAsync();
