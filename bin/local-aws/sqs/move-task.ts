import { randomUUID } from 'node:crypto';
import type { Clock } from '../clock.ts';
import { SqsError } from './errors.ts';
import type { Queue } from './queue.ts';

/** The rate of a move task without a limit. */
const MAX_MOVES_PER_SECOND = 500;

/** The message move tasks: redrives of dead-letter queues, from which each message returns to its source queue. */
export class MoveTasks {
  readonly #running = new Set<Queue>();
  readonly #clock: Clock;
  readonly #queueByArn: (arn: string) => Queue | undefined;

  constructor(clock: Clock, queueByArn: (arn: string) => Queue | undefined) {
    this.#clock = clock;
    this.#queueByArn = queueByArn;
  }

  /**
   * Starts to move the visible messages of `source`, and returns the handle of the task. Throws an `SqsError` if a task
   * of the queue is running.
   */
  start(source: Queue): string {
    if (this.#running.has(source)) {
      throw new SqsError(
        'UnsupportedOperation',
        'There is already a task running. Only one active task is allowed for a source queue arn at a given time.',
      );
    }
    this.#running.add(source);
    this.#moveBatch(source, source.counts.visible);
    return Buffer.from(JSON.stringify({ taskId: randomUUID(), sourceArn: source.settings.arn })).toString('base64');
  }

  /**
   * SQS treats a moved message as new: it has a new ID, a new age and a receive count of 0. A task fails at a message
   * that was sent directly to the dead-letter queue.
   */
  #moveBatch(source: Queue, remaining: number): void {
    let isFailed = false;
    const messages = source.removeVisible(MAX_MOVES_PER_SECOND);
    for (const message of messages) {
      const destination = this.#queueByArn(message.deadLetterQueueSourceArn ?? '');
      if (destination) destination.send(message);
      else source.add(message);
      isFailed ||= destination === undefined;
    }
    const left = remaining - messages.length;
    if (isFailed || left <= 0 || source.counts.visible === 0) this.#running.delete(source);
    else this.#clock.after(1000, () => this.#moveBatch(source, left));
  }
}
