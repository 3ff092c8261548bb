import { type Message, PurgeQueueCommand } from '@aws-sdk/client-sqs';
import { Argument, type Command, Option } from 'commander';
import { type DeadLetterCause, type DeliveryStatus, failureCauses } from '../../shared/contracts/outcomes.ts';
import { addWhy, examples, parseNumber, parseSince, parseTenant } from './arguments.ts';
import { type DeadLetter, type DescribedLetter, deadLetter, readLetters, withNotifications } from './dead-letter.ts';
import { STATUS_COLORS } from './deliveries.ts';
import { CRASHED, type DeadLetterQueueName, deadLetterQueueNames, deadLetterUrl, type Outputs } from './deployment.ts';
import { OperationError, UsageError } from './errors.ts';
import { type Column, colorize, formatTable, pluralize, sanitize, toSecond } from './print.ts';
import { inspect, visitMessages } from './queues.ts';
import { crashedEventAttributes, moveMessages, type Progress } from './redrive.ts';
import { connect, connectForChange, type Session } from './session.ts';
import { assertKnown, labelCell, recordsOfEvents } from './targets.ts';

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
      )
      .option('--since <time>', 'only those that failed since this time, or a duration ago such as 90m', parseSince)
      .option('--until <time>', 'only those that failed until this time, or a duration ago', parseSince)
      .addOption(new Option('--cause <cause>', 'only those with this cause').choices([...failureCauses, 'producer']));
  const addChange = (command: Command): Command =>
    addWhy(addSelection(command))
      .addArgument(typeArgument())
      .option('--dry-run', 'only count the dead letters of each tenant', false);
  addSelection(deadLetters.command('list'))
    .description('list dead letters with their reasons, never their contents')
    .addArgument(typeArgument().argOptional())
    .option('--limit <number>', 'maximum per type', parseNumber(1_000), 100)
    .addHelpText('after', examples('dead-letters list webhook --tenant acme --limit 500'))
    .action(list);
  addChange(deadLetters.command('redrive'))
    .description(
      'move the dead letters of a type to its queue, where each gets a new round of attempts; crashed messages return to the queues they came from',
    )
    .addHelpText(
      'after',
      `\nAn interruption loses no message: run the command again.\n${examples('dead-letters redrive webhook --tenant acme --since 2h --dry-run', 'dead-letters redrive crashed --stack MonitoringNotifications')}`,
    )
    .action(redrive);
  addChange(deadLetters.command('purge'))
    .description('delete the dead letters of a type')
    .option('--yes', 'confirm the deletion', false)
    .addHelpText('after', examples('dead-letters purge crashed --message 3f0c7a5e-52bd-4a0b-9a55-0e6b1f4f6d1c --yes'))
    .action(purge);
};

/** Which dead letters a command concerns: those with all of these IDs and this cause, that failed between these times. */
type Selection = Partial<Record<'tenant' | 'notification' | 'event' | 'message', string>> & {
  cause?: DeadLetterCause;
  /** Ms since the epoch. */
  since?: number;
  until?: number;
};

/** Returns whether a dead letter is selected; undefined if all are. */
const selector = (selection: Selection): ((letter: DeadLetter) => boolean) | undefined => {
  const { tenant, notification, event, message, cause, since, until } = selection;
  if ([tenant, notification, event, message, cause, since, until].every((value) => value === undefined))
    return undefined;
  const isSelected = (id: string | undefined, ...ids: (string | undefined)[]) => id === undefined || ids.includes(id);
  return (letter) =>
    isSelected(tenant, letter.tenant_id) &&
    isSelected(notification, letter.notification_id) &&
    isSelected(event, letter.event_id) &&
    isSelected(message, letter.message_id, letter.producer_message_id) &&
    isSelected(cause, letter.cause) &&
    Date.parse(letter.time) >= (since ?? 0) &&
    Date.parse(letter.time) <= (until ?? Number.POSITIVE_INFINITY);
};

/** The most dead letters of a queue that are read to count them: about 15 seconds. */
const MAX_COUNTED = 10_000;

/** How many dead letters are selected, by tenant; at least as many if `has_more`. */
type Selected = { count: number; has_more: boolean; tenants: { tenant_id: string | null; count: number }[] };

const countSelected = async (session: Session, type: DeadLetterQueueName, selection: Selection): Promise<Selected> => {
  const { letters: read, total } = await readLetters(session, type, MAX_COUNTED);
  const selected = read.filter(selector(selection) ?? (() => true));
  if (selected.length === 0) await assertKnown(session, selection.tenant);
  const tenants = [...Map.groupBy(selected, ({ tenant_id = null }) => tenant_id)].map(([tenant_id, letters]) => ({
    tenant_id,
    count: letters.length,
  }));
  return {
    count: selected.length,
    has_more: read.length < total,
    tenants: tenants.toSorted((left, right) => right.count - left.count),
  };
};

