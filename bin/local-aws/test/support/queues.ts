import type { Clock } from '../../clock.ts';
import { type FaultInjection, Queue, type QueueSettings } from '../../sqs/queue.ts';
import type { NewMessage } from '../../sqs/queued-message.ts';
import { ManualClock } from './manual-clock.ts';

/** Creates a queue with CloudFormation's defaults except for `changes`. */
export const queueOf = (
  clock: Clock,
  changes: Partial<QueueSettings> = {},
  faultInjection: Partial<FaultInjection> = {},
): Queue => {
  const name = changes.name ?? 'jobs';
  return new Queue(
    {
      name,
      arn: `arn:aws:sqs:us-east-1:000000000000:${name}`,
      url: `http://127.0.0.1/000000000000/${name}`,
      visibilitySeconds: 30,
      retentionSeconds: 345_600,
      ...changes,
    },
    clock,
    { duplicateReceives: 0, random: () => 0.5, ...faultInjection },
  );
};

/** Creates a queue `jobs` with the dead-letter queue `jobs-dead`. */
export const queueWithDeadLetters = (maxReceiveCount: number) => {
  const clock = new ManualClock();
  const deadLetterQueue = queueOf(clock, { name: 'jobs-dead', retentionSeconds: 1_209_600 });
  const queue = queueOf(clock);
  queue.redrive = { target: deadLetterQueue, maxReceiveCount };
  return { clock, queue, deadLetterQueue };
};

export const message = (body: string, groupId?: string): NewMessage => ({
  body,
  attributes: new Map(),
  groupId,
  senderId: 'test',
});

export const receiveBodies = async (queue: Queue, maxMessages = 10): Promise<string[]> =>
  (await queue.receive({ maxMessages })).map((receipt) => receipt.message.body);

export const receiveOne = async (queue: Queue) => {
  const [receipt] = await queue.receive({ maxMessages: 1 });
  if (!receipt) throw new Error('No message is visible.');
  return receipt;
};
