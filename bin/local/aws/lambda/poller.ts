import { setTimeout } from 'node:timers/promises';
import type { Clock } from '../clock.ts';
import type { Queue } from '../sqs/queue.ts';
import type { Receipt } from '../sqs/queued-message.ts';
import { type EventSourceSettings, processedReceipts, toEvents } from './event-source.ts';
import type { Outcome } from './pool.ts';

/** What a poller works with. */
export type PollerOptions = {
  source: EventSourceSettings;
  queue: Queue;
  /** The time that the queue lives by. */
  clock: Clock;
  invoke: (event: string) => Promise<Outcome>;
};

/** How long to leave a queue alone that refuses receives, since too much of it is in flight. */
const OVER_LIMIT_DELAY_MS = 1000;

/** Lambda starts with five batches at once, and while there is more to do adds five a second (300 a minute). */
const INITIAL_BATCHES = 5;
const BATCHES_PER_SECOND = 5;

/**
 * Polls a queue for a function until `signal` aborts: it receives only while the function may take another batch, so
 * that waiting costs no receive; deletes what is done; and leaves what failed to its visibility timeout.
 */
export const poll = async ({ source, queue, clock, invoke }: PollerOptions, signal: AbortSignal): Promise<void> => {
  const running = new Set<Promise<void>>();
  let busySince = 0;
  const mayRun = () => {
    const busySeconds = (performance.now() - busySince) / 1000;
    return Math.min(source.maxConcurrency, INITIAL_BATCHES + Math.floor(busySeconds * BATCHES_PER_SECOND));
  };
  const run = async (event: string, receipts: Receipt[]) => {
    const release = queue.deferVisibilityTimeouts(receipts);
    const outcome = await invoke(event);
    for (const { handle } of processedReceipts(receipts, outcome, source.reportsFailures)) queue.delete(handle);
    release();
  };
  while (!signal.aborted) {
    while (!signal.aborted && running.size > 0 && running.size >= mayRun()) {
      await Promise.race([...running, setTimeout(1000 / BATCHES_PER_SECOND, undefined, { ref: false })]);
    }
    for (const { event, receipts } of toEvents(await gather({ source, queue, clock }, signal), source.queueArn)) {
      if (running.size === 0) busySince = performance.now();
      const batch = run(event, receipts).finally(() => running.delete(batch));
      running.add(batch);
    }
  }
};

/** Waits for messages, and with a window gathers more until the batch or the window is full. */
const gather = async (
  { source, queue, clock }: Pick<PollerOptions, 'source' | 'queue' | 'clock'>,
  signal: AbortSignal,
): Promise<Receipt[]> => {
  const refused = () => setTimeout<Receipt[]>(OVER_LIMIT_DELAY_MS, [], { ref: false });
  const receive = (maxMessages: number, waitSeconds: number) =>
    queue.receive({ maxMessages, waitSeconds, signal }).catch(refused);
  // Lambda polls again and again; one poll without an end gets the same messages, whatever time is moved to.
  const gathered = await receive(source.batchSize, Number.POSITIVE_INFINITY);
  const windowEnds = clock.now() + source.windowSeconds * 1000;
  while (gathered.length > 0 && gathered.length < source.batchSize && !signal.aborted) {
    const waitMs = Math.ceil(windowEnds - clock.now());
    if (waitMs <= 0) break;
    gathered.push(...(await receive(source.batchSize - gathered.length, waitMs / 1000)));
  }
  return gathered;
};