/** The most tenants in a sentence. JSON has all. */
const MAX_NAMED = 20;

const describeSelected = (type: DeadLetterQueueName, { count, has_more, tenants }: Selected): string => {
  const named = tenants
    .slice(0, MAX_NAMED)
    .map(({ tenant_id, count }) => `${sanitize(tenant_id ?? 'no tenant')} ×${count}`);
  const others = tenants.length > MAX_NAMED ? [`${tenants.length - MAX_NAMED} other tenants`] : [];
  const number = `${has_more ? 'at least ' : ''}${lettersOf(type, count)}`;
  return tenants.length === 0 ? number : `${number} (${[...named, ...others].join(', ')})`;
};

const lettersOf = (type: DeadLetterQueueName, count: number): string =>
  type === CRASHED ? pluralize(count, 'crashed message') : `${pluralize(count, 'dead letter')} of ${type}`;

type Listed = DeadLetter & DescribedLetter & { delivery_status: DeliveryStatus | null };
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
  if (nonEmpty.length === 0) await assertKnown(session, selection.tenant);
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
  return (await withNotifications(session, letters)).map((letter, index) => ({
    ...letter,
    delivery_status: records[index]?.[0]?.status ?? null,
  }));
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
    ...columnIf(
      ({ notification_type: own, type }) => own !== null && own !== type,
      ['type now', ({ notification_type: own }) => own ?? '–'],
    ),
    ...columnIf(
      ({ notification_label }) => notification_label !== null,
      ['label', ({ notification_label }) => labelCell(notification_label)],
    ),
    ['event', ({ event_id }) => sanitize(event_id ?? '–')],
    ...columnIf(({ source_arn: arn }) => arn !== undefined, ['source', (row) => sanitize(sourceOf(row) || '–')]),
    ...columnIf(({ event_id }) => event_id === undefined, ['message', ({ message_id }) => message_id]),
  ];
};

type ChangeOptions = Selection & { dryRun: boolean };

const redrive = async (
  type: DeadLetterQueueName,
  { dryRun, ...selection }: ChangeOptions,
  command: Command,
): Promise<void> => {
  const session = await (dryRun ? connect : connectForChange)(command);
  const selected = await countSelected(session, type, selection);
  const what = describeSelected(type, selected);
  if (dryRun) return session.print({ type, dry_run: true, ...selected }, `This would redrive ${what}.`);
  process.stderr.write(`Redrives ${what}.\n`);
  await session.record({ action: 'redrive-dead-letters', target_id: type });
  const { progress } = session;
  const onProgress = ({ moved, total }: Progress) => progress.show(`Moved ${moved} of about ${total} messages.`);
  const moved = await move(session, type, selection, onProgress).finally(progress.clear);
  const to = type === CRASHED ? 'their queues' : 'its queue';
  session.print({ type, moved }, `Moved ${lettersOf(type, moved)} to ${to}.`);
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

type PurgeOptions = ChangeOptions & { yes: boolean };

const purge = async (
  type: DeadLetterQueueName,
  { yes, dryRun, ...selection }: PurgeOptions,
  command: Command,
): Promise<void> => {
  const session = await (dryRun ? connect : connectForChange)(command);
  const selected = await countSelected(session, type, selection);
  const what = `${describeSelected(type, selected)} in the ${session.deployment.name}`;
  if (dryRun) return session.print({ type, dry_run: true, ...selected }, `This would permanently delete ${what}.`);
  if (!yes) throw new UsageError(`This would permanently delete ${what}: confirm with --yes.`);
  process.stderr.write(`Deletes ${what}.\n`);
  await session.record({ action: 'purge-dead-letters', target_id: type });
  const purged = await remove(session, type, selection);
  session.print({ type, purged }, `Deleted ${lettersOf(type, purged)} in the ${session.deployment.name}.`);
};

/** Deletes the selected messages. @returns how many; an estimate of SQS if all are deleted */
const remove = async (
  { sqs, deployment }: Session,
  type: DeadLetterQueueName,
  selection: Selection,
): Promise<number> => {
  const url = deadLetterUrl(deployment.outputs, type);
  const isSelected = selector(selection);
  if (!isSelected) {
    const { total } = await inspect(sqs, url);
    await sqs.send(new PurgeQueueCommand({ QueueUrl: url }));
    return total;
  }
  let purged = 0;
  for await (const { messages, remove: removeMessages } of visitMessages(sqs, url)) {
    const selected = messages.filter((message) => isSelected(deadLetter(message)));
    await removeMessages(selected);
    purged += selected.length;
  }
  return purged;
};
