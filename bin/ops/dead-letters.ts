import { type Message, PurgeQueueCommand, type SQSClient } from '@aws-sdk/client-sqs';
import { Argument, type Command } from 'commander';
import type { DeliveryStatus } from '../../shared/contracts/outcomes.ts';
import { examples, parseNumber, parseTenant } from './arguments.ts';
import { type DeadLetter, deadLetter } from './dead-letter.ts';
import { STATUS_COLORS } from './deliveries.ts';
import { CRASHED, type DeadLetterQueueName, deadLetterQueueNames, deadLetterUrl, type Outputs } from './deployment.ts';
import { OperationError, UsageError } from './errors.ts';
import { recordsOfEvents } from './event-deliveries.ts';
import { colorize, pluralize, sanitize, toSecond } from './print.ts';
import { inspect, visitMessages } from './queues.ts';
import { crashedEventAttributes, moveMessages, type Progress } from './redrive.ts';
import { connect, connectForChange, type Session } from './session.ts';
import { type Column, formatTable } from './table.ts';

/** Adds `dead-letters`: list, redrive and purge. */
export const addDeadLettersCommands = (program: Command): void => {
  const deadLetters = program.command('dead-letters').description('list, redrive or purge dead letters');
  const typeArgument = () =>
    new Argument(
      '<type>',
      'a notification type, alarm-events, or crashed: messages that SQS moved from any queue after 100 receives',
    ).choices(deadLetterQueueNames);
  const addSelection = (command: Command): Command =>
    command
      .option('--tenant <tenant>', 'only those of this tenant', parseTenant)
      .option('--notification <id>', 'only those to this notification')
      .option('--event <id>', 'only those of this event')
      .option(
        '--message <id>',
        'only the one with this message ID, which may be unreadable, or those of this message of the producer',
      );
  addSelection(deadLetters.command('list'))
    .description('list dead letters with their reasons, never their contents')
    .addArgument(typeArgument().argOptional())
    .option('--limit <number>', 'maximum per type', parseNumber(1_000), 100)
    .addHelpText('after', examples('dead-letters list webhook --tenant acme --limit 500'))
    .action(list);
  addSelection(deadLetters.command('redrive'))
    .description(
      'move the dead letters of a type to its queue, where each gets a new round of attempts; crashed messages return to the queues they came from',
    )
    .addArgument(typeArgument())
    .addHelpText(
      'after',
      `\nAn interruption loses no message: run the command again.\n${examples('dead-letters redrive webhook --tenant acme', 'dead-letters redrive crashed --stack MonitoringNotifications')}`,
    )
    .action(redrive);
  addSelection(deadLetters.command('purge'))
    .description('delete the dead letters of a type')
    .addArgument(typeArgument())
    .option('--yes', 'confirm the deletion', false)
    .addHelpText('after', examples('dead-letters purge crashed --message 3f0c7a5e-52bd-4a0b-9a55-0e6b1f4f6d1c --yes'))
    .action(purge);
};

/** Which dead letters a command concerns: those with all of these IDs. */
type Selection = Partial<Record<'tenant' | 'notification' | 'event' | 'message', string>>;

/** Returns whether a dead letter is selected; undefined if all are. */
const selector = ({
  tenant,
  notification,
  event,
  message,
}: Selection): ((letter: DeadLetter) => boolean) | undefined => {
  if ((tenant ?? notification ?? event ?? message) === undefined) return undefined;
  const isSelected = (id: string | undefined, ...ids: (string | undefined)[]) => id === undefined || ids.includes(id);
  return (letter) =>
    isSelected(tenant, letter.tenant_id) &&
    isSelected(notification, letter.notification_id) &&
    isSelected(event, letter.event_id) &&
    isSelected(message, letter.message_id, letter.producer_message_id);
};

type Listed = DeadLetter & { delivery_status: DeliveryStatus | null };
type Listing = {
  type: DeadLetterQueueName;
  count: number;
  /** True if a selection was not counted to the end, because the limit was reached. */
  has_more: boolean;
  letters: Listed[];
};

