import type { Clock } from '../../../../bin/local/aws/clock.ts';
import type { NewMessage } from '../../../../bin/local/aws/sqs/message.ts';
import { type FaultInjection, Queue, type QueueSettings } from '../../../../bin/local/aws/sqs/queue.ts';
import { ManualClock } from './manual-clock.ts';

/** A queue with CloudFormation's defaults, but for what a test says. */
export function queueOf(
  clock: Clock,
  changes: Partial<QueueSettings> = {},
  mischief: Partial<FaultInjection> = {},
): Queue {
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
      maximumBytes: 1_048_576,
      ...changes,
    },
    clock,
    { duplicateReceives: 0, random: () => 0.5, ...mischief },
  );
}

/** A queue `jobs` whose messages die on `jobs-dead` when they would be received once more than `maximumReceives`. */
export function queueWithDeadLetters(maximumReceives: number) {
  const clock = new ManualClock();
  const dead = queueOf(clock, { name: 'jobs-dead', retentionSeconds: 1_209_600 });
  const queue = queueOf(clock);
  queue.redrive = { target: dead, maximumReceives };
  return { clock, queue, dead };
}

/** A message with this body. */
export function message(body: string, groupId?: string): NewMessage {
  return { body, attributes: new Map(), groupId, senderId: 'test' };
}

/** The bodies of what can be received now, up to ten. */
export async function receiveBodies(queue: Queue, maximum = 10): Promise<string[]> {
  return (await queue.receive({ maximum })).map((receipt) => receipt.message.body);
}

/** Receives the one message that is there. */
export async function receiveOne(queue: Queue) {
  const [receipt] = await queue.receive({ maximum: 1 });
  if (!receipt) throw new Error('Nothing can be received.');
  return receipt;
}
