import { PurgeQueueCommand } from '@aws-sdk/client-sqs';
import { Argument, type Command } from 'commander';
import { examples, parseNumber } from './arguments.ts';
import { type DeadLetter, deadLetter } from './dead-letter.ts';
import { CRASHED, type DeadLetterQueueName, deadLetterQueueNames, deadLetterUrl, type Outputs } from './deployment.ts';
import { UsageError } from './errors.ts';
import { colorize, pluralize, sanitize, toSecond } from './print.ts';
import { inspect, peek } from './queues.ts';
import { moveMessages, type Progress, returnToSources } from './redrive.ts';
import { connect, connectForChange, type Session } from './session.ts';
import { type Column, EVENT_ID, NOTIFICATION_ID } from './table.ts';

/** Adds `dead-letters`: list, redrive and purge. */
export const addDeadLettersCommands = (program: Command): void => {
  const deadLetters = program.command('dead-letters').description('list, redrive or purge dead letters');
  const typeArgument = () =>
    new Argument(
      '<type>',
      'a notification type, alarm-events, or crashed: messages that SQS moved from any queue after 100 receives',
    ).choices(deadLetterQueueNames);
  deadLetters
    .command('list')
    .description('list dead letters with their reasons, never their contents')
    .addArgument(typeArgument().argOptional())
    .option('--limit <number>', 'maximum per type', parseNumber(1_000), 100)
    .addHelpText('after', examples('dead-letters list', 'dead-letters list webhook --limit 500'))
    .action(list);
  deadLetters
    .command('redrive')
    .description(
      'move all dead letters of a type to its queue, where each gets a new round of attempts; crashed messages return to the queues they came from',
    )
    .addArgument(typeArgument())
    .addHelpText(
      'after',
      `\nAn interruption loses no message: run the command again.\n${examples('dead-letters redrive webhook', 'dead-letters redrive crashed --stack MonitoringNotifications')}`,
    )
    .action(redrive);
  deadLetters
    .command('purge')
    .description('delete all dead letters of a type')
    .addArgument(typeArgument())
    .option('--yes', 'confirm the deletion', false)
    .addHelpText('after', examples('dead-letters purge sms --yes --stack MonitoringNotifications'))
    .action(purge);
};

type Listing = { type: DeadLetterQueueName; count: number; letters: DeadLetter[] };

const list = async (
  type: DeadLetterQueueName | undefined,
  { limit }: { limit: number },
  command: Command,
): Promise<void> => {
  const { sqs, deployment, table, print } = await connect(command);
  const listings = await Promise.all(
    (type === undefined ? deadLetterQueueNames : [type]).map(async (name): Promise<Listing> => {
      const url = deadLetterUrl(deployment.outputs, name);
      const { total } = await inspect(sqs, url);
      const letters = (await peek(sqs, url, limit)).map(deadLetter);
      return { type: name, count: Math.max(total, letters.length), letters: letters.toSorted(byTime) };
    }),
  );
  const nonEmpty = listings.filter(({ count }) => count > 0);
  const rows = nonEmpty.flatMap(({ type: queue, letters }) => letters.map((letter) => ({ type: queue, ...letter })));
  const text = `${nonEmpty.map(totals).join('\n')}\n\n${table(rows, deadLetterColumns(rows, queueLabels(deployment.outputs)))}`;
  print(listings, nonEmpty.length === 0 ? 'There are no dead letters.' : text);
};

const byTime = (left: DeadLetter, right: DeadLetter) => left.time.localeCompare(right.time);

/** Maps the last part of each queue URL, which is also the last part of the queue ARN, to a label. */
const queueLabels = ({ QueueUrls }: Outputs): ReadonlyMap<string, string> =>
  new Map(
    Object.entries(QueueUrls).flatMap(([name, urls]) =>
      Object.entries(urls).map(([kind, url = '']): [string, string] => [
        url.split('/').at(-1) ?? '',
        kind === 'queue' ? name : `${name} ${kind}`,
      ]),
    ),
  );

const describeFindings = ({ detail, warnings }: DeadLetter): string | undefined =>
  detail && warnings ? `${detail}; warnings: ${warnings}` : detail;