const list = async (
  type: DeadLetterQueueName | undefined,
  { limit, ...selection }: Selection & { limit: number },
  command: Command,
): Promise<void> => {
  const session = await connect(command);
  const { sqs, deployment, print } = session;
  const isSelected = selector(selection);
  const listings = await Promise.all(
    (type === undefined ? deadLetterQueueNames : [type]).map(async (name): Promise<Listing> => {
      const url = deadLetterUrl(deployment.outputs, name);
      const { total } = await inspect(sqs, url);
      const letters: DeadLetter[] = [];
      for await (const { messages } of visitMessages(sqs, url, isSelected ? undefined : limit)) {
        letters.push(...messages.map(deadLetter).filter(isSelected ?? (() => true)));
        // One more than the limit says whether there are more. Counting all of a long queue would hide it for minutes.
        if (letters.length > limit) break;
      }
      const listed = await withDeliveryStatus(session, letters.slice(0, limit));
      const count = isSelected ? letters.length : Math.max(total, letters.length);
      const has_more = isSelected !== undefined && letters.length > limit;
      return { type: name, count, has_more, letters: listed.toSorted(byTime) };
    }),
  );
  const nonEmpty = listings.filter(({ count }) => count > 0);
  const rows = nonEmpty.flatMap(({ type: queue, letters }) => letters.map((letter) => ({ type: queue, ...letter })));
  const text = `${nonEmpty.map(totals).join('\n')}\n\n${formatTable(rows, deadLetterColumns(rows, queuesByName(deployment.outputs)))}`;
  const none = `There are no ${isSelected ? 'such ' : ''}dead letters.`;
  print(listings, nonEmpty.length === 0 ? none : text);
};

/** Adds the current status of each delivery, which may have been delivered since; null if there is no record of it. */
const withDeliveryStatus = async (session: Session, letters: readonly DeadLetter[]): Promise<Listed[]> => {
  const events = letters.map(({ tenant_id: tenant = '', event_id: eventId = '', notification_id: id }) => ({
    tenant,
    eventId,
    ids: tenant && eventId && id ? [id] : [],
  }));
  const records = await recordsOfEvents(session, events);
  return letters.map((letter, index) => ({ ...letter, delivery_status: records[index]?.[0]?.status ?? null }));
};

const byTime = (left: DeadLetter, right: DeadLetter) => left.time.localeCompare(right.time);

/** The last part of a queue URL is also the last part of the queue ARN. */
const queueNameOf = (urlOrArn: string): string => urlOrArn.split(/[/:]/).at(-1) ?? '';

/** Returns the URL and a label of each queue by its name in AWS. */
const queuesByName = ({ QueueUrls }: Outputs): ReadonlyMap<string, { url: string; label: string }> =>
  new Map(
    Object.entries(QueueUrls).flatMap(([name, urls]) =>
      Object.entries(urls).map(([kind, url = '']) => [
        queueNameOf(url),
        { url, label: kind === 'queue' ? name : `${name} ${kind}` },
      ]),
    ),
  );

const describeFindings = ({ detail, warnings }: DeadLetter): string | undefined =>
  detail && warnings ? `${detail}; warnings: ${warnings}` : detail;

/** Returns the number of dead letters by cause and reason, and what is wrong with invalid events. */
const totals = ({ type, count, has_more: hasMore, letters }: Listing): string => {
  const byCause = [...Map.groupBy(letters, ({ cause }) => cause)];
  const causes = byCause.map(([cause, group]) => {
    const byReason = [...Map.groupBy(group, ({ reason }) => reason)];
    return `cause ${cause}: ${byReason.map(([reason, { length }]) => `${reason} ×${length}`).join(', ')}`;
  });
  const byDetail = [...Map.groupBy(letters, describeFindings)];
  const details = byDetail.flatMap(([detail, { length }]) => (detail ? [`\n  ×${length}: ${sanitize(detail)}`] : []));
  const shown = count > letters.length ? `, ${letters.length} shown` : '';
  const number = `${hasMore ? 'at least ' : ''}${pluralize(count, 'dead letter')}`;
  const summary = `${number}${shown} (${causes.map(sanitize).join('; ') || 'in flight'})`;
  return `${colorize('bold', type)}: ${summary}${details.join('')}`;
};

type Row = Listed & { type: string };

