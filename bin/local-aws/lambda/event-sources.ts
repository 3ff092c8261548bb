import type { Clock } from '../clock.ts';
import type { Queue } from '../sqs/queue.ts';
import { StartError } from '../start-error.ts';
import type { EventSourceSettings } from './event-source.ts';
import type { InvocationResult } from './execution-environment-pool.ts';
import { poll } from './poller.ts';

export type EventSourcesOptions = {
  sources: readonly EventSourceSettings[];
  queues: Iterable<Queue>;
  clock: Clock;
  invoke: (functionName: string, event: string) => Promise<InvocationResult>;
};

/** The event sources of the functions, which poll queues until they are disabled or stopped. */
export class EventSources {
  readonly #options: EventSourcesOptions;
  readonly #running = new Map<string, { controller: AbortController; polling: Promise<void> }>();

  /** @throws StartError if an event source has no queue */
  constructor(options: EventSourcesOptions) {
    this.#options = options;
    for (const { queueArn } of options.sources) this.#start(queueArn);
  }

  /** Disables the event source of a queue until the returned function is called. */
  disable(queueArn: string): () => void {
    const running = this.#running.get(queueArn);
    if (!running) throw new Error(`The queue ${queueArn} has no enabled event source.`);
    running.controller.abort();
    this.#running.delete(queueArn);
    return () => this.#start(queueArn);
  }

  /** Resolves when no event source polls any more. */
  async stop(): Promise<void> {
    for (const { controller } of this.#running.values()) controller.abort();
    await Promise.all([...this.#running.values()].map(({ polling }) => polling));
  }

  #start(queueArn: string): void {
    const { sources, queues, clock, invoke } = this.#options;
    const source = sources.find((each) => each.queueArn === queueArn);
    const queue = [...queues].find(({ settings }) => settings.arn === queueArn);
    if (!source || !queue) throw new StartError(`The stack does not contain the event source of ${queueArn}.`);
    const controller = new AbortController();
    const invokeFunction = (event: string) => invoke(source.functionName, event);
    const polling = poll({ source, queue, clock, invoke: invokeFunction }, controller.signal);
    this.#running.set(queueArn, { controller, polling });
  }
}
