import { randomUUID } from 'node:crypto';
import type { Clock } from '../clock.ts';
import { SqsError } from './errors.ts';
import type { Queue } from './queue.ts';

/** A message move task: a redrive of a dead-letter queue, from which each message returns to its source queue. */
export type MoveTask = {
  handle: string;
  source: Queue;
  /** Milliseconds since the epoch. */
  startedAtMs: number;
  toMove: number;
  moved: number;
  status: 'RUNNING' | 'COMPLETED' | 'FAILED';
  failureReason?: 'CouldNotDetermineMessageSource';
};

/** The rate of a move task without a limit. */
const MAX_MOVES_PER_SECOND = 500;

/** The move tasks of all queues, newest first. */
export class MoveTasks {
  readonly tasks: MoveTask[] = [];
  readonly #clock: Clock;
  readonly #queueByArn: (arn: string) => Queue | undefined;

  constructor(clock: Clock, queueByArn: (arn: string) => Queue | undefined) {
    this.#clock = clock;
    this.#queueByArn = queueByArn;
  }

  /** Starts to move the visible messages of `source`. Throws an `SqsError` if a task of the queue is running. */
  start(source: Queue): MoveTask {
    if (this.tasks.some((task) => task.source === source && task.status === 'RUNNING')) {
      throw new SqsError(
        'UnsupportedOperation',
        'There is already a task running. Only one active task is allowed for a source queue arn at a given time.',
      );
    }
    const task: MoveTask = {
      handle: Buffer.from(JSON.stringify({ taskId: randomUUID(), sourceArn: source.settings.arn })).toString('base64'),
      source,
      startedAtMs: this.#clock.now(),
      toMove: source.counts.visible,
      moved: 0,
      status: 'RUNNING',
    };
    this.tasks.unshift(task);
    this.#moveBatch(task);
    return task;
  }

  /** SQS treats a moved message as new: it has a new ID, a new age and a receive count of 0. */
  #moveBatch(task: MoveTask): void {
    for (const message of task.source.removeVisible(MAX_MOVES_PER_SECOND)) {
      const destination = this.#queueByArn(message.deadLetterQueueSourceArn ?? '');
      if (destination) {
        destination.send(message, 0);
        task.moved += 1;
      } else {
        task.source.add(message);
        task.failureReason = 'CouldNotDetermineMessageSource';
      }
    }
    if (task.failureReason) task.status = 'FAILED';
    else if (task.moved >= task.toMove || task.source.counts.visible === 0) task.status = 'COMPLETED';
    else this.#clock.after(1000, () => this.#moveBatch(task));
  }
}

/** Returns a task as `ListMessageMoveTasks` does. */
export const moveTaskResult = (task: MoveTask): object => ({
  ...(task.status === 'RUNNING' ? { TaskHandle: task.handle } : {}),
  Status: task.status,
  SourceArn: task.source.settings.arn,
  ApproximateNumberOfMessagesMoved: task.moved,
  ApproximateNumberOfMessagesToMove: task.toMove,
  ...(task.failureReason ? { FailureReason: task.failureReason } : {}),
  StartedTimestamp: task.startedAtMs,
});
