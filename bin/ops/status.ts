import type { Command } from 'commander';
import { examples } from './arguments.ts';
import { type Alarm, alarmsOf, deliveriesByMetric, oldestAges } from './cloudwatch.ts';
import { CRASHED, type OtherQueueName, otherQueueNames, type QueueName, queueNames } from './deployment.ts';
import { amount, coloured, foreign, moment, table } from './print.ts';
import { type Depth, inspect } from './queues.ts';
import { type OutcomeCount, recordedDeliveries } from './recorded-deliveries.ts';
import { connect, type Session } from './session.ts';

const HOUR = 3_600_000;

/** `status`: how the stack is, at one look. */
export function addStatusCommand(program: Command): void {
  program
    .command('status')
    .description('show every queue, the alarms, and what became of deliveries within the last hour')
    .addHelpText('after', examples('status', 'status --stack MonitoringNotifications --json'))
    .action(show);
}

/**
 * A queue together with its retries; `oldest_seconds` is of what is new, since retries may wait for hours. `dead_letters` is null
 * where the queue has no dead-letter queue of our own.
 */
type QueueStatus = Depth & {
  queue: QueueName | OtherQueueName;
  oldest_seconds: number | null;
  dead_letters: number | null;
};

async function show(_: object, command: Command): Promise<void> {
  const session = await connect(command);
  const [queues, alarms, deliveries] = await Promise.all([
    queueStatuses(session),
    alarmsOf(session),
    lastHour(session),
  ]);
  const text = [
    coloured('bold', session.target.name),
    `\n${queueTable(queues)}`,
    `${coloured('bold', 'Alarms')}\n${alarmText(alarms)}`,
    `${coloured('bold', 'Deliveries of the last hour')}\n${deliveryText(deliveries)}`,
  ].join('\n');
  const { counts, isComplete: is_complete } = deliveries;
  const value = { stack: session.target.name, queues, alarms: alarms ?? null, deliveries: { counts, is_complete } };
  session.answer(value, text);
}

async function queueStatuses(session: Session): Promise<QueueStatus[]> {
  const { sqs, target } = session;
  const { QueueUrls } = target.outputs;
  const [ages, queues, others] = await Promise.all([
    oldestAges(session),
    Promise.all(
      queueNames.map(async (name) => {
        const { queue, retries, deadLetters } = QueueUrls[name];
        const [work, dead] = await Promise.all([
          Promise.all([queue, retries ?? []].flat().map((url) => inspect(sqs, url))),
          inspect(sqs, deadLetters),
        ]);
        return { name, work: sum(work), dead };
      }),
    ),
    Promise.all(
      otherQueueNames.map(async (name) => ({ name, work: await inspect(sqs, QueueUrls[name].queue), dead: undefined })),
    ),
  ]);
  return [...queues, ...others].map(({ name, work: { visible, in_flight, delayed }, dead }) => ({
    queue: name,
    visible,
    in_flight,
    delayed,
    oldest_seconds: ages.get(name) ?? null,
    dead_letters: dead?.waiting ?? null,
  }));
}

const sum = (depths: readonly Depth[]): Depth =>
  depths.reduce((one, other) => ({
    visible: one.visible + other.visible,
    in_flight: one.in_flight + other.in_flight,
    delayed: one.delayed + other.delayed,
  }));

/** From the metrics of a deployed stack; on one machine, where there are none, from the records. */
function lastHour(session: Session): Promise<{ counts: OutcomeCount[]; isComplete: boolean }> {
  const { stackName } = session.target;
  const since = Date.now() - HOUR;
  return stackName === undefined ? recordedDeliveries(session, since) : deliveriesByMetric(session, stackName, since);
}

const queueTable = (queues: QueueStatus[]): string =>
  table(queues, [
    ['queue', ({ queue }) => queue],
    ['visible', ({ queue, visible }) => (queue === CRASHED ? alarming(visible) : String(visible)), 'right'],
    ['in flight', ({ in_flight }) => in_flight],
    ['delayed', ({ delayed }) => delayed],
    ['oldest', ({ oldest_seconds: age }) => (age === null ? '–' : `${age} s`), 'right'],
    ['dead letters', ({ dead_letters: dead }) => (dead === null ? '–' : alarming(dead)), 'right'],
  ]);

/** A number that should be 0. */
const alarming = (number: number): string => (number > 0 ? coloured('red', String(number)) : '0');

function alarmText(alarms: Alarm[] | undefined): string {
  if (!alarms) return 'not on one machine\n';
  if (alarms.length === 0) return 'The stack has none.\n';
  const loud = alarms.filter(({ state }) => state !== 'OK');
  const quiet = `${amount(alarms.length - loud.length, 'alarm')} OK\n`;
  if (loud.length === 0) return quiet;
  const rows = table(loud, [
    ['alarm', ({ name }) => foreign(name)],
    ['state', ({ state }) => coloured(state === 'ALARM' ? 'red' : 'yellow', state)],
    ['since', ({ since }) => (since === null ? '–' : moment(Date.parse(since)))],
  ]);
  return rows + quiet;
}

function deliveryText({ counts, isComplete }: { counts: OutcomeCount[]; isComplete: boolean }): string {
  if (counts.length === 0) return 'none\n';
  const outcomes = [...new Set(counts.map(({ outcome }) => outcome))];
  const types = [...Map.groupBy(counts, ({ type }) => type)];
  const found = (some: OutcomeCount[], outcome: string) => some.find((one) => one.outcome === outcome)?.deliveries ?? 0;
  const rows = table(types, [
    ['type', ([type]) => type],
    ...outcomes.map((outcome) => [outcome, ([, some]: [string, OutcomeCount[]]) => found(some, outcome)] as const),
  ]);
  return isComplete ? rows : `${rows}There are more: not all records were counted.\n`;
}
