/** `npm start`: runs the declared stack on this machine. Design and options: README, "On one machine". */
import { Command, InvalidArgumentError } from 'commander';
import type { LocalStack, Ready } from './local/stack.ts';

// The functions ask for this size, but threads share one pool, which takes its size when it is first used.
process.env.UV_THREADPOOL_SIZE ??= '64';

/** How often to look whether the parent is still there, in ms. */
const LOOK_FOR_PARENT = 250;

interface Options {
  port: number;
  basePath: string;
  strictEgress: boolean;
  partitionLimits: boolean;
  json: boolean;
  setting: Record<string, string>;
}

const program = new Command('npm start --')
  .description('Runs the declared stack on this machine, without an AWS account, until it is interrupted.')
  .option('--port <number>', 'port of the API; 0 takes a free one', readPort, 3000)
  .option('--base-path <path>', 'serve the API below a path, such as /v1.0/123456', readBasePath, '')
  .option('--strict-egress', 'let no webhook go to a loopback address, as in the cloud', false)
  .option('--no-partition-limits', 'let a partition key of DynamoDB take any load, for measurements')
  .option('--json', 'print one line of JSON when ready, and everything else on stderr', false)
  .option('-c, --setting <name=value>', 'a setting, exactly as cdk takes it; may be repeated', addSetting, {})
  .action(start);

await program.parseAsync();

async function start(options: Options): Promise<void> {
  const { startLocalStack } = await import('./local/stack.ts');
  const starting = startLocalStack({
    port: options.port,
    basePath: options.basePath,
    strictEgress: options.strictEgress,
    settings: options.setting,
    ...(options.partitionLimits ? {} : { partitionLimits: false }),
    log: (line) => process.stderr.write(`${line}\n`),
  });
  stopWhenAsked(starting);
  try {
    const { ready, plan } = await starting;
    await announceUntilExit(ready, plan);
    process.stdout.write(options.json ? `${JSON.stringify(ready)}\n` : description(ready));
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : error}\n`);
    process.exitCode = 1;
  }
}

/** Lets the operators' command line find this stack (`npm run ops`). */
async function announceUntilExit(ready: Ready, plan: LocalStack['plan']): Promise<void> {
  const { announce } = await import('./ops/local-stacks.ts');
  const { outputNames } = await import('./ops/deployment.ts');
  const remove = announce({
    pid: process.pid,
    port: Number(new URL(ready.base_url).port),
    endpoint: ready.aws_endpoint,
    outputs: Object.fromEntries(outputNames.map((name) => [name, plan.output(name)])),
  });
  process.once('exit', remove);
}

/** The first signal stops everything, after which the process ends by itself; a second one ends it at once. */
function stopWhenAsked(starting: Promise<LocalStack>): void {
  const stop = () => starting.then((stack) => stack.stop()).catch(() => undefined);
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, stop);
  if (process.env.npm_lifecycle_event === 'start') stopWithParent(stop);
}

/** npm starts us through a shell that passes no signal on: when the shell is gone, npm was told to stop. */
function stopWithParent(stop: () => Promise<unknown>): void {
  const parent = process.ppid;
  const look = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(look);
    void stop();
  }, LOOK_FOR_PARENT).unref();
}

function description({ base_url, tokens, alarm_queue_url, aws_endpoint, inbox_url }: Ready): string {
  return `
Monitoring Notifications is ready.

  API            ${base_url}
  Inbox          ${inbox_url}
  Alarm queue    ${alarm_queue_url}
  AWS endpoint   ${aws_endpoint}

Tokens (header X-Auth-Token)

  admin          ${tokens.admin}
  creator        ${tokens.creator}
  observer       ${tokens.observer}
  other tenant   ${tokens.other_admin}

Try it

  curl -i -H 'X-Auth-Token: ${tokens.admin}' ${base_url}/notifications

Ctrl-C stops it.
`;
}

function readPort(text: string): number {
  const port = Number(text);
  if (/^\d+$/.test(text) && port < 65_536) return port;
  throw new InvalidArgumentError('It is a number from 0 to 65535.');
}

function readBasePath(text: string): string {
  if (text === '/' || text === '') return '';
  if (/^(\/[\w.~-]+)+\/?$/.test(text)) return text.replace(/\/$/, '');
  throw new InvalidArgumentError('It starts with / and consists of letters, digits and . _ ~ - between slashes.');
}

function addSetting(text: string, settings: Record<string, string>): Record<string, string> {
  const [, name, value] = /^([^=]+)=(.*)$/s.exec(text) ?? [];
  if (name !== undefined && value !== undefined) return { ...settings, [name]: value };
  throw new InvalidArgumentError('It has the form name=value.');
}
