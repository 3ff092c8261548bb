import { PurgeQueueCommand } from '@aws-sdk/client-sqs';
import { SingleBar } from 'cli-progress';
import { Argument, type Command } from 'commander';
import { examples, readNumber } from './arguments.ts';
import { type DeadLetter, deadLetter } from './dead-letter.ts';
import { CRASHED, type Outputs, type QueueName, queueNames } from './deployment.ts';
import { UsageFailure } from './failure.ts';
import { amount, type Column, coloured, foreign, table } from './print.ts';
import { inspect, peek } from './queues.ts';
import { moveMessages, type Progress, returnToSources } from './redrive.ts';
import { connect, type Session } from './session.ts';

/** Whose dead letters are meant: those of a queue, or the messages that SQS itself moved from any queue. */
type LetterQueue = QueueName | typeof CRASHED;
const letterQueues = [...queueNames, CRASHED] as const satisfies readonly LetterQueue[];

const urlOf = ({ QueueUrls }: Outputs, name: LetterQueue): string =>
  name === CRASHED ? QueueUrls[name].queue : QueueUrls[name].deadLetters;

/** `dead-letters`: what was given up, and what becomes of it. */
export function addDeadLettersCommands(program: Command): void {
  const letters = program.command('dead-letters').description('what was given up: list, send again, throw away');
  const type = () =>
    new Argument(
      '<type>',
      'a notification type, alarm-events, or crashed: what SQS moved from any queue after 100 receives',
    ).choices(letterQueues);
  letters
    .command('list')
    .description('list dead letters with the reasons, without what is in them')
    .addArgument(type().argOptional())
    .option('--limit <number>', 'how many of each type', readNumber(1_000), 100)
    .addHelpText('after', examples('dead-letters list', 'dead-letters list webhook --limit 500'))
    .action(list);
  letters
    .command('redrive')
    .description(
      'move all dead letters of a type to its queue, where each gets a new round of attempts, or each crashed message to the queue it came from',
    )
    .addArgument(type())
    .addHelpText(
      'after',
      `\nNo message is lost where this command is interrupted: run it again.\n${examples('dead-letters redrive webhook', 'dead-letters redrive crashed')}`,
    )
    .action(redrive);
  letters
    .command('purge')
    .description('throw away all dead letters of a type, for good')
    .addArgument(type())
    .option('--yes', 'really do it', false)
    .addHelpText('after', examples('dead-letters purge sms --yes'))
    .action(purge);
}

type Listed = { type: LetterQueue; count: number; letters: DeadLetter[] };

async function list(type: LetterQueue | undefined, { limit }: { limit: number }, command: Command): Promise<void> {
  const { sqs, target, answer } = await connect(command);
  const listed = await Promise.all(
    (type === undefined ? letterQueues : [type]).map(async (name): Promise<Listed> => {
      const url = urlOf(target.outputs, name);
      const { waiting } = await inspect(sqs, url);
      const letters = (await peek(sqs, url, limit)).map(deadLetter);
      return { type: name, count: Math.max(waiting, letters.length), letters: letters.toSorted(byTime) };
    }),
  );
  const some = listed.filter(({ count }) => count > 0);
  answer(listed, described(some, queueNamesByArnEnd(target.outputs)));
}

const byTime = (one: DeadLetter, other: DeadLetter) => one.time.localeCompare(other.time);

/** The names of all queues by the last part of their URLs, which is that of their ARNs, too. */
const queueNamesByArnEnd = ({ QueueUrls }: Outputs): ReadonlyMap<string, string> =>
  new Map(
    Object.entries(QueueUrls).flatMap(([name, urls]) =>
      Object.entries(urls).map(([kind, url = '']): [string, string] => [
        url.split('/').at(-1) ?? '',
        kind === 'queue' ? name : `${name} ${kind}`,
      ]),
    ),
  );

function described(listed: Listed[], nameByArnEnd: ReadonlyMap<string, string>): string {
  if (listed.length === 0) return 'There are no dead letters.';
  const totals = listed.map(({ type, count, letters }) => {
    const reasons = [...Map.groupBy(letters, ({ reason }) => reason)].map(([word, some]) => `${word} ×${some.length}`);
    const shown = count > letters.length ? `, of which ${letters.length} are listed` : '';
    return `${coloured('bold', type)}: ${amount(count, 'dead letter')}${shown} (${reasons.join(', ') || 'busy'})`;
  });
  const rows = listed.flatMap(({ type, letters }) => letters.map((letter) => ({ type, ...letter })));
  const sourceOf = ({ source_arn: arn = '' }: DeadLetter) => nameByArnEnd.get(arn.split(':').at(-1) ?? '') ?? arn;
  const letters = table(rows, [
    ['time', ({ time }) => time],
    ['type', (row) => row.type],
    ['reason', ({ reason }) => foreign(reason)],
    ['cause', ({ cause }) => coloured(cause === 'service' ? 'red' : 'yellow', foreign(cause))],
    ['attempts', ({ attempts }) => attempts ?? '–'],
    ['tenant', ({ tenant }) => foreign(tenant ?? '–')],
    ['notification', ({ notification }) => foreign(notification ?? '–')],
    ['event', ({ event }) => foreign(event ?? '–')],
    ...(rows.some(({ source_arn: arn }) => arn !== undefined)
      ? ([['source', (row) => foreign(sourceOf(row) || '–')]] satisfies Column<DeadLetter>[])
      : []),
  ]);
  return `${totals.join('\n')}\n\n${letters}`;
}

async function redrive(type: LetterQueue, _: object, command: Command): Promise<void> {
  const session = await connect(command);
  const bar = progressBar(session);
  const moved = await move(session, type, bar.show).finally(bar.stop);
  const where =
    type === CRASHED
      ? `${amount(moved, 'crashed message')} to their queues`
      : `${amount(moved, 'dead letter')} to the queue of ${type}`;
  session.answer({ type, moved }, `Moved ${where}.`);
}

async function move({ sqs, target }: Session, type: LetterQueue, onProgress: (progress: Progress) => void) {
  if (type === CRASHED) {
    const { arn } = await inspect(sqs, target.outputs.QueueUrls[type].queue);
    return returnToSources(sqs, arn, onProgress);
  }
  const { queue: to, deadLetters: from } = target.outputs.QueueUrls[type];
  return moveMessages(sqs, { from, to }, onProgress);
}

function progressBar({ isWatched }: Session) {
  const bar = new SingleBar({
    format: '[{bar}] {value} of about {total}',
    stream: process.stderr,
    clearOnComplete: true,
    // Nothing is done to the terminal that would have to be undone when the command is interrupted.
    gracefulExit: false,
    linewrap: true,
  });
  if (isWatched) bar.start(0, 0);
  return {
    show({ moved, total }: Progress): void {
      bar.setTotal(total);
      bar.update(moved);
    },
    stop: () => bar.stop(),
  };
}

async function purge(type: LetterQueue, { yes }: { yes: boolean }, command: Command): Promise<void> {
  const { sqs, target, answer } = await connect(command);
  const url = urlOf(target.outputs, type);
  const { waiting } = await inspect(sqs, url);
  const messages =
    type === CRASHED ? amount(waiting, 'crashed message') : `${amount(waiting, 'dead letter')} of ${type}`;
  const what = `${messages} in the ${target.name}`;
  if (!yes) throw new UsageFailure(`This would throw away ${what} for good: say --yes.`);
  await sqs.send(new PurgeQueueCommand({ QueueUrl: url }));
  answer({ type, purged: waiting }, `Threw away ${what}.`);
}
