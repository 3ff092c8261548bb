import type { Command } from 'commander';
import { examples } from './arguments.ts';
import { type Alarm, alarmsOf, oldestMessageAges, outcomesFromMetrics } from './cloudwatch.ts';
import { CRASHED, type OtherQueueName, otherQueueNames, type QueueName, queueNames } from './deployment.ts';
import { colorize, pluralize, sanitize, toSecond } from './print.ts';
import { type Depth, inspect } from './queues.ts';
import { type OutcomeCount, recordedDeliveries } from './recorded-deliveries.ts';
import { connect, type Session } from './session.ts';
import type { Column } from './table.ts';

const HOUR_MS = 3_600_000;

/** Adds `status`: an overview of the stack. */
export const addStatusCommand = (program: Command): void => {
  program
    .command('status')
    .description('show queues, alarms, and the deliveries of the last hour')
    .addHelpText('after', examples('status', 'status --stack MonitoringNotifications --json'))
    .action(show);
};

/**
 * The status of a queue, including its retry queue. `oldest_seconds` excludes retries, which may be delayed for hours.
 * `dead_letters` is null for a queue without its own dead-letter queue.
 */
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
    outcomesOfLastHour(session),
  ]);
  const text = [
    colorize('bold', session.deployment.name),
    `\n${session.table(queues, queueColumns)}`,
    `${colorize('bold', 'Alarms')}\n${alarmText(session, alarms)}`,
    `${colorize('bold', 'Deliveries of the last hour')}\n${deliveryText(session, deliveries)}`,
  ].join('\n');
  const { counts, isComplete: is_complete } = deliveries;
  const value = { stack: session.deployment.name, queues, alarms: alarms ?? null, deliveries: { counts, is_complete } };
  session.print(value, text);
};

const queueStatuses = async (session: Session): Promise<QueueStatus[]> => {
  const { sqs, deployment } = session;
  const { QueueUrls } = deployment.outputs;
  const [ages, queues, others] = await Promise.all([
    oldestMessageAges(session),
    Promise.all(
      queueNames.map(async (name) => {
        const { queue, retries, deadLetters } = QueueUrls[name];
        const [depths, deadLetterDepth] = await Promise.all([
          Promise.all([queue, retries ?? []].flat().map((url) => inspect(sqs, url))),
          inspect(sqs, deadLetters),
        ]);
        return { name, depth: sum(depths), deadLetterDepth };
      }),
    ),
    Promise.all(
      otherQueueNames.map(async (name) => ({
        name,
        depth: await inspect(sqs, QueueUrls[name].queue),
        deadLetterDepth: undefined,
      })),
    ),
  ]);
  return [...queues, ...others].map(({ name, depth: { visible, in_flight, delayed }, deadLetterDepth }) => ({
    queue: name,
    visible,
    in_flight,
    delayed,
    oldest_seconds: ages.get(name) ?? null,
    dead_letters: deadLetterDepth?.total ?? null,
  }));
};

const sum = (depths: readonly Depth[]): Depth =>
  depths.reduce((left, right) => ({
    visible: left.visible + right.visible,
    in_flight: left.in_flight + right.in_flight,
    delayed: left.delayed + right.delayed,
  }));

/** Reads the metrics of a deployed stack. A local stack has none, so its delivery records are counted. */
const outcomesOfLastHour = (session: Session): Promise<{ counts: OutcomeCount[]; isComplete: boolean }> => {
  const { stackName } = session.deployment;
  const sinceMs = Date.now() - HOUR_MS;
  return stackName === undefined
    ? recordedDeliveries(session, sinceMs)
    : outcomesFromMetrics(session, stackName, sinceMs);
};

const RIGHT = { align: 'right' } as const;

/** The columns of the table of queues. */
export const queueColumns: readonly Column<QueueStatus>[] = [
  ['queue', ({ queue }) => queue],
  ['visible', ({ queue, visible }) => (queue === CRASHED ? redUnlessZero(visible) : String(visible)), RIGHT],
  ['in flight', ({ in_flight }) => in_flight],
  ['delayed', ({ delayed }) => delayed],
  ['oldest', ({ oldest_seconds: age }) => (age === null ? '–' : `${age} s`), RIGHT],
  ['dead letters', ({ dead_letters: dead }) => (dead === null ? '–' : redUnlessZero(dead)), RIGHT],
];

/** The columns of the table of alarms. */
export const alarmColumns: readonly Column<Alarm>[] = [
  ['alarm', ({ name }) => sanitize(name), { cut: 'middle', minWidth: 30 }],
  ['state', ({ state }) => colorize(state === 'ALARM' ? 'red' : 'yellow', state)],
  ['since', ({ since }) => (since === null ? '–' : toSecond(since))],
];

/** The columns of the table of deliveries by outcome. */
export const outcomeColumns: readonly Column<OutcomeCount>[] = [
  ['type', ({ type }) => type],
  ['outcome', ({ outcome }) => outcome],
  ['deliveries', ({ deliveries }) => deliveries],
];

const redUnlessZero = (number: number): string => (number > 0 ? colorize('red', String(number)) : '0');

const alarmText = ({ table }: Session, alarms: Alarm[] | undefined): string => {
  if (!alarms) return 'A local stack has no alarms.\n';
  if (alarms.length === 0) return 'The stack has no alarms.\n';
  const notOk = alarms.filter(({ state }) => state !== 'OK');
  const okCount = `${pluralize(alarms.length - notOk.length, 'alarm')} OK\n`;
  if (notOk.length === 0) return okCount;
  return table(notOk, alarmColumns) + okCount;
};

const deliveryText = ({ table }: Session, { counts, isComplete }: { counts: OutcomeCount[]; isComplete: boolean }) => {
  if (counts.length === 0) return 'none\n';
  const rows = table(counts, outcomeColumns);
  return isComplete ? rows : `${rows}Not all records were counted.\n`;
};
