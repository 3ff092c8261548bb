import type { Command } from 'commander';
import { HOUR_MS } from '../../shared/domain/time.ts';
import { examples } from './arguments.ts';
import { type Alarm, alarmsOf, type OutcomeCount, oldestMessageAges, outcomesSince } from './cloudwatch.ts';
import { CRASHED, type OtherQueueName, otherQueueNames, type QueueName, queueNames } from './deployment.ts';
import { type Column, colorize, formatTable, pluralize, sanitize, toSecond } from './print.ts';
import { type Depth, inspect } from './queues.ts';
import { connect, type Session } from './session.ts';

export const addStatusCommand = (program: Command): void => {
  program
    .command('status')
    .description('show the deployed version and settings, queues, alarms, and the deliveries of the last hour')
    .addHelpText('after', examples('status --stack MonitoringNotifications --json'))
    .action(show);
};

/** Includes the retry queue, but `oldest_seconds` does not: its messages may be delayed for hours. */
type QueueStatus = Depth & {
  queue: QueueName | OtherQueueName;
  oldest_seconds: number | null;
  dead_letters: number | null;
};

const show = async (_: object, command: Command): Promise<void> => {
  const session = await connect(command);
  const [queues, alarms, deliveries] = await Promise.all([
    queueStatuses(session),
    alarmsOf(session),
    outcomesSince(session, Date.now() - HOUR_MS),
  ]);
  const { name, outputs, deployedAtMs } = session.deployment;
  const { changed } = outputs.Settings;
  const since = deployedAtMs === undefined ? '' : `, deployed ${toSecond(deployedAtMs)}`;
  const text = [
    `${colorize('bold', name)}\nversion ${sanitize(outputs.Version)}, commit ${sanitize(outputs.Commit)}${since}`,
    `\n${colorize('bold', 'Settings that differ from their defaults')}\n${settingsText(changed)}`,
    formatTable(queues, queueColumns),
    `${colorize('bold', 'Alarms')}\n${alarmText(alarms)}`,
    `${colorize('bold', 'Deliveries of the last hour')}\n${deliveries.length === 0 ? 'none\n' : formatTable(deliveries, outcomeColumns)}`,
  ].join('\n');
  const release = { version: outputs.Version, commit: outputs.Commit, deployed_at: deployedAtMs ?? null };
  session.print({ stack: name, ...release, settings: changed, queues, alarms: alarms ?? null, deliveries }, text);
};

const settingsText = (settings: Readonly<Record<string, unknown>>): string =>
  Object.entries(settings)
    .map(([name, value]) => `${name}=${sanitize(typeof value === 'string' ? value : JSON.stringify(value))}\n`)
    .join('') || 'none\n';

const queueStatuses = async (session: Session): Promise<QueueStatus[]> => {
  const { sqs, deployment } = session;
  const { QueueUrls } = deployment.outputs;
  const ages = await oldestMessageAges(session);
  const statusOf = async (name: QueueStatus['queue'], urls: string[], deadLetters?: string): Promise<QueueStatus> => {
    const depths = await Promise.all(urls.map((url) => inspect(sqs, url)));
    const total = (state: keyof Depth) => depths.reduce((sum, depth) => sum + depth[state], 0);
    return {
      queue: name,
      visible: total('visible'),
      in_flight: total('in_flight'),
      delayed: total('delayed'),
      oldest_seconds: ages.get(name) ?? null,
      dead_letters: deadLetters === undefined ? null : (await inspect(sqs, deadLetters)).total,
    };
  };
  const withDeadLetters = queueNames.map((name) => {
    const { queue, retries, deadLetters } = QueueUrls[name];
    return statusOf(name, retries === undefined ? [queue] : [queue, retries], deadLetters);
  });
  return Promise.all([...withDeadLetters, ...otherQueueNames.map((name) => statusOf(name, [QueueUrls[name].queue]))]);
};

const queueColumns: readonly Column<QueueStatus>[] = [
  ['queue', ({ queue }) => queue],
  ['visible', ({ queue, visible }) => (queue === CRASHED ? redUnlessZero(visible) : visible), 'right'],
  ['in flight', ({ in_flight }) => in_flight],
  ['delayed', ({ delayed }) => delayed],
  ['oldest', ({ oldest_seconds: age }) => (age === null ? '–' : `${age} s`), 'right'],
  ['dead letters', ({ dead_letters: dead }) => (dead === null ? '–' : redUnlessZero(dead)), 'right'],
];

const alarmColumns: readonly Column<Alarm>[] = [
  ['alarm', ({ name }) => sanitize(name)],
  ['state', ({ state }) => colorize(state === 'ALARM' ? 'red' : 'yellow', state)],
  ['since', ({ since }) => (since === null ? '–' : toSecond(Date.parse(since)))],
];

const outcomeColumns: readonly Column<OutcomeCount>[] = [
  ['type', ({ type }) => type],
  ['outcome', ({ outcome }) => outcome],
  ['deliveries', ({ deliveries }) => deliveries],
];

const redUnlessZero = (number: number): string => (number > 0 ? colorize('red', String(number)) : '0');

const alarmText = (alarms: Alarm[] | undefined): string => {
  if (!alarms) return 'A local stack has no alarms.\n';
  const notOk = alarms.filter(({ state }) => state !== 'OK');
  const okCount = `${pluralize(alarms.length - notOk.length, 'alarm')} OK\n`;
  return notOk.length === 0 ? okCount : formatTable(notOk, alarmColumns) + okCount;
};
