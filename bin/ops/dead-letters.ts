import { PurgeQueueCommand } from '@aws-sdk/client-sqs';
import { SingleBar } from 'cli-progress';
import { Argument, type Command } from 'commander';
import { examples, readNumber } from './arguments.ts';
import { type DeadLetter, deadLetter } from './dead-letter.ts';
import { UsageFailure } from './failure.ts';
import { amount, coloured, foreign, table } from './print.ts';
import { inspect, moveAll, peek } from './queues.ts';
import { connect, type Session } from './session.ts';
import { type QueueName, queueNames } from './target.ts';

/** `dead-letters`: what was given up, and what becomes of it. */
export function addDeadLettersCommands(program: Command): void {
  const letters = program.command('dead-letters').description('what was given up: list, send again, throw away');
  const type = () => new Argument('<type>', 'a notification type, or alarm-events').choices(queueNames);
  letters
    .command('list')
    .description('list dead letters with the reasons, without what is in them')
    .addArgument(type().argOptional())
    .option('--limit <number>', 'how many of each type', readNumber(1_000), 100)
    .addHelpText('after', examples('dead-letters list', 'dead-letters list webhook --limit 500'))
    .action(list);
  letters
    .command('redrive')
    .description('move all dead letters of a type back to its queue, where each gets a new round of attempts')
    .addArgument(type())
    .addHelpText(
      'after',
      `\nSQS does it: it goes on where this command is interrupted.\n${examples('dead-letters redrive webhook')}`,
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

type Listed = { type: QueueName; count: number; letters: DeadLetter[] };

async function list(type: QueueName | undefined, { limit }: { limit: number }, command: Command): Promise<void> {
  const { sqs, target, answer } = await connect(command);
  const listed = await Promise.all(
    (type === undefined ? queueNames : [type]).map(async (name): Promise<Listed> => {
      const url = target.outputs.QueueUrls[name].deadLetters;
      const { waiting } = await inspect(sqs, url);
      const letters = (await peek(sqs, url, limit)).map(deadLetter);
      return { type: name, count: Math.max(waiting, letters.length), letters: letters.toSorted(byTime) };
    }),
  );
  answer(listed, described(listed.filter(({ count }) => count > 0)));
}

const byTime = (one: DeadLetter, other: DeadLetter) => one.time.localeCompare(other.time);

function described(listed: Listed[]): string {
  if (listed.length === 0) return 'There are no dead letters.';
  const totals = listed.map(({ type, count, letters }) => {
    const reasons = [...Map.groupBy(letters, ({ reason }) => reason)].map(([word, some]) => `${word} ×${some.length}`);
    const shown = count > letters.length ? `, of which ${letters.length} are listed` : '';
    return `${coloured('bold', type)}: ${amount(count, 'dead letter')}${shown} (${reasons.join(', ') || 'busy'})`;
  });
  const rows = listed.flatMap(({ type, letters }) => letters.map((letter) => ({ type, ...letter })));
  const letters = table(rows, [
    ['time', ({ time }) => time],
    ['type', (row) => row.type],
    ['reason', ({ reason }) => foreign(reason)],
    ['cause', ({ cause }) => coloured(cause === 'service' ? 'red' : 'yellow', foreign(cause))],
    ['attempts', ({ attempts }) => attempts ?? '–'],
    ['tenant', ({ tenant }) => foreign(tenant ?? '–')],
    ['notification', ({ notification }) => foreign(notification ?? '–')],
    ['event', ({ event }) => foreign(event ?? '–')],
  ]);
  return `${totals.join('\n')}\n\n${letters}`;
}

async function redrive(type: QueueName, _: object, command: Command): Promise<void> {
  const session = await connect(command);
  const { queue, deadLetters } = session.target.outputs.QueueUrls[type];
  const [to, from] = await Promise.all([inspect(session.sqs, queue), inspect(session.sqs, deadLetters)]);
  const bar = progressBar(session);
  const moved = await moveAll(session.sqs, { from: from.arn, to: to.arn }, bar.show).finally(bar.stop);
  session.answer({ type, moved }, `Moved ${amount(moved, 'dead letter')} back to the queue of ${type}.`);
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
    show({ moved, total }: { moved: number; total: number }): void {
      bar.setTotal(total);
      bar.update(moved);
    },
    stop: () => bar.stop(),
  };
}

async function purge(type: QueueName, { yes }: { yes: boolean }, command: Command): Promise<void> {
  const { sqs, target, answer } = await connect(command);
  const url = target.outputs.QueueUrls[type].deadLetters;
  const { waiting } = await inspect(sqs, url);
  const what = `${amount(waiting, 'dead letter')} of ${type} in the ${target.name}`;
  if (!yes) throw new UsageFailure(`This would throw away ${what} for good: say --yes.`);
  await sqs.send(new PurgeQueueCommand({ QueueUrl: url }));
  answer({ type, purged: waiting }, `Threw away ${what}.`);
}
