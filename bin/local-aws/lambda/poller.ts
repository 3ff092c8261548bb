import { setTimeout as sleep } from 'node:timers/promises';
import type { Clock } from '../clock.ts';
import type { Queue } from '../sqs/queue.ts';
import type { Receipt } from '../sqs/queued-message.ts';
import { type EventSourceSettings, processedReceipts, toEvents } from './event-source.ts';
import type { InvocationResult } from './execution-environment-pool.ts';

export type PollerOptions = {
  source: EventSourceSettings;
  queue: Queue;
  clock: Clock;
  invoke: (event: string) => Promise<InvocationResult>;
};

/** Lambda starts with five concurrent batches and, while messages remain, adds five per second (300 per minute). */
const INITIAL_BATCHES = 5;
const BATCHES_PER_SECOND = 5;

/**
 * Polls a queue for a function until `signal` aborts. Receives only if the function has capacity for another batch, so
 * that waiting does not increase receive counts. Deletes processed messages and leaves failed ones to their visibility
 * timeout.
 */
export const poll = async ({ source, queue, clock, invoke }: PollerOptions, signal: AbortSignal): Promise<void> => {
  const running = new Set<Promise<void>>();
  let busySinceMs = 0;
  const maxRunning = () => {
    const busySeconds = (performance.now() - busySinceMs) / 1000;
    return Math.min(source.maxConcurrency, INITIAL_BATCHES + Math.floor(busySeconds * BATCHES_PER_SECOND));
  };
  const run = async (event: string, receipts: Receipt[]) => {
    const endDeferral = queue.deferVisibilityTimeouts(receipts);
    const result = await invoke(event);
    for (const { handle } of processedReceipts(receipts, result, source.reportsFailures)) queue.delete(handle);
    endDeferral();
  };
  while (!signal.aborted) {
    while (!signal.aborted && running.size > 0 && running.size >= maxRunning()) {
      await Promise.race([...running, sleep(1000 / BATCHES_PER_SECOND, undefined, { ref: false })]);
    }
    for (const { event, receipts } of toEvents(await receiveBatch({ source, queue, clock }, signal), source.queueArn)) {
      if (running.size === 0) busySinceMs = performance.now();
      const batch = run(event, receipts).finally(() => running.delete(batch));
      running.add(batch);
    }
  }
};

/** Waits for messages. With a batching window, receives more until the batch is full or the window ends. */
const receiveBatch = async (
  { source, queue, clock }: Pick<PollerOptions, 'source' | 'queue' | 'clock'>,
  signal: AbortSignal,
): Promise<Receipt[]> => {
  const receive = (maxMessages: number, waitSeconds: number) => queue.receive({ maxMessages, waitSeconds, signal });
  // Lambda polls repeatedly; one endless poll gets the same messages and does not depend on the clock.
  const batch = await receive(source.batchSize, Number.POSITIVE_INFINITY);
  const windowEndsMs = clock.now() + source.windowSeconds * 1000;
  while (batch.length > 0 && batch.length < source.batchSize && !signal.aborted) {
    const waitMs = Math.ceil(windowEndsMs - clock.now());
    if (waitMs <= 0) break;
    batch.push(...(await receive(source.batchSize - batch.length, waitMs / 1000)));
  }
  return batch;
};
