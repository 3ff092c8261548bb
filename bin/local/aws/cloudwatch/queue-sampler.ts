import type { QueueTotals } from '../sqs/attributes.ts';
import type { Queue } from '../sqs/queue.ts';
import type { Measurement } from './metric-store.ts';

/** What the metrics of a queue are measured from. */
export type SampledQueue = Pick<Queue, 'counts' | 'totals' | 'pendingReceives' | 'ageOfOldestMessageSeconds'> & {
  settings: Pick<Queue['settings'], 'name'>;
};

/** SQS stops reporting the metrics of a queue that was not used for this long ... */
const ACTIVE_MS = 6 * 3_600_000;

/** ... and when it is used again, its metrics are late by up to this. */
const ACTIVATION_MS = 15 * 60_000;

type Usage = {
  seen: QueueTotals & { held: number };
  usedAtMs: number;
  /** When its metrics are reported again. */
  reportedFromMs: number;
};

/** Measures the `AWS/SQS` metrics of queues once a minute, by the rules of the SQS documentation for active queues. */
export class QueueSampler {
  readonly #usages = new Map<string, Usage>();
  readonly #keptActive: ReadonlySet<string>;

  /** @param keptActive names of queues that something calls at least every six hours, besides what passes through them */
  constructor(keptActive: ReadonlySet<string> = new Set()) {
    this.#keptActive = keptActive;
  }

  /** The metrics of a queue over the minute that `timestampMs` is in; none while the queue is inactive. */
  sample(queue: SampledQueue, timestampMs: number): Measurement[] {
    const { visible, delayed, inFlight } = queue.counts;
    const seen = { ...queue.totals, held: visible + delayed + inFlight };
    const before = this.#usages.get(queue.settings.name);
    const usage = this.#usage(queue, before, seen, timestampMs);
    this.#usages.set(queue.settings.name, usage);
    if (timestampMs - usage.usedAtMs > ACTIVE_MS || timestampMs < usage.reportedFromMs) return [];
    const age = queue.ageOfOldestMessageSeconds();
    const values: Record<string, number> = {
      ApproximateNumberOfMessagesVisible: visible,
      ApproximateNumberOfMessagesNotVisible: inFlight,
      ApproximateNumberOfMessagesDelayed: delayed,
      ...(age !== undefined && { ApproximateAgeOfOldestMessage: age }),
      NumberOfMessagesSent: seen.sent - (before?.seen.sent ?? 0),
      NumberOfMessagesReceived: seen.received - (before?.seen.received ?? 0),
      NumberOfMessagesDeleted: seen.deleted - (before?.seen.deleted ?? 0),
      NumberOfEmptyReceives: seen.emptyReceives - (before?.seen.emptyReceives ?? 0),
    };
    const dimensions = { QueueName: queue.settings.name };
    return Object.entries(values).map(([name, value]) => ({
      metric: { namespace: 'AWS/SQS', name, dimensions },
      value,
      timestampMs,
    }));
  }

  /** A queue that was never used is inactive: in a stack that has run for days, as in production, that is the normal case. */
  #usage(queue: SampledQueue, before: Usage | undefined, seen: Usage['seen'], timestampMs: number): Usage {
    const isPolled = queue.pendingReceives > 0 || this.#keptActive.has(queue.settings.name);
    if (isPolled) return { seen, usedAtMs: timestampMs, reportedFromMs: before?.reportedFromMs ?? timestampMs };
    const isUsed = JSON.stringify(seen) !== JSON.stringify(before?.seen ?? { ...seen, ...unused });
    if (!isUsed) return { seen, usedAtMs: before?.usedAtMs ?? 0, reportedFromMs: before?.reportedFromMs ?? 0 };
    const wasActive = before !== undefined && timestampMs - before.usedAtMs <= ACTIVE_MS;
    return {
      seen,
      usedAtMs: timestampMs,
      reportedFromMs: wasActive ? before.reportedFromMs : timestampMs + ACTIVATION_MS,
    };
  }
}

const unused: Usage['seen'] = { sent: 0, received: 0, deleted: 0, emptyReceives: 0, held: 0 };
