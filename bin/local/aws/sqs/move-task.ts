import { randomUUID } from 'node:crypto';
import type { Cancel, Clock } from '../clock.ts';
import { SqsError } from './errors.ts';
import type { Queue } from './queue.ts';

/** A redrive of a dead-letter queue, as `ListMessageMoveTasks` reports it. */
export interface MoveTask {
  handle: string;
  source: Queue;
  /** Where everything goes; without it each message returns to the queue that it died on. */
  destination: Queue | undefined;
  perSecond: number;
  startedAt: number;
  toMove: number;
  moved: number;
  status: 'RUNNING' | 'COMPLETED' | 'CANCELLED' | 'FAILED';
  failure?: 'CouldNotDetermineMessageSource';
  cancelNext?: Cancel;
}

/** SQS moves at most this many messages a second. */
export const maximumMovesPerSecond = 500;

/** The move tasks of all queues, newest first. */
export class MoveTasks {
  readonly tasks: MoveTask[] = [];
  readonly #clock: Clock;
  readonly #queueByArn: (arn: string) => Queue | undefined;

  constructor(clock: Clock, queueByArn: (arn: string) => Queue | undefined) {
    this.#clock = clock;
    this.#queueByArn = queueByArn;
  }

  /** Starts to move what is visible in `source`; one task per queue at a time. */
  start(source: Queue, destination: Queue | undefined, perSecond: number): MoveTask {
    if (this.tasks.some((task) => task.source === source && task.status === 'RUNNING')) {
      throw new SqsError(
        'UnsupportedOperation',
        'There is already a task running. Only one active task is allowed for a source queue arn at a given time.',
      );
    }
    const task: MoveTask = {
      handle: Buffer.from(JSON.stringify({ taskId: randomUUID(), sourceArn: source.settings.arn })).toString('base64'),
      source,
      destination,
      perSecond,
      startedAt: this.#clock.now(),
      toMove: source.counts.visible,
      moved: 0,
      status: 'RUNNING',
    };
    this.tasks.unshift(task);
    this.#moveSome(task);
    return task;
  }

  /** Stops a running task; what was moved stays moved. */
  cancel(handle: string): MoveTask {
    const task = this.tasks.find((candidate) => candidate.handle === handle && candidate.status === 'RUNNING');
    if (!task) throw new SqsError('ResourceNotFoundException', 'Task does not exist.');
    task.cancelNext?.();
    task.status = 'CANCELLED';
    return task;
  }

  /** A moved message is a new one to SQS: new id, new age, no receives. */
  #moveSome(task: MoveTask): void {
    for (const message of task.source.drain(task.perSecond)) {
      const destination = task.destination ?? this.#queueByArn(message.deadLetterQueueSourceArn ?? '');
      if (destination) {
        destination.send(message, 0);
        task.moved += 1;
      } else {
        task.source.adopt(message);
        task.failure = 'CouldNotDetermineMessageSource';
      }
    }
    if (task.failure) task.status = 'FAILED';
    else if (task.moved >= task.toMove || task.source.counts.visible === 0) task.status = 'COMPLETED';
    else task.cancelNext = this.#clock.after(1000, () => this.#moveSome(task));
  }
}
