import type { Clock } from '../../../../bin/local/aws/clock.ts';
import { type FaultInjection, Queue, type QueueSettings } from '../../../../bin/local/aws/sqs/queue.ts';
import type { NewMessage } from '../../../../bin/local/aws/sqs/queued-message.ts';
import { ManualClock } from './manual-clock.ts';

/** A queue with CloudFormation's defaults, but for what a test says. */
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
      delaySeconds: 0,
      retentionSeconds: 345_600,
      waitSeconds: 0,
      maxBytes: 1_048_576,
      ...changes,
    },
    clock,
    { duplicateReceives: 0, random: () => 0.5, ...faultInjection },
  );
};

/** A queue `jobs` whose messages die on `jobs-dead` when they would be received once more than `maxReceiveCount`. */
export const queueWithDeadLetters = (maxReceiveCount: number) => {
  const clock = new ManualClock();
  const dead = queueOf(clock, { name: 'jobs-dead', retentionSeconds: 1_209_600 });
  const queue = queueOf(clock);
  queue.redrive = { target: dead, maxReceiveCount };
  return { clock, queue, dead };
};

/** A message with this body. */
export const message = (body: string, groupId?: string): NewMessage => ({
  body,
  attributes: new Map(),
  groupId,
  senderId: 'test',
});

/** The bodies of what can be received now, up to ten. */
export const receiveBodies = async (queue: Queue, maxMessages = 10): Promise<string[]> =>
  (await queue.receive({ maxMessages })).map((receipt) => receipt.message.body);

/** Receives the one message that is there. */
export const receiveOne = async (queue: Queue) => {
  const [receipt] = await queue.receive({ maxMessages: 1 });
  if (!receipt) throw new Error('Nothing can be received.');
  return receipt;
};