/** Returns the columns of the table of dead letters. @param queues by their names in AWS */
const deadLetterColumns = (rows: readonly Row[], queues: ReadonlyMap<string, { label: string }>): Column<Row>[] => {
  const sourceOf = ({ source_arn: arn = '' }: Row) => queues.get(queueNameOf(arn))?.label ?? arn;
  const columnIf = (isShown: (row: Row) => boolean, column: Column<Row>) => (rows.some(isShown) ? [column] : []);
  const statusOf = ({ delivery_status: status }: Row) =>
    status === null ? '–' : colorize(STATUS_COLORS[status], status);
  return [
    ['time', ({ time }) => toSecond(Date.parse(time))],
    ...columnIf(({ type }) => type !== rows[0]?.type, ['type', ({ type }) => type]),
    ['reason', ({ reason }) => sanitize(reason)],
    ['cause', ({ cause }) => colorize(cause === 'service' ? 'red' : 'yellow', sanitize(cause))],
    ['attempts', ({ attempts }) => attempts ?? '–'],
    ...columnIf(({ delivery_status: status }) => status !== null && status !== 'failed', ['delivery', statusOf]),
    ['tenant', ({ tenant_id }) => sanitize(tenant_id ?? '–')],
    ['notification', ({ notification_id }) => sanitize(notification_id ?? '–')],
    ['event', ({ event_id }) => sanitize(event_id ?? '–')],
    ...columnIf(({ source_arn: arn }) => arn !== undefined, ['source', (row) => sanitize(sourceOf(row) || '–')]),
    ...columnIf(({ event_id }) => event_id === undefined, ['message', ({ message_id }) => message_id]),
  ];
};

const redrive = async (type: DeadLetterQueueName, selection: Selection, command: Command): Promise<void> => {
  const session = await connectForChange(command);
  await session.record({ action: 'redrive-dead-letters', target_id: type });
  const { progress } = session;
  const onProgress = ({ moved, total }: Progress) => progress.show(`Moved ${moved} of about ${total} messages.`);
  const moved = await move(session, type, selection, onProgress).finally(progress.clear);
  const what =
    type === CRASHED
      ? `${pluralize(moved, 'crashed message')} to their queues`
      : `${pluralize(moved, 'dead letter')} to the queue of ${type}`;
  session.print({ type, moved }, `Moved ${what}.`);
};

const move = async (
  { sqs, deployment: { outputs } }: Session,
  type: DeadLetterQueueName,
  selection: Selection,
  onProgress: (progress: Progress) => void,
): Promise<number> => {
  const isSelected = selector(selection);
  const queues = queuesByName(outputs);
  let left = 0;
  const sourceOf = ({ source_arn: arn }: DeadLetter) => {
    // Only SNS sends to it, email events that it could not send to their queue.
    const source = arn === undefined ? { url: outputs.QueueUrls['email-events'].queue } : queues.get(queueNameOf(arn));
    if (!source) left++;
    return source?.url;
  };
  const targetOf = (message: Message) => {
    const letter = deadLetter(message);
    if (isSelected && !isSelected(letter)) return undefined;
    return type === CRASHED ? sourceOf(letter) : outputs.QueueUrls[type].queue;
  };
  const alarmEvents = outputs.QueueUrls['alarm-events'].queue;
  const crashedAttributes = (message: Message, to: string) =>
    to === alarmEvents ? crashedEventAttributes(message) : (message.MessageAttributes ?? {});
  const moved = await moveMessages(sqs, deadLetterUrl(outputs, type), targetOf, {
    ...(type === CRASHED && { attributesOf: crashedAttributes }),
    onProgress,
  });
  if (left === 0) return moved;
  throw new OperationError(
    `Moved ${pluralize(moved, 'crashed message')}. ${pluralize(left, 'message')} stayed: the stack does not have the queue that SQS moved them from.`,
  );
};

type PurgeOptions = Selection & { yes: boolean };

const purge = async (
  type: DeadLetterQueueName,
  { yes, ...selection }: PurgeOptions,
  command: Command,
): Promise<void> => {
  const { sqs, deployment, record, print } = await connectForChange(command);
  const url = deadLetterUrl(deployment.outputs, type);
  const isSelected = selector(selection);
  if (yes) await record({ action: 'purge-dead-letters', target_id: type });
  const total = isSelected ? await visitSelected(sqs, url, isSelected, yes) : (await inspect(sqs, url)).total;
  const messages =
    type === CRASHED ? pluralize(total, 'crashed message') : `${pluralize(total, 'dead letter')} of ${type}`;
  const what = `${messages} in the ${deployment.name}`;
  if (!yes) throw new UsageError(`This would permanently delete ${what}: confirm with --yes.`);
  if (!isSelected) await sqs.send(new PurgeQueueCommand({ QueueUrl: url }));
  print({ type, purged: total }, `Deleted ${what}.`);
};

/** Counts the selected messages, or with `isFinal` deletes them. */
const visitSelected = async (
  sqs: SQSClient,
  url: string,
  isSelected: (letter: DeadLetter) => boolean,
  isFinal: boolean,
): Promise<number> => {
  let count = 0;
  for await (const { messages, remove } of visitMessages(sqs, url)) {
    const selected = messages.filter((message) => isSelected(deadLetter(message)));
    if (isFinal) await remove(selected);
    count += selected.length;
  }
  return count;
};