/** Returns the number of dead letters by cause and reason, and what is wrong with invalid events. */
const totals = ({ type, count, letters }: Listing): string => {
  const byCause = [...Map.groupBy(letters, ({ cause }) => cause)];
  const causes = byCause.map(([cause, group]) => {
    const byReason = [...Map.groupBy(group, ({ reason }) => reason)];
    return `cause ${cause}: ${byReason.map(([reason, { length }]) => `${reason} ×${length}`).join(', ')}`;
  });
  const byDetail = [...Map.groupBy(letters, describeFindings)];
  const details = byDetail.flatMap(([detail, { length }]) => (detail ? [`\n  ×${length}: ${sanitize(detail)}`] : []));
  const shown = count > letters.length ? `, ${letters.length} shown` : '';
  const summary = `${pluralize(count, 'dead letter')}${shown} (${causes.map(sanitize).join('; ') || 'in flight'})`;
  return `${colorize('bold', type)}: ${summary}${details.join('')}`;
};

type Row = DeadLetter & { type: string };

/** Returns the columns of the table of dead letters. @param labels of queues, by the last part of their ARNs */
export const deadLetterColumns = (rows: readonly Row[], labels: ReadonlyMap<string, string>): Column<Row>[] => {
  const sourceOf = ({ source_arn: arn = '' }: Row) => labels.get(arn.split(':').at(-1) ?? '') ?? arn;
  const typeColumn: Column<Row> = ['type', ({ type }) => type, { cut: 'middle', minWidth: 12, omit: 4 }];
  return [
    ['time', ({ time }) => toSecond(time)],
    ...(new Set(rows.map(({ type }) => type)).size > 1 ? [typeColumn] : []),
    ['reason', ({ reason }) => sanitize(reason), { cut: 'end', minWidth: 12 }],
    ['cause', ({ cause }) => colorize(cause === 'service' ? 'red' : 'yellow', sanitize(cause)), { omit: 2 }],
    ['attempts', ({ attempts }) => attempts ?? '–', { omit: 1 }],
    ['tenant', ({ tenant }) => sanitize(tenant ?? '–'), { cut: 'middle', minWidth: 8 }],
    ['notification', ({ notification }) => sanitize(notification ?? '–'), NOTIFICATION_ID],
    ['event', ({ event }) => sanitize(event ?? '–'), { ...EVENT_ID, omit: 3 }],
    ...(rows.some(({ source_arn: arn }) => arn !== undefined)
      ? ([['source', (row) => sanitize(sourceOf(row) || '–'), { cut: 'middle', minWidth: 12 }]] satisfies Column<Row>[])
      : []),
  ];
};

const redrive = async (type: DeadLetterQueueName, _: object, command: Command): Promise<void> => {
  const session = await connectForChange(command);
  const { progress } = session;
  const onProgress = ({ moved, total }: Progress) => progress.show(`Moved ${moved} of about ${total} messages.`);
  const moved = await move(session, type, onProgress).finally(progress.clear);
  const what =
    type === CRASHED
      ? `${pluralize(moved, 'crashed message')} to their queues`
      : `${pluralize(moved, 'dead letter')} to the queue of ${type}`;
  session.print({ type, moved }, `Moved ${what}.`);
};

const move = async (
  { sqs, deployment }: Session,
  type: DeadLetterQueueName,
  onProgress: (progress: Progress) => void,
): Promise<number> => {
  const { QueueUrls } = deployment.outputs;
  if (type === CRASHED) {
    const { arn } = await inspect(sqs, QueueUrls[type].queue);
    return returnToSources(sqs, arn, onProgress);
  }
  const { queue: to, deadLetters: from } = QueueUrls[type];
  return moveMessages(sqs, { from, to }, onProgress);
};

const purge = async (type: DeadLetterQueueName, { yes }: { yes: boolean }, command: Command): Promise<void> => {
  const { sqs, deployment, print } = await connectForChange(command);
  const url = deadLetterUrl(deployment.outputs, type);
  const { total } = await inspect(sqs, url);
  const messages =
    type === CRASHED ? pluralize(total, 'crashed message') : `${pluralize(total, 'dead letter')} of ${type}`;
  const what = `${messages} in the ${deployment.name}`;
  if (!yes) throw new UsageError(`This would permanently delete ${what}: confirm with --yes.`);
  await sqs.send(new PurgeQueueCommand({ QueueUrl: url }));
  print({ type, purged: total }, `Deleted ${what}.`);
};
